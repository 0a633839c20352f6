"""Events, effects and states as text: what was written is read back, and a stored story makes the same state again."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from loadfactor.control import ClusterState, Decision, Machine
from loadfactor.control.effects import RaiseAlarm, SetTimer, StartJob, encode_effect
from loadfactor.control.events import Event, TimerFired, decode_event, encode_event
from tests.support.control import Bench
from tests.support.control_play import legal_decision, random_bench, random_event

ENCODE, DECODE = msgspec.json.Encoder().encode, msgspec.json.Decoder(Decision).decode


def test_every_event_is_read_back_as_it_was_written() -> None:
    seen: set[type[Event]] = set()
    for seed in range(400):
        rng = Random(seed)
        event = random_event(random_bench(seed, moves=5).state, rng)
        seen.add(type(event))
        line = encode_event(event)
        assert b"\n" not in line
        assert decode_event(line) == event
        assert encode_event(decode_event(line)) == line
    assert len(seen) == 18, "every kind of event was tried"


@pytest.mark.parametrize("line", [b"", b"{}", b'{"event": "Stranger", "at": 1}', b'{"event": "TimerFired"}'])
def test_a_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_event(line)


def test_effects_are_written_with_their_kind() -> None:
    assert encode_effect(StartJob(1, "job", 2, 4, 2)) == (
        b'{"effect":"StartJob","number":1,"job_id":"job","attempt":2,"first_gpu":4,"size":2}'
    )
    assert encode_effect(SetTimer(60)) == b'{"effect":"SetTimer","at":60}'
    assert encode_effect(RaiseAlarm(60, "oh")) == b'{"effect":"RaiseAlarm","at":60,"text":"oh"}'


@pytest.mark.parametrize("seed", range(40))
def test_a_stored_story_makes_the_same_state_to_the_byte(seed: int) -> None:
    rng, bench = Random(seed), random_bench(seed, moves=0)
    first = ENCODE(bench.document())
    story: list[bytes] = []
    for _ in range(60):
        event, decision = random_event(bench.state, rng), Decision()
        bench.tell(event)
        if rng.random() < 0.5:
            decision = legal_decision(bench.state, rng)
            bench.apply(decision)
        story += [encode_event(event), ENCODE(decision)]
    again = Machine(ClusterState.restore(msgspec.json.decode(first)))
    for event_line, decision_line in zip(story[::2], story[1::2], strict=True):
        again.handle(decode_event(event_line))
        again.apply(DECODE(decision_line))
    assert ENCODE(again.state.to_document()) == ENCODE(bench.document())


@pytest.mark.parametrize("seed", range(20))
def test_a_restored_state_goes_on_as_the_first_would_have(seed: int) -> None:
    rng, bench = Random(seed), random_bench(seed)
    other = Bench(ClusterState.restore(msgspec.json.decode(ENCODE(bench.document()))))
    for _ in range(20):
        event = random_event(bench.state, rng)
        assert bench.tell(event)[1] == other.tell(event)[1]
        decision = legal_decision(bench.state, rng)
        assert bench.apply(decision) == other.apply(decision)
    assert ENCODE(bench.document()) == ENCODE(other.document())


def test_a_document_that_contradicts_itself_is_refused() -> None:
    bench = Bench()
    bench.running(first_gpu=0)
    bench.running("other", first_gpu=4)
    document = bench.state.to_document()
    document["jobs"][1]["first_gpu"] = 1
    with pytest.raises(Exception, match="holds GPUs 1 to 2, of which others hold some"):
        ClusterState.restore(document)


def test_commands_are_numbered_from_one_and_go_on_after_a_restart() -> None:
    bench = Bench()
    bench.submit()
    assert [effect.identity for effect in bench.start()] == ["command 1"]
    restored = Bench(ClusterState.restore(bench.state.to_document()))
    restored.tell(TimerFired(60))
    assert [effect.identity for effect in restored.give(9)] == ["command 2"]
