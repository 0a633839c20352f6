"""One job of Slurm's accounting database in JSON (`sacct --json`, slurmrestd's /slurmdb/)."""

from __future__ import annotations

import math
import re

from loadfactor.errors import Fault, InputError
from loadfactor.sources.facts import JobInterval, JobState, LeftOut, NodeGpus
from loadfactor.sources.items import Item
from loadfactor.sources.slurm.api import api_cell, api_count, api_moment, api_number, base_state, label, resources_text
from loadfactor.sources.slurm.arrays import count_tasks
from loadfactor.sources.slurm.cells import UnreadableCell
from loadfactor.sources.slurm.gpus import Gpus
from loadfactor.sources.slurm.gres import parse_gres
from loadfactor.sources.slurm.hostlists import expand_hosts
from loadfactor.sources.slurm.memory import Memory, parse_memory
from loadfactor.sources.slurm.states import is_active
from loadfactor.sources.slurm.tres import amount_in_tres, parse_tres
from loadfactor.units import SECONDS_PER_MINUTE

_GPUS_ON_LINE = re.compile(r"(?:^|\s)(--gpus-per-(?:node|task|socket)|--gpus|-G|--gres)(?:=|\s+|(?<=-G))([^\s]+)")


def accounted_interval(item: Item, row: int) -> JobInterval:
    """Return the stay that an accounting record describes; raise `InputError` where it cannot be read.

    A record that waits and has started is half written, and refused like one that ends before it starts.
    """
    state, reason = _state(item)
    time = item.item("time")
    started = api_moment(time, "start")
    ended = None if is_active(state) else api_moment(time, "end")
    _check_times(item, state, started, ended)
    resources = item.item("tres")
    held = api_cell(resources, "allocated", parse_tres, resources_text(resources, "allocated"))
    requested = api_cell(resources, "requested", parse_tres, resources_text(resources, "requested"))
    gpus = held.count if started is not None else 0
    job_id = _id(item)
    return JobInterval(
        row=row,
        id=job_id,
        state=state,
        count=api_cell(item, "array", count_tasks, job_id),
        name=label(item, "name"),
        user=label(item, "user"),
        account=label(item, "account"),
        partition=label(item, "partition"),
        quality_of_service=label(item, "qos"),
        priority=api_number(item, "priority"),
        reason=reason,
        submitted=api_moment(time, "submission"),
        eligible=api_moment(time, "eligible"),
        started=started,
        ended=ended,
        limit_seconds=limit_seconds(time, "limit"),
        gpus=gpus,
        gpus_requested=requested.count,
        gpu_type=held.gpu_type or requested.gpu_type,
        node_count=api_count(item, "allocation_nodes") or None,
        node_gpus=_node_gpus(item, gpus),
        memory_requested_mib=_memory_mib(resources),
        exit_code=exit_code(item),
    )


def accounted_stake(item: Item) -> float | None:
    """Return the GPU-seconds of a record that was refused, None where they cannot be told."""
    resources = item.item("tres")
    held = api_cell(resources, "allocated", parse_tres, resources_text(resources, "allocated"))
    if not resources.list("allocated"):
        return None
    elapsed = _elapsed(item)
    return None if elapsed is None else held.count * elapsed


def untracked(item: Item, interval: JobInterval) -> LeftOut | None:
    """Return why a job is left out whose command line asks for GPUs that its resources do not name; None for others."""
    line = item.fields.get("submit_line")
    options = _GPUS_ON_LINE.findall(line) if isinstance(line, str) else []
    options = [(option, value) for option, value in options if option != "--gres" or "gpu" in value]
    if not options:
        return None
    fact = f"the job was submitted with {' '.join(options[0])}, and its resources name no GPU"
    remedy = "add gres/gpu to AccountingStorageTRES in slurm.conf; jobs from then on tell their GPUs"
    return LeftOut(Fault(item.place("tres"), fact, remedy), _stake_of_line(options, item, interval))


def limit_seconds(item: Item, key: str) -> float | None:
    """Return a limit of minutes in seconds; infinite where it is off, None where it is not set or 0."""
    minutes = api_number(item, key)
    if minutes is not None and minutes < 0:
        item.refuse(key, "a number of minutes")
    return minutes * SECONDS_PER_MINUTE if minutes else None


def exit_code(item: Item) -> int | None:
    """Return what the job's script returned, None where a signal ended it or nothing is said."""
    value = item.fields.get("exit_code")
    if isinstance(value, dict):
        return api_count(item.item("exit_code"), "return_code")
    return api_count(item, "exit_code")


def _state(item: Item) -> tuple[JobState, str | None]:
    state = item.item("state")
    return base_state(state.texts("current")), label(state, "reason")


def _check_times(item: Item, state: JobState, started: float | None, ended: float | None) -> None:
    time = item.item("time")
    if started is not None and ended is not None and ended < started:
        raise InputError.of(time.place("end"), f"is {started - ended:g} s before the start", "correct the record")
    if state is JobState.PENDING and started is not None:
        fact = "has a start while the job is PENDING: the record is half written"
        raise InputError.of(time.place("start"), fact, "read the jobs again a minute later")
    if started is not None and ended is None and not is_active(state):
        raise InputError.of(time.place("end"), f"is missing, and the job is {state}", "correct the record")


def _id(item: Item) -> str:
    array, component = item.item("array"), item.item("het")
    whole = api_count(array, "job_id")
    task = api_count(array, "task_id")
    waiting = array.text("task")
    if whole and task is not None:
        return f"{whole}_{task}"
    if whole and waiting:
        return f"{whole}_[{waiting}]"
    if api_count(component, "job_id"):
        return f"{api_count(component, 'job_id')}+{api_count(component, 'job_offset') or 0}"
    job_id = api_count(item, "job_id")
    if job_id is None:
        item.refuse("job_id", "the number of a job")
    return str(job_id)


def _node_gpus(item: Item, gpus: int) -> tuple[NodeGpus, ...]:
    """Return the nodes of a job with GPUs; the accounting says how many are on each only where there is one."""
    if not gpus:
        return ()
    nodes = api_cell(item, "nodes", expand_hosts)
    return tuple(NodeGpus(node, gpus if len(nodes) == 1 else None) for node in nodes)


def _memory_mib(resources: Item) -> float | None:
    amount = amount_in_tres(resources_text(resources, "requested"), "mem")
    memory: Memory | None = api_cell(resources, "requested", parse_memory, amount or "")
    return None if memory is None else memory.mebibytes


def _stake_of_line(options: list[tuple[str, str]], item: Item, interval: JobInterval) -> float | None:
    """Return the GPU-seconds by the command line; None where it gives them for each task or socket."""
    option, value = options[0]
    if interval.started is None:
        return 0.0
    elapsed = _elapsed(item)
    if elapsed is None or option in ("--gpus-per-task", "--gpus-per-socket"):
        return None
    try:
        gpus: Gpus = parse_gres(",".join(_as_gres(part) for part in value.split(",")))
    except UnreadableCell:
        return None
    nodes = 1 if option in ("--gpus", "-G") else interval.node_count or 1
    return gpus.count * nodes * elapsed


def _elapsed(item: Item) -> float | None:
    try:
        elapsed = api_number(item.item("time"), "elapsed")
    except InputError:
        return None
    return elapsed if elapsed is not None and 0 <= elapsed < math.inf else None


def _as_gres(part: str) -> str:
    return part if part.startswith("gpu") else f"gpu:{part}"
