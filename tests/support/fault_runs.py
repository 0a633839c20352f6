"""Runs of the whole loop in worlds where everything goes wrong, judged by checkers that stand outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from loadfactor.control import ClusterState, ControlLoop, Planner
from loadfactor.control.effects import encode_effect
from loadfactor.control.events import (
    Event,
    ForecastUpdated,
    GpusDrained,
    GpusResumed,
    JobCancelled,
    NodeDrained,
    NodeResumed,
    PriorityChanged,
    encode_event,
)
from loadfactor.control.planners import HorizonSettings, safe_planner
from loadfactor.control.records import JobPhase
from loadfactor.engines import SimulatedEngine, World
from loadfactor.engines.checkers import Facts, Promises, Story, recount
from loadfactor.errors import LoadfactorError
from loadfactor.replay.contestants import Setting, make_planner
from tests.support.fault_worlds import facts_of, fault_world

SHORT_HORIZON = HorizonSettings(steps=24, depth=20)
SLOW = 0.03
MOST_EVENTS = 50_000


class SlowClock:
    """A clock by which one decision in thirty takes ten seconds."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(f"slow {seed}")
        self._seconds = 0.0

    def __call__(self) -> float:
        """Return a second that is later than all before."""
        self._seconds += 10.0 if self._rng.random() < SLOW else 0.001
        return self._seconds


@dataclass
class FaultRun:
    """A run that is over: its parts, its story, and all that the checkers complain of."""

    seed: int
    contestant: str
    world: World
    engine: SimulatedEngine
    loop: ControlLoop
    story: Story
    complaints: list[str]

    def __post_init__(self) -> None:
        self.people = People(self)

    def report(self) -> str:
        """Return seed, complaints and story, for a person to read."""
        told = b"\n".join(self.story.lines).decode()
        complaints = "\n".join(self.complaints[:20])
        return f"seed {self.seed}, {self.contestant}\n{complaints}\n--- story\n{told}"


def fault_run(
    seed: int,
    contestant: str,
    make_engine: Callable[[World], SimulatedEngine] = SimulatedEngine,
    sabotage: Callable[[ControlLoop], None] = lambda loop: None,
) -> FaultRun:
    """Run a contestant in the world of a seed; in every second world operators and users step in as well."""
    world = fault_world(seed)
    engine = make_engine(world)
    state = ClusterState(engine.inventory(), world.services, world.step_seconds, world.begin)
    planner: Planner = make_planner(contestant, Setting(world, horizon=SHORT_HORIZON))
    loop = ControlLoop(state, planner, safe_planner(), SlowClock(seed))
    sabotage(loop)
    run = FaultRun(seed, contestant, world, engine, loop, Story(), [])
    facts = facts_of(world)
    try:
        _let_it_happen(run)
        _judge(run, facts)
    except LoadfactorError as error:
        run.complaints.append(f"{type(error).__name__}: {error}")
        run.complaints += Promises(facts).read_all(run.story)
    return run


def _let_it_happen(run: FaultRun) -> None:
    for event in _events(run):
        run.story.told(run.engine.now, encode_event(event))
        for effect in run.loop.step(event):
            run.story.wanted(run.engine.now, encode_effect(effect))
            run.engine.carry_out(effect)
        run.loop.state.check()
    for event in (*run.engine.undelivered(), *run.people.late):
        run.story.told(run.engine.now, encode_event(event))
        run.loop.machine.handle(event)
    run.loop.state.check()


def _events(run: FaultRun) -> Iterator[Event]:
    """Yield what the engine tells, and in between, in every second world, what people do."""
    people = run.people if run.seed % 2 else None
    for _ in range(MOST_EVENTS):
        event = run.engine.next_event()
        if event is None:
            return
        yield event
        if people is not None:
            yield from people.speak()
            if _all_over(run):
                return
    run.complaints.append(f"the run does not come to its end within {MOST_EVENTS} events")


