"""A rule machine drives state machine and referee with anything that may happen; every step ends with the checks."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from loadfactor.control import BrokenStateError, ClusterState
from loadfactor.control.effects import StartJob
from loadfactor.control.events import JobSubmitted
from loadfactor.control.records import HOLDING, JobPhase
from tests.support.control import Bench
from tests.support.control_play import any_decision, legal_decision, random_bench, random_event

SEEDS = st.integers(0, 2**32)


class Play(RuleBasedStateMachine):
    """Random events and decisions on a random cluster."""

    bench: Bench

    @initialize(seed=st.integers(0, 100))
    def begin(self, seed: int) -> None:
        self.bench = random_bench(seed, moves=0)
        self.submitted: set[str] = set()
        self.attempts: set[tuple[str, int]] = set()

    @rule(seed=SEEDS)
    def happens(self, seed: int) -> None:
        event = random_event(self.bench.state, Random(seed))
        self.bench.tell(event)
        if isinstance(event, JobSubmitted):
            self.submitted.add(event.job.id)

    @rule(seed=SEEDS)
    def happens_twice(self, seed: int) -> None:
        event = random_event(self.bench.state, Random(seed))
        self.bench.tell(event)
        if isinstance(event, JobSubmitted):
            self.submitted.add(event.job.id)
        after = self.bench.document()
        self.bench.tell(event)
        again = self.bench.document()
        assert isinstance(after, dict)
        assert isinstance(again, dict)
        assert after == again

    @rule(seed=SEEDS)
    def decide(self, seed: int) -> None:
        self._carry_out(seed, legal=True)

    @rule(seed=SEEDS)
    def decide_anything_that_passes(self, seed: int) -> None:
        self._carry_out(seed, legal=False)

    def _carry_out(self, seed: int, legal: bool) -> None:
        decision = (legal_decision if legal else any_decision)(self.bench.state, Random(seed))
        if not legal and self.bench.referee.faults(decision):
            return
        for effect in self.bench.apply(decision):
            if isinstance(effect, StartJob):
                assert (effect.job_id, effect.attempt) not in self.attempts, "an attempt is made once"
                self.attempts.add((effect.job_id, effect.attempt))

    @invariant()
    def no_job_is_lost(self) -> None:
        assert {job.request.id for job in self.bench.state.jobs} == self.submitted
        for job in self.bench.state.jobs:
            assert (job.outcome is not None) == (job.phase is JobPhase.OVER)
            assert not (job.cancelled and job.phase is JobPhase.WAITING)

    @invariant()
    def all_of_it_can_be_written_down(self) -> None:
        document = json.loads(json.dumps(self.bench.document()))
        restored = ClusterState.restore(document)
        assert restored.to_document() == self.bench.document()
        assert (restored.owner == self.bench.state.owner).all()
        assert (restored.stopping == self.bench.state.stopping).all()
        assert restored.waiting == self.bench.state.waiting


TestPlay = Play.TestCase
TestPlay.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


# Planted faults: `check` finds each


@pytest.mark.parametrize("fault", ["owner", "waiting", "first_gpu", "stopping", "stopping unmarked", "two holders"])
def test_a_broken_state_is_found(fault: str) -> None:
    bench = Bench()
    job = bench.running()
    bench.submit("other")
    bench.give(9)
    bench.take(9)
    if fault == "owner":
        bench.state.owner[5] = job.row
    elif fault == "waiting":
        bench.state.waiting += 1
    elif fault == "first_gpu":
        job.first_gpu = -1
    elif fault == "stopping":
        bench.state.stopping[3] = True
    elif fault == "stopping unmarked":
        bench.state.stopping[9] = False
    else:
        bench.job("other").phase, bench.job("other").first_gpu = next(iter(HOLDING)), 1
    with pytest.raises(BrokenStateError):
        bench.state.check()


def test_a_transition_from_the_wrong_phase_is_refused() -> None:
    bench = Bench()
    job = bench.submit()
    with pytest.raises(BrokenStateError, match="job 'job' is waiting and should be starting"):
        bench.state.run(job, 20)
    with pytest.raises(BrokenStateError, match="job 'job' is waiting and should be running"):
        bench.state.put_back(job)
    bench.start()
    with pytest.raises(BrokenStateError, match="job 'job' is starting and should be waiting"):
        bench.state.give_block(job, 4, 20)
