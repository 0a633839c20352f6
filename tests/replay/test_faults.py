"""Seeded runs in which everything goes wrong: nothing is lost, done twice, interrupted, illegal or unbalanced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest

from loadfactor.control import ControlLoop, Decision, JobStart, Machine
from loadfactor.control.changes import Change, JobWaits
from loadfactor.control.effects import StartJob
from loadfactor.control.events import (
    Event,
    JobLost,
    JobStarted,
    JobSubmitted,
    StartRefused,
    decode_event,
    encode_event,
)
from loadfactor.control.state import ClusterState
from loadfactor.engines import SimulatedEngine
from loadfactor.engines.ledger import Use
from loadfactor.replay.contestants import CONTESTANTS
from tests.support.fault_runs import FaultRun, fault_run
from tests.support.fault_worlds import SHAPES

NAMES = [name for name in CONTESTANTS if name != "fast+full"]
"""`full` is left out: it plans by the clock of the machine, so that its runs do not repeat."""
EVERY_WAY = len(NAMES) * len(SHAPES)
ENCODE, DECODE = msgspec.json.Encoder().encode, msgspec.json.Decoder(Decision).decode
Sabotage = Callable[[ControlLoop], None]


def contestant_of(seed: int) -> str:
    """Return the contestant of a seed, so that each meets every kind of cluster within `EVERY_WAY` seeds."""
    return NAMES[seed // len(SHAPES) % len(NAMES)]


@pytest.mark.parametrize("seed", range(EVERY_WAY + 3))
def test_nothing_goes_wrong_when_everything_does(seed: int) -> None:
    run = fault_run(seed, contestant_of(seed))
    assert not run.complaints, run.report()


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 1_000, 50))
def test_a_thousand_runs(first: int) -> None:
    for seed in range(first, first + 50):
        run = fault_run(seed, contestant_of(seed))
        assert not run.complaints, run.report()


@pytest.mark.parametrize("seed", [1, 24])
def test_the_same_seed_tells_the_same_story(seed: int) -> None:
    first, again = (fault_run(seed, contestant_of(seed)) for _ in range(2))
    assert first.story.lines == again.story.lines
    assert first.loop.state.to_document() == again.loop.state.to_document()
    other = fault_run(seed + EVERY_WAY, contestant_of(seed))
    assert first.story.lines != other.story.lines


@pytest.mark.parametrize("seed", range(1, EVERY_WAY, 4))
def test_what_was_stored_makes_the_same_state_to_the_byte(seed: int) -> None:
    """Recovery: events and decisions as they were stored, without planners, clocks and their alarms."""
    stored: list[tuple[str, bytes]] = []

    def store(loop: ControlLoop) -> None:
        handle, apply = loop.machine.handle, loop.machine.apply

        def told(event: Event) -> object:
            stored.append(("event", encode_event(event)))
            return handle(event)

        def decided(decision: Decision) -> object:
            stored.append(("decision", ENCODE(decision)))
            return apply(decision)

        loop.machine.handle, loop.machine.apply = told, decided  # type: ignore[method-assign,assignment]

    run = fault_run(seed, contestant_of(seed), sabotage=store)
    assert run.loop.record.late > 0, "alarms that no event tells of were raised"
    again = Machine(ClusterState(run.world.cluster, run.world.services, run.world.step_seconds, run.world.begin))
    for kind, line in stored:
        if kind == "event":
            again.handle(decode_event(line))
        else:
            again.apply(DECODE(line))
    assert ENCODE(again.state.to_document()) == ENCODE(run.loop.state.to_document())


def test_everything_does_go_wrong() -> None:
    seen: Counter[str] = Counter()
    for seed in range(EVERY_WAY):
        run = fault_run(seed, contestant_of(seed))
        seen.update(entry.kind for entry in run.story.entries())
        seen["late decision"] += run.loop.record.late
        seen["doubled"] += len(run.story.lines) - len(set(run.story.lines))
        stamps = [entry.fields["at"] for entry in run.story.entries() if entry.told]
        seen["out of order"] += sum(later < earlier for earlier, later in pairwise(stamps))
        seen["wild stamp"] += sum("ahead of all that was heard" in alarm.text for alarm in run.engine.alarms)
        seen["moldable"] += sum(len(job.sizes) > 1 for job in run.loop.state.jobs)
        seen["needs"] += sum(run.loop.state.block_sizes.need(job.request) > 0 for job in run.loop.state.jobs)
        seen["lost gang"] += sum(log.losses for log in run.engine.logs.values())
    wanted = ["JobLost", "StartRefused", "GpusLost", "late decision", "doubled", "out of order", "lost gang"]
    wanted += ["wild stamp", "moldable", "needs", "ForecastUpdated", "GpusDrained", "NodeDrained", "PriorityChanged"]
    assert {name: seen[name] for name in wanted if seen[name] < 10} == {}


# Planted faults: each must be found by the checkers that stand outside


def _forget(*kinds: type) -> Sabotage:
    def sabotage(loop: ControlLoop) -> None:
        loop.machine._handlers.update(dict.fromkeys(kinds, lambda _: None))

    return sabotage


def _forgetful_planner(loop: ControlLoop) -> None:
    notice = loop.planner.notice

    def forget(change: Change, state: ClusterState) -> None:
        if not (isinstance(change, JobWaits) and change.job.row == 7):
            notice(change, state)

    loop.planner.notice = forget  # type: ignore[method-assign]


def _two_starts_at_once(loop: ControlLoop) -> None:
    apply = loop.machine.apply

    def twice(decision: Decision) -> object:
        changes, effects = apply(decision)
        starts = [effect for effect in effects if isinstance(effect, StartJob)]
        again = [StartJob(loop.machine._number(), each.job_id, each.attempt, 0, each.size) for each in starts]
        return changes, [*effects, *again]

    loop.machine.apply = twice  # type: ignore[method-assign,assignment]


def _blind_referee(loop: ControlLoop) -> None:
    decide, loop.referee.faults = loop.planner.decide, lambda decision: []  # type: ignore[method-assign]

    def greedy(state: ClusterState, now: int) -> Decision:
        decision = decide(state, now)
        for start in decision.starts[:1]:
            decision.starts[0] = JobStart(start.row, start.first_gpu // 8 * 8 + 1)
        return decision

    loop.planner.decide = greedy  # type: ignore[method-assign]


def _deaf_to_drains(loop: ControlLoop) -> None:
    loop.machine._drain = lambda gpus, number, drained: None  # type: ignore[method-assign]


def _careless(loop: ControlLoop) -> None:
    """Let nobody know of needs: neither the book of sizes nor the referee."""
    loop.state.block_sizes.need = lambda request: 0  # type: ignore[method-assign]
    loop.referee._meets = lambda request, gpus: True  # type: ignore[method-assign]


def _believes_the_last(loop: ControlLoop) -> None:
    drain = loop.machine._drain

    def believe(gpus: Iterable[int], number: int, drained: bool) -> None:
        loop.state.drain_told[:] = 0
        drain(gpus, number, drained)

    loop.machine._drain = believe  # type: ignore[method-assign]


def _believes_stamps(loop: ControlLoop) -> None:
    loop.machine._is_believable = lambda at: True  # type: ignore[method-assign]


LOOPS = {
    "forgets that a job was lost": _forget(JobLost),
    "forgets that a start was refused": _forget(StartRefused),
    "forgets that a job was submitted": _forget(JobSubmitted),
    "keeps a job from its planner": _forgetful_planner,
    "starts jobs twice": _two_starts_at_once,
    "starts jobs anywhere": _blind_referee,
    "is deaf to drains": _deaf_to_drains,
    "takes any GPU for any need": _careless,
    "believes whatever came last": _believes_the_last,
    "lets a wild stamp move its clock": _believes_stamps,
}


class StartsTwice(SimulatedEngine):
    """Starts a second copy of a job wherever there is room, and says nothing."""

    def _start_job(self, effect: StartJob) -> None:
        super()._start_job(effect)
        idle = [gpu for gpu in range(self.inventory().gpu_count) if self.ledger.use(gpu) is Use.IDLE]
        if effect.size == 1 and idle and effect.job_id in self._jobs:
            self.ledger.turn(idle[0], idle[0] + 1, Use.JOB_STARTING, self.now)
            self.ledger.turn(idle[0], idle[0] + 1, Use.IDLE, self.now + 1)
            self.now += 1


class KillsJobs(SimulatedEngine):
    """Loses a job although none of its GPUs failed."""

    def _run_job(self, job_id: str, attempt: int) -> None:
        job = self._jobs.get(job_id)
        if job_id == "job-5" and attempt == 1 and job is not None:
            self._release(job_id, job)
            self.logs[job_id].losses += 1
            self._tell(JobLost(self.now, job_id, attempt))
            return
        super()._run_job(job_id, attempt)


class CallsPaddingWork(SimulatedEngine):
    """Books what a job did not ask for as work."""

    def _run_job(self, job_id: str, attempt: int) -> None:
        job, arrival = self._jobs.get(job_id), self._arrivals[job_id]
        if job is not None and arrival.job.most < job.size and arrival.job.work_gpu_seconds is None:
            greedy = msgspec.structs.replace(arrival.job, most_gpus=job.size)
            self._arrivals[job_id] = replace(arrival, job=greedy)
        super()._run_job(job_id, attempt)


class EndsEarly(SimulatedEngine):
    """Ends a job a second too early."""

    def _run_job(self, job_id: str, attempt: int) -> None:
        if job_id == "job-5":
            arrival = self._arrivals[job_id]
            self._arrivals[job_id] = replace(arrival, run_seconds=arrival.run_seconds - 1)
        super()._run_job(job_id, attempt)


class SaysTooMuch(SimulatedEngine):
    """Says of an attempt that runs that it was refused."""

    def _run_job(self, job_id: str, attempt: int) -> None:
        if job_id == "job-5" and attempt == 1 and job_id in self._jobs:
            self._tell(StartRefused(self.now, job_id, attempt, "of no mind"))
        super()._run_job(job_id, attempt)


class SaysTooLittle(SimulatedEngine):
    """Never says that a job ended."""

    def _end_job(self, job_id: str, attempt: int, outcome: str) -> None:
        told, self._tell = self._tell, lambda _: None  # type: ignore[method-assign,assignment]
        super()._end_job(job_id, attempt, outcome)  # type: ignore[arg-type]
        self._tell = told  # type: ignore[method-assign]


class IgnoresSizes(SimulatedEngine):
    """Lets a moldable job run as long on any block."""

    def _run_job(self, job_id: str, attempt: int) -> None:
        arrival = self._arrivals[job_id]
        rigid = msgspec.structs.replace(arrival.job, work_gpu_seconds=None)
        self._arrivals[job_id] = replace(arrival, job=rigid)
        super()._run_job(job_id, attempt)


ENGINES = [IgnoresSizes, StartsTwice, KillsJobs, CallsPaddingWork, EndsEarly, SaysTooMuch, SaysTooLittle]


@pytest.mark.parametrize("sabotage", LOOPS.values(), ids=LOOPS)
def test_a_loop_that_fails_is_caught(sabotage: Sabotage) -> None:
    assert any(_complains(fault_run(seed, contestant_of(seed), sabotage=sabotage)) for seed in range(3, 12))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_an_engine_that_fails_is_caught(engine: type[SimulatedEngine]) -> None:
    assert any(_complains(fault_run(seed, contestant_of(seed), engine)) for seed in range(3, 12))


def _complains(run: FaultRun) -> bool:
    if run.complaints:
        report = run.report()
        assert report.startswith(f"seed {run.seed}, {run.contestant}\n{run.complaints[0]}"), report
        assert run.story.lines[0].decode() in report
    return bool(run.complaints)


def test_a_late_start_message_is_no_fault() -> None:
    """A loop that never hears that jobs run learns it from their ends."""
    run = fault_run(6, "easy+peak", sabotage=_forget(JobStarted))
    assert not run.complaints, run.report()
