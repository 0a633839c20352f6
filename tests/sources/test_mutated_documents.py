"""Damaged documents: whatever is done to them, a reader gives facts or an `InputError`, and accounts for every row."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from loadfactor.errors import Fault, InputError
from loadfactor.sources import DEMAND_PRESETS, read_demand
from loadfactor.sources.cluster_facts import read_short_cluster
from loadfactor.sources.kubernetes.objects import read_kubernetes_json
from loadfactor.sources.kubernetes.state_metrics import read_state_metrics
from loadfactor.sources.slurm.jobs_json import read_slurm_jobs_json
from loadfactor.sources.slurm.nodes_json import read_slurm_nodes_json
from loadfactor.sources.slurm.nodes_text import read_scontrol_nodes
from loadfactor.sources.sniff import looks_like
from loadfactor.sources.telemetry.dcgm import Query, Scrape, read_dcgm_answers, read_dcgm_scrapes
from loadfactor.sources.telemetry.kernel_log import read_xid_log
from tests.sources import test_dcgm, test_kubernetes, test_nodes_of_slurm, test_state_metrics
from tests.sources.slurm_documents import accounted, controlled, document

ROUNDS = 300
SLOW_ROUNDS = 80
SLOW = ("answer", "scrape", "demand")  # they build frames, which takes milliseconds
STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 2**63, 2**64, -(2**63), 4294967294, 4294967295, 10**30, "", " ", "x"),
    *("1", "NaN", "-inf", "9" * 400, "gpu:1e9", "gpu[0-99999999]", "gres/gpu=x", "\u0000", "\ud800", "é" * 70, "²"),
    *([], {}, [[]], [None], {"set": True}, {"set": True, "infinite": False, "number": "x"}, {"infinite": True}),
    *("2024-02-30T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59", "7_[1-999999999]", "1-0", [1, 2, 3]),
)
ANSWER = test_dcgm.answer(
    test_dcgm.series("DCGM_FI_DEV_GPU_UTIL", [[1, "5"], [2, "6"]]),
    test_dcgm.series("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", [[1, "5"], [2, "6"]], pod="p", namespace="n"),
)
STATES = [
    test_state_metrics.LISTED,
    *(test_state_metrics.PENDING, test_state_metrics.RUNNING),
    test_state_metrics.series("kube_pod_completion_time", {60: 100}),
    test_state_metrics.series("kube_node_status_capacity", {60: 8}, node="a", resource="nvidia_com_gpu"),
]
PODS = [test_kubernetes.node(annotations={"hami.io/node-nvidia-register": test_kubernetes.HAMI})]
PODS += [test_kubernetes.pod(phase="Succeeded", status={"containerStatuses": [test_kubernetes.ended("12")]})]
PODS += [test_kubernetes.pod(metadata={"annotations": {"gpu-fraction": "0.5"}})]
SINFO = {"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["a"]}, "gres": {"total": "gpu:4"}, "partition": {"name": "p"}}


def check_jobs(text: str) -> None:
    reading = read_slurm_jobs_json(text)
    assert len(reading.facts) + len(reading.left_out) + reading.rows_without_gpus == reading.rows_read


def check_kubernetes(text: str) -> None:
    reading = read_kubernetes_json(text)
    pods = reading.pods
    assert len(pods.facts) + len(pods.left_out) + pods.rows_without_gpus == pods.rows_read
    assert len(reading.nodes.facts) + len(reading.nodes.left_out) == reading.nodes.rows_read


def check_answer(text: str) -> None:
    read_dcgm_answers([Query(text, "q")])


JSON_READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "accounted": (document(accounted(), accounted(submit_line="sbatch --gpus 4", tres={})), check_jobs),
    "controlled": (document(controlled(), controlled(job_state="COMPLETED", gres_detail=[])), check_jobs),
    "nodes": (test_nodes_of_slurm.nodes(test_nodes_of_slurm.node()), read_slurm_nodes_json),
    "sinfo": (test_nodes_of_slurm.nodes(SINFO, key="sinfo"), read_slurm_nodes_json),
    "kubernetes": (json.dumps({"kind": "List", "apiVersion": "v1", "items": PODS}), check_kubernetes),
    "answer": (ANSWER, check_answer),
    "states": (test_dcgm.answer(*STATES), lambda text: read_state_metrics([("q", text)])),
    "demand": (test_dcgm.answer(*STATES), lambda text: read_demand(_bytes(text), DEMAND_PRESETS["prometheus"], "q")),
}
TEXT_READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "scontrol": (test_nodes_of_slurm.PARAGRAPHS, lambda text: read_scontrol_nodes(text, "n", "Europe/Berlin")),
    "one line": (test_nodes_of_slurm.ONE_LINE * 3, read_scontrol_nodes),
    "scrape": (test_dcgm.EVERY, lambda text: read_dcgm_scrapes([Scrape(text, "s", 1.0)])),
    "kernel log": (test_dcgm.LOG, lambda text: read_xid_log(text, "k", "UTC", 5.0)),
    "short": ("16x8:H100-80GB,2x4:A100-40GB/40", read_short_cluster),
    **{f"{name} as text": example for name, example in JSON_READERS.items()},
}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Return every container and key below `value`."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys]
    return found + [place for key in keys for place in places_in(value[key])]


def mutated(whole: Any, dice: random.Random) -> Any:
    changed = copy.deepcopy(whole)
    for _ in range(dice.choice((1, 1, 2, 4))):
        places = places_in(changed)
        if not places:
            break
        container, key = dice.choice(places)
        action = dice.randrange(4)
        if action == 0:
            del container[key]
        elif action == 1:
            _, other = dice.choice(places), container[key]
            container[key] = [other, other]
        else:
            container[key] = copy.deepcopy(dice.choice(STRANGE))
    return changed


def survives(reader: Callable[[str], object], text: str) -> bool:
    """Return whether the reader gave facts; it may raise nothing but `InputError`, with a place and a remedy."""
    looks_like(text)
    faults: tuple[Fault, ...] = ()
    try:
        reader(text)
    except InputError as error:
        faults = error.faults
    assert all(fault.fact and fault.remedy for fault in faults)
    return not faults


@pytest.mark.parametrize("name", JSON_READERS)
def test_changed_fields(name: str) -> None:
    text, reader = JSON_READERS[name]
    dice = random.Random(f"{name} fields")
    assert survives(reader, text)
    rounds = SLOW_ROUNDS if name in SLOW else ROUNDS
    read = sum(survives(reader, json.dumps(mutated(json.loads(text), dice))) for _ in range(rounds))
    assert rounds // 10 < read < rounds, "the changes must neither always nor never matter"


@pytest.mark.parametrize("name", TEXT_READERS)
def test_changed_characters(name: str) -> None:
    text, reader = TEXT_READERS[name]
    dice = random.Random(f"{name} characters")
    assert survives(reader, text)
    for _ in range(SLOW_ROUNDS if name in SLOW else ROUNDS):
        characters = list(text)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(characters))
            cut = dice.randrange(3)
            characters[at : at + cut] = dice.choice(
                ["", "\n", "=", "{", '"', "[", "9" * 30, "\x00", "é", "+", "e", "-"]
            )
            characters = characters or ["x"]
        survives(reader, "".join(characters))


@pytest.mark.parametrize("name", TEXT_READERS)
def test_documents_that_break_off(name: str) -> None:
    text, reader = TEXT_READERS[name]
    for end in range(0, len(text), max(1, len(text) // 50)):
        survives(reader, text[:end])
