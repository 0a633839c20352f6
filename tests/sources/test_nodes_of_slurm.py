"""Nodes as Slurm tells them, in JSON and in text: GPUs, types, memory, states, since when, and the cluster of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.cluster_facts import cluster_of_nodes, read_short_cluster
from loadfactor.sources.facts import NodeFact
from loadfactor.sources.gpu_names import memory_gib_of
from loadfactor.sources.slurm.node_states import is_available, split_states
from loadfactor.sources.slurm.nodes_json import read_slurm_nodes_json
from loadfactor.sources.slurm.nodes_text import read_scontrol_nodes
from tests.sources.slurm_documents import number

PARAGRAPHS = """NodeName=gpu-01 Arch=x86_64 CoresPerSocket=20
   CPUAlloc=26 CPUEfctv=40 CPUTot=40 CPULoad=6.80
   AvailableFeatures=intel,State=FUN
   ActiveFeatures=intel
   Gres=gpu:h100:8(S:0-1),tmp:2
   NodeAddr=gpu-01 NodeHostName=gpu-01 Version=24.05.3
   OS=Linux 5.15.0-58-generic #64-Ubuntu SMP Thu Jan 5 11:43:13 UTC 2023
   RealMemory=192000 AllocMem=150720 FreeMem=39430 Sockets=2 Boards=1
   State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=3 Owner=N/A MCS_label=N/A
   Partitions=free-gpu,gpu
   BootTime=2024-09-17T15:48:44 SlurmdStartTime=2024-10-22T16:04:19
   LastBusyTime=2024-10-21T16:19:36 ResumeAfterTime=None
   CfgTRES=cpu=40,mem=187.50G,billing=168,gres/gpu=8
   AllocTRES=cpu=26,mem=150720M,gres/gpu=4
   CurrentWatts=0 AveWatts=0

NodeName=gpu-02 Arch=x86_64 CoresPerSocket=20
   Gres=(null)
   State=DOWN*+DRAIN ThreadsPerCore=1
   Partitions=gpu
   CfgTRES=cpu=40,gres/gpu=4
   Reason=ECC errors, State=DOWN Gres=gpu:99 [root@2024-10-27T02:30:00]

NodeName=login
   Gres=(null)
   State=IDLE
