"""Every shape of a Slurm cell, with its value worked out by hand."""

from __future__ import annotations

import math

import pytest

from loadfactor.sources.facts import JobState
from loadfactor.sources.slurm.arrays import count_tasks, is_cut, is_job_id, is_step
from loadfactor.sources.slurm.cells import UnreadableCell
from loadfactor.sources.slurm.durations import parse_elapsed, parse_limit
from loadfactor.sources.slurm.gpus import Gpus, is_slice
from loadfactor.sources.slurm.gres import parse_gres, parse_indices
from loadfactor.sources.slurm.hostlists import MAX_HOSTS, expand_hosts
from loadfactor.sources.slurm.memory import parse_memory
from loadfactor.sources.slurm.states import is_active, parse_state
from loadfactor.sources.slurm.tres import amount_in_tres, parse_tres

TRES = {
    "billing=12,cpu=12,gres/gpu=2,mem=31000M,node=1": Gpus(2),
    "cpu=8,gres/gpu:a100=4": Gpus(4, "a100"),
    "gres/gpu=4,gres/gpu:a100=4": Gpus(4, "a100"),
    "gres/gpu:a100=4,gres/gpu=4": Gpus(4, "a100"),
    "gres/gpu:a100=1,gres/gpu:v100=2": Gpus(3, "a100+v100"),
    "gres/gpu=4,gres/gpu:a100=1": Gpus(4),
    "gres/gpu=2,gres/gpu:a100=0,gres/gpu:v100=2": Gpus(2, "v100"),
    "gres/gpu:1g.10gb=1": Gpus(1, "1g.10gb"),
    "gres/gpumem=40G,gres/gpuutil=97": Gpus(0),
    "gres/shard=6": Gpus(0, shares=6),
    "cpu=1,mem=1G": Gpus(0),
    "": Gpus(0),
}
GRES = {
    "gpu:h100:5(IDX:0-2,4-5)": Gpus(5, "h100", (0, 1, 2, 4, 5)),
    "gpu:a100_1g.5gb:2": Gpus(2, "a100_1g.5gb"),
    "gpu:2": Gpus(2),
    "gpu": Gpus(1),
    "gpu:h100": Gpus(1, "h100"),
    "gres:gpu:2": Gpus(2),
    "gres/gpu:h100:2": Gpus(2, "h100"),
    "gres/gpu=2": Gpus(2),
    "7696487:3": Gpus(3),
    "gpu:tesla:no_consume:2": Gpus(2, "tesla"),
    "gpu:a100:4(S:0-1),shard:16(S:0)": Gpus(4, "a100", (), 16),
    "craynetwork:4,gpu:2": Gpus(2),
    "gpu:h100:2(IDX:0-1),gpu:h200:0(IDX:)": Gpus(2, "h100", (0, 1)),
    "gpu:h100:1(IDX:0),gpu:h200:1(IDX:2)": Gpus(2, "h100+h200", (0, 2)),
    "gpu:h100:0(IDX:N/A)": Gpus(0),
    "lustre:2G": Gpus(0),
    "(null)": Gpus(0),
}
HOSTS = {
    "gpu[001-004,007]": ("gpu001", "gpu002", "gpu003", "gpu004", "gpu007"),
    "cpn-f13-03-[01-02],login": ("cpn-f13-03-01", "cpn-f13-03-02", "login"),
    "b,a": ("b", "a"),
    "r[1-2]n[9-10]": ("r1n9", "r1n10", "r2n9", "r2n10"),
    "node[8-11]-ib.example": ("node8-ib.example", "node9-ib.example", "node10-ib.example", "node11-ib.example"),
    "None assigned": (),
    "": (),
}
SPANS = {
    "12-14:16:39": 12 * 86_400 + 14 * 3_600 + 16 * 60 + 39,
    "08:30": 510,
    "00:00:24": 24,
    "100:00:00": 360_000,
    "1-02:30": 95_400,
    "2-00": 172_800,
    "00:01.500": 1.5,
}
TASKS = {
    "2653343_[3-4%2]": 2,
    "4103947_[9-11,13,16-20]": 9,
    "1_[0-20:4%3]": 6,
    "1_[1,3,5,...]": 3,
    "7_[0x1F%2]": 5,
    "123_7": 1,
    "67767+0": 1,
    "123": 1,
}
MEMORY = {
    "62.50G": 64_000.0,
    "31000M": 31_000.0,
    "8000Mn": 16_000.0,
    "4000Mc": 48_000.0,
    "2147486648Mn": 36_000.0,  # 2**31 + 3000: the old mark for "each CPU" in front of 3000 MiB
    "1T": 1_048_576.0,
    "512K": 0.5,
    "16?": None,
    "0n": None,
    "": None,
}