class People:
    """What operators and users say: numbered as they say it, doubled, and overtaken by what they say later."""

    def __init__(self, run: FaultRun) -> None:
        self.run, self.rng = run, Random(f"people {run.seed}")
        self.number = 0
        self.late: list[Event] = []
        self.said: list[Event] = []

    def speak(self) -> Iterator[Event]:
        """Yield what is heard of them now."""
        event = self._say()
        if event is not None:
            self.said.append(event)
            if self.rng.random() < 0.3:
                self.late.append(event)
            else:
                yield event
                if self.rng.random() < 0.2:
                    yield event
        if self.late and self.rng.random() < 0.1:
            yield self.late.pop(self.rng.randrange(len(self.late)))

    def _say(self) -> Event | None:
        rng, now, world = self.rng, self.run.engine.now, self.run.world
        job, node = rng.choice(world.arrivals).job.id, rng.randrange(len(world.cluster.nodes))
        self.number += 1
        gpu, everywhere = (rng.randrange(world.cluster.gpu_count),), tuple(range(world.cluster.gpu_count))
        choices: list[tuple[int, Event | None]] = [
            (69, None),
            (1, JobCancelled(now, job)),
            (1, PriorityChanged(now, job, float(rng.randint(1, 8)), self.number)),
            (1, NodeDrained(now, node, self.number)),
            (3, NodeResumed(now, node, self.number)),
            (1, GpusDrained(now, gpu, self.number)),
            (3, GpusResumed(now, everywhere, self.number)),
            (1, self._forecast(now)),
        ]
        return rng.choices([event for _, event in choices], [weight for weight, _ in choices])[0]

    def _forecast(self, now: int) -> Event:
        steps = self.rng.randint(1, 30)
        low = tuple(float(self.rng.randint(0, 1)) for _ in range(steps))
        high = tuple(each + self.rng.randint(0, 1) for each in low)
        name, begin = self.rng.choice(("chat", "search")), now - now % 600
        return ForecastUpdated(now, name, self.number, begin, 600, (0.5, 0.99), (low, high), now + 3_600)

    def drained(self) -> list[int]:
        """Return the GPUs that are drained, by what was said last of each."""
        last = dict.fromkeys(range(self.run.world.cluster.gpu_count), False)
        offsets = self.run.world.cluster.node_offsets
        for event in self.said:
            if isinstance(event, NodeDrained | NodeResumed):
                for gpu in range(offsets[event.node], offsets[event.node + 1]):
                    last[gpu] = isinstance(event, NodeDrained)
            elif isinstance(event, GpusDrained | GpusResumed):
                for gpu in event.gpus:
                    last[gpu] = isinstance(event, GpusDrained)
        return [gpu for gpu, drained in last.items() if drained]

    def priorities(self) -> dict[str, float]:
        """Return the priority that was said last of each job that anything was said of."""
        return {event.job_id: event.priority for event in self.said if isinstance(event, PriorityChanged)}


def _all_over(run: FaultRun) -> bool:
    jobs = run.loop.state.jobs
    return len(jobs) == len(run.world.arrivals) and all(job.phase is JobPhase.OVER for job in jobs)


def _judge(run: FaultRun, facts: Facts) -> None:
    promises = Promises(facts)
    run.complaints += promises.read_all(run.story)
    run.complaints += [f"job {job!r} is lost" for job in facts.asked.keys() - promises.closed]
    expected = ("s are allowed", "seconds ahead of all that was heard before")
    run.complaints += [each.text for each in run.engine.alarms if not any(text in each.text for text in expected)]
    run.complaints += _books(run, facts)
    run.complaints += _beliefs(run)


def _books(run: FaultRun, facts: Facts) -> Iterator[str]:
    """Yield where the ledger and the logs of the engine differ from what the story says."""
    engine = run.engine
    count = recount(run.story, facts, engine.now)
    yield from count.complaints
    booked = list(engine.ledger.seconds(engine.now).values())
    if booked != count.seconds():
        yield f"the ledger has {booked}, and the story says {count.seconds()}"
    held = sum(log.held_gpu_seconds for log in engine.logs.values())
    if held != sum(booked[1:4]):
        yield f"the jobs held {held} GPU-seconds, and the ledger has {sum(booked[1:4])}"
    for job, tally in count.jobs.items():
        log = engine.logs[job]
        has = (log.starts, log.losses, log.held_gpu_seconds, log.ended_at)
        should = (tally.starts, tally.losses, tally.held_gpu_seconds, tally.ended_at)
        if has != should:
            yield f"job {job!r} has starts, losses, GPU-seconds and end {has}, and the story says {should}"
    for service, meter in engine.meters.items():
        meter.turn(engine.now)
        if meter.unmet != count.unmet[service]:
            yield f"{service!r} missed {meter.unmet} GPU-seconds, and the story says {count.unmet[service]}"


def _beliefs(run: FaultRun) -> Iterator[str]:
    """Yield where the loop believes, once it has been told everything, what is not so."""
    state, truth = run.loop.state, run.engine.holdings()
    for job in state.jobs:
        log = run.engine.logs[job.request.id]
        if job.outcome != (log.outcome or "cancelled") or (job.outcome == "cancelled" and not job.cancelled):
            yield f"job {job.request.id!r} is {job.phase} {job.outcome}, and the engine says {log.outcome}"
        if job.losses != log.losses:
            yield f"job {job.request.id!r} was lost {log.losses} times and the loop knows of {job.losses}"
    believed = {gpu: f"service {service.request.id}" for service in state.services for gpu in service.replicas}
    if believed != truth:
        yield f"the loop believes {believed}, and the engine has {truth}"
    if (drained := [gpu for gpu in range(len(state.drained)) if state.drained[gpu]]) != run.people.drained():
        yield f"the loop believes GPUs {drained} drained, and people said {run.people.drained()}"
    priorities = {job.request.id: job.priority for job in state.jobs}
    for job_id, priority in run.people.priorities().items():
        if priorities.get(job_id) != priority:
            yield f"job {job_id!r} has priority {priorities.get(job_id)}, and people said {priority}"
    if state.now > run.engine.now + run.world.faults.clock_jump_seconds:
        yield f"the loop believes that it is second {state.now}, and it is {run.engine.now}"
    lost = [gpu for gpu in range(len(state.lost)) if state.lost[gpu]]
    if lost != run.engine.lost_gpus():
        yield f"the loop believes GPUs {lost} lost, and the engine {run.engine.lost_gpus()}"