"""
ONE_LINE = (
    "NodeName=gpu-03 Arch=x86_64 Gres=gpu:a100_80gb:4 State=IDLE+CLOUD+POWERED_DOWN Partitions=gpu "
    "CfgTRES=cpu=64,gres/gpu=4 AllocTRES= Reason=saving power [slurm@2024-01-02T03:04:05] Comment=quiet\n"
)


def test_paragraphs() -> None:
    reading = read_scontrol_nodes(PARAGRAPHS, "nodes.txt", "Europe/Berlin")
    assert reading.facts == (
        NodeFact(name="gpu-01", gpus=8, gpu_type="h100", partitions=("free-gpu", "gpu"), states=("MIXED",)),
        NodeFact(
            name="gpu-02",
            gpus=4,
            partitions=("gpu",),
            states=("DOWN", "NOT_RESPONDING", "DRAIN"),
            available=False,
            unavailable_since=1729989000,  # the first of the two 02:30 of that night: 00:30 UTC
            reason="ECC errors, State=DOWN Gres=gpu:99",
        ),
        NodeFact(name="login", gpus=0, states=("IDLE",)),
    )
    assert (reading.rows_read, reading.left_out, reading.notes) == (3, (), ())


def test_one_line_for_each_node_and_no_zone() -> None:
    reading = read_scontrol_nodes(ONE_LINE, "nodes.txt")
    assert reading.facts == (
        NodeFact(
            name="gpu-03",
            gpus=4,
            gpu_type="a100_80gb",
            gpu_memory_gib=80,
            partitions=("gpu",),
            states=("IDLE", "CLOUD", "POWERED_DOWN"),
            available=False,
            reason="saving power",
        ),
    )
    assert reading.notes == (
        "nodes.txt: since when 1 node is not available is not known, because no time zone was stated",
    )


def test_a_node_that_cannot_be_read_is_left_out_by_its_line() -> None:
    broken = PARAGRAPHS.replace("Gres=gpu:h100:8(S:0-1),tmp:2", "Gres=gpu:h100:99999999")
    reading = read_scontrol_nodes("\n" + broken, "nodes.txt", "UTC")
    assert [str(row.fault) for row in reading.left_out] == [
        "nodes.txt:2.Gres: '99999999' is more than 1000000, which nobody has; correct the cell"
    ]
    assert [node.name for node in reading.facts] == ["gpu-02", "login"]


def test_a_node_printed_twice_is_one_unless_it_contradicts_itself() -> None:
    twice = read_scontrol_nodes(ONE_LINE * 2, "nodes.txt")
    assert (len(twice.facts), twice.left_out) == (1, ())
    other = ONE_LINE + ONE_LINE.replace("a100_80gb:4", "a100_80gb:2").replace("=gpu ", "=debug ")
    reading = read_scontrol_nodes(other, "nodes.txt")
    assert str(reading.left_out[0].fault) == (
        "nodes.txt: node gpu-03 has 4 GPUs, and in a later entry 2; keep the entry that is right"
    )


@pytest.mark.parametrize(
    ("words", "states", "available"),
    [
        (["IDLE"], ("IDLE",), True),
        (["mixed"], ("MIXED",), True),
        (["ALLOCATED", "COMPLETING"], ("ALLOCATED", "COMPLETING"), True),
        (["IDLE+PLANNED+RESERVED"], ("IDLE", "PLANNED", "RESERVED"), True),
        (["IDLE", "CLOUD"], ("IDLE", "CLOUD"), True),
        (["IDLE@"], ("IDLE", "REBOOT_REQUESTED"), True),
        (["DOWN*"], ("DOWN", "NOT_RESPONDING"), False),
        (["IDLE*"], ("IDLE", "NOT_RESPONDING"), False),
        (["idle~"], ("IDLE", "POWERED_DOWN"), False),
        (["IDLE", "DRAIN"], ("IDLE", "DRAIN"), False),
        (["MIXED+DRAIN"], ("MIXED", "DRAIN"), False),
        (["DRAINING"], ("DRAINING",), False),
        (["drained"], ("DRAINED",), False),
        (["FAIL"], ("FAIL",), False),
        (["MAINT"], ("MAINT",), False),
        (["IDLE", "MAINTENANCE", "RESERVED"], ("IDLE", "MAINTENANCE", "RESERVED"), False),
        (["IDLE+POWERED_DOWN"], ("IDLE", "POWERED_DOWN"), False),
        (["FUTURE"], ("FUTURE",), False),
        (["UNKNOWN"], ("UNKNOWN",), False),
        (["IDLE^"], ("IDLE", "REBOOT_ISSUED"), False),
        (["?!"], ("UNKNOWN",), False),
        ([], ("UNKNOWN",), False),
    ],
)
def test_states(words: list[str], states: tuple[str, ...], available: bool) -> None:
    assert split_states(words) == states
    assert is_available(states) is available


def nodes(*entries: Any, key: str = "nodes", **changes: Any) -> str:
    return json.dumps({key: list(entries), "meta": {"plugin": {"type": "openapi/slurmctld"}}, "errors": []} | changes)


def node(**changes: Any) -> dict[str, Any]:
    return {
        "name": "gpu1",
        "state": ["IDLE"],
        "gres": "gpu:h100:4",
        "gres_used": "gpu:h100:0(IDX:N/A)",
        "partitions": ["gpu"],
        "reason": "",
        "reason_changed_at": number(0),
        "tres": "cpu=32,mem=512G",
    } | changes


def test_nodes_of_the_rest_interface() -> None:
    down = node(name="gpu2", state=["DOWN"], reason="CPU dead", reason_changed_at=number(1762942786))
    old = node(name="gpu3", state="down", state_flags=["DRAIN"], reason_changed_at=1684114900, reason="disk")
    mended = node(name="gpu4", reason="was broken", reason_changed_at=number(5), gres="", tres="cpu=4,gres/gpu=2")
    reading = read_slurm_nodes_json(nodes(node(), down, old, mended), "nodes.json")
    shape: dict[str, Any] = {"gpus": 4, "gpu_type": "h100", "partitions": ("gpu",)}
    broken: dict[str, Any] = {**shape, "available": False}
    assert reading.facts == (
        NodeFact(name="gpu1", states=("IDLE",), **shape),
        NodeFact(name="gpu2", states=("DOWN",), unavailable_since=1762942786, reason="CPU dead", **broken),
        NodeFact(name="gpu3", states=("DOWN", "DRAIN"), unavailable_since=1684114900, reason="disk", **broken),
        NodeFact(name="gpu4", gpus=2, states=("IDLE",), partitions=("gpu",), reason="was broken"),
    )


def test_the_newer_sinfo_lists_nodes_by_partition() -> None:
    entry = {
        "node": {"state": ["IDLE", "DRAIN"]},
        "nodes": {"total": 2, "nodes": ["gpu1", "gpu2"]},
        "gres": {"total": "gpu:h100:4", "used": "gpu:h100:0"},
        "partition": {"name": "gpu"},
        "reason": {"description": "fans", "time": number(700), "user": "root"},
    }
    again = entry | {"partition": {"name": "debug"}, "nodes": {"total": 1, "nodes": ["gpu2"]}}
    reading = read_slurm_nodes_json(nodes(entry, again, key="sinfo"), "sinfo.json")
    assert [(node.name, node.gpus, node.partitions) for node in reading.facts] == [
        ("gpu1", 4, ("gpu",)),
        ("gpu2", 4, ("gpu", "debug")),
    ]
    assert {(node.available, node.unavailable_since, node.reason) for node in reading.facts} == {(False, 700, "fans")}


def test_slices_are_counted_one_by_one_and_noted() -> None:
    reading = read_slurm_nodes_json(nodes(node(gres="gpu:nvidia_a100_1g.10gb:7")), "nodes.json")
    assert (reading.facts[0].gpus, reading.facts[0].gpu_memory_gib) == (7, 10)
    assert reading.notes == ("nodes.json: 1 node has GPUs cut into slices (MIG), and each slice counts as one (gpu1)",)


def test_bad_nodes_are_left_out_with_their_place() -> None:
    reading = read_slurm_nodes_json(nodes(node(gres="gpu:h100:x=y"), node(name=None), "?", node()), "n.json")
    assert len(reading.facts) == 1
    assert [row.fault.path for row in reading.left_out] == [
        "n.json:nodes[0].gres",
        "n.json:nodes[1].name",
        "n.json:nodes[2]",
    ]


@pytest.mark.parametrize(
    ("gpu_type", "memory"),
    [
        ("H100-80GB", 80),
        ("NVIDIA-H100-80GB-HBM3", 80),
        ("NVIDIA H100 80GB HBM3", 80),
        ("NVIDIA A100-SXM4-40GB", 40),
        ("a100_80gb", 80),
        ("a100-80g", 80),
        ("nvidia_a100_1g.10gb", 10),
        ("1g.5gb", 5),
        ("Tesla V100-PCIE-32GB", 32),
        ("t4", 16),
        ("l40s", 48),
        ("MI300X", 192),
        ("a100_80gb+a100_40gb", 40),
        ("h100", None),
        ("h100+a100_40gb", None),
        ("A10G", None),
        ("0gb", None),
        (None, None),
    ],
)
def test_memory_in_the_name_of_a_type(gpu_type: str | None, memory: float | None) -> None:
    assert memory_gib_of(gpu_type) == memory


def test_the_short_form() -> None:
    reading = read_short_cluster(" 2x8:H100-80GB, 1x4:GB200-186GB,1x2 \n")
    assert [(node.name, node.gpus, node.gpu_type, node.gpu_memory_gib) for node in reading.facts] == [
        ("node-0", 8, "H100-80GB", 80),
        ("node-1", 8, "H100-80GB", 80),
        ("node-2", 4, "GB200-186GB", 186),
        ("node-3", 2, None, None),
    ]


def test_the_cluster_of_facts() -> None:
    facts = read_slurm_nodes_json(nodes(node(), node(name="cpu1", gres=""), node(name="gpu2", state=["DOWN"]))).facts
    cluster = cluster_of_nodes(facts, steps=24)
    assert [(node.name, node.gpus, node.gpu_type) for node in cluster.nodes] == [
        ("gpu1", 4, "h100"),
        ("gpu2", 4, "h100"),
    ]
    assert [(entry.gpus, entry.from_step, entry.until_step) for entry in cluster.unavailable] == [((4, 5, 6, 7), 0, 24)]
    assert cluster_of_nodes(facts).unavailable == ()
    with pytest.raises(InputError, match="cluster: no node has a GPU; choose the nodes of a cluster with GPUs"):
        cluster_of_nodes(facts[1:2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PARAGRAPHS, "looks like scontrol show node; expected nodes of Slurm in JSON"),
        ('{"jobs": [{"job_id": 3}]}', "looks like jobs of Slurm in JSON; expected nodes of Slurm in JSON"),
        (nodes(key="partitions"), "looks like another document of Slurm in JSON"),
        (json.dumps({"errors": [{"error": "gone"}]}), "holds no nodes, but Slurm's error: gone"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_slurm_nodes_json(text, "nodes.json")
    assert message in str(caught.value)


def test_the_other_readers_of_nodes_refuse_what_is_not_theirs() -> None:
    with pytest.raises(InputError, match="looks like nodes of Slurm in JSON; expected scontrol show node"):
        read_scontrol_nodes(nodes(node()), "nodes.txt")
    with pytest.raises(InputError, match="looks like scontrol show node; expected a short form of a cluster"):
        read_short_cluster(PARAGRAPHS)
    with pytest.raises(InputError, match="'Mars' is no time zone that is known"):
        read_scontrol_nodes(PARAGRAPHS, "nodes.txt", "Mars")