@pytest.mark.parametrize(("text", "gpus"), TRES.items(), ids=str)
def test_trackable_resources(text: str, gpus: Gpus) -> None:
    assert parse_tres(text) == gpus


@pytest.mark.parametrize(("text", "gpus"), GRES.items(), ids=str)
def test_generic_resources(text: str, gpus: Gpus) -> None:
    assert parse_gres(text) == gpus


@pytest.mark.parametrize(("text", "hosts"), HOSTS.items(), ids=str)
def test_lists_of_hosts(text: str, hosts: tuple[str, ...]) -> None:
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize(("text", "seconds"), SPANS.items(), ids=str)
def test_spans(text: str, seconds: float) -> None:
    assert parse_elapsed(text) == parse_limit(text) == seconds


def test_plain_numbers_are_seconds_of_a_run_and_minutes_of_a_limit() -> None:
    assert parse_elapsed("90") == 90
    assert parse_limit("90") == 5_400
    assert parse_limit("UNLIMITED") == math.inf
    assert parse_limit("4294967295") == math.inf
    assert [parse_limit(text) for text in ("Partition_Limit", "", "4294967294")] == [None] * 3


@pytest.mark.parametrize(("text", "tasks"), TASKS.items(), ids=str)
def test_tasks_of_arrays(text: str, tasks: int) -> None:
    assert is_job_id(text)
    assert not is_step(text)
    assert count_tasks(text) == tasks
    assert is_cut(text) == ("..." in text)


def test_steps() -> None:
    assert all(map(is_step, ("123.batch", "123.0", "123_7.extern", "67767+0.1", "123_[1-2].0")))


@pytest.mark.parametrize(("text", "mebibytes"), MEMORY.items(), ids=str)
def test_memory_of_a_job_on_two_nodes_and_twelve_cpus(text: str, mebibytes: float | None) -> None:
    memory = parse_memory(text)
    assert (memory.total_mib(2, 12) if memory else None) == mebibytes


def test_memory_needs_the_count_that_it_is_for() -> None:
    memory = parse_memory("8000Mn")
    assert memory is not None
    assert memory.total_mib(None, 12) is None


def test_states_long_short_cut_and_with_a_tail() -> None:
    cancelled = {"CANCELLED by 1234", "CANCELLED", "CANCELLED+", "CA", "cancelled"}
    assert {parse_state(text) for text in cancelled} == {JobState.CANCELLED}
    assert parse_state("OUT_OF_ME+") is JobState.OUT_OF_MEMORY
    assert parse_state("COMPLETING") is JobState.RUNNING
    assert {parse_state(text) for text in ("", "DANCING", "C+")} == {JobState.UNKNOWN}
    assert {state for state in JobState if is_active(state)} == {
        JobState.PENDING,
        JobState.RUNNING,
        JobState.SUSPENDED,
    }


def test_every_state_of_slurm_is_read_as_itself() -> None:
    assert {parse_state(state.value) for state in JobState} == set(JobState)


def test_slices_and_amounts() -> None:
    assert all(map(is_slice, ("1g.10gb", "a100_1g.5gb", "nvidia_a100_3g.20gb")))
    assert not any(map(is_slice, ("a100", "H100-80GB", None)))
    assert amount_in_tres("cpu=4,mem=62.50G", "mem") == "62.50G"
    assert amount_in_tres("cpu=4", "mem") is None
    assert parse_indices("0-2,4") == (0, 1, 2, 4)


BAD = [
    (parse_tres, "gres/gpu=four", "'four' is no count"),
    (parse_tres, "gres/gpu", "without a count"),
    (parse_tres, "gres/gpu=18446744073709551614", "which nobody has"),
    (parse_gres, "gpu:2(IDX:0-1", "is cut within its brackets"),
    (parse_gres, "gpu:2(IDX:b)", "is no list of GPU indices"),
    (expand_hosts, "gpu[1-", "is no list of hosts"),
    (expand_hosts, "gpu[5-3]", "'5-3', which is no range"),
    (expand_hosts, "@all", "is no list of hosts"),
    (expand_hosts, "gpu!gpu1", "is no list of hosts"),
    (expand_hosts, "a[1-99999]b[1-99999]", f"more than {MAX_HOSTS} hosts"),
    (parse_elapsed, "soon", "is no span of time"),
    (parse_limit, "1:2:3:4", "is no span of time"),
    (count_tasks, "1_[5-3]", "'5-3', which is no range of tasks"),
    (count_tasks, "1_[0-999999999]", "is no list of the tasks of an array"),
    (parse_memory, "lots", "is no amount of memory"),
]


@pytest.mark.parametrize(("parse", "text", "fact"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_read_is_told(parse: object, text: str, fact: str) -> None:
    assert callable(parse)
    with pytest.raises(UnreadableCell) as error:
        parse(text)
    assert fact in error.value.fact
