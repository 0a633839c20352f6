"""One job of Slurm's controller in JSON (`squeue --json`, `scontrol show job --json`, slurmrestd's /slurm/)."""

from __future__ import annotations

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, JobState, NodeGpus
from loadfactor.sources.items import Item
from loadfactor.sources.slurm.accounting_json import exit_code, limit_seconds
from loadfactor.sources.slurm.api import api_cell, api_count, api_moment, api_number, base_state, label
from loadfactor.sources.slurm.arrays import count_tasks
from loadfactor.sources.slurm.gpus import NO_GPUS, Gpus, joined_types
from loadfactor.sources.slurm.gres import parse_gres
from loadfactor.sources.slurm.hostlists import expand_hosts
from loadfactor.sources.slurm.memory import Memory, parse_memory
from loadfactor.sources.slurm.states import is_active
from loadfactor.sources.slurm.tres import amount_in_tres, parse_tres

_REQUESTS = ("tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket")


def controlled_interval(item: Item, row: int) -> JobInterval:
    """Return the stay that a controller's record describes; raise `InputError` where it cannot be read.

    The start of a waiting job and the end of a running one are plans, and not set here.
    """
    state = base_state(item.texts("job_state"))
    nodes = api_cell(item, "nodes", expand_hosts)
    started, ended = _times(item, state, bool(nodes))
    requested = _requested(item, len(nodes))
    gpus, node_gpus, gpu_type = _held(item, nodes, requested) if started is not None else (0, (), None)
    job_id = _id(item)
    return JobInterval(
        row=row,
        id=job_id,
        state=state,
        count=api_cell(item, "array_task_string", count_tasks, job_id),
        name=label(item, "name"),
        user=label(item, "user_name"),
        account=label(item, "account"),
        partition=label(item, "partition"),
        quality_of_service=label(item, "qos"),
        priority=api_number(item, "priority"),
        reason=label(item, "state_reason"),
        submitted=api_moment(item, "submit_time"),
        eligible=api_moment(item, "eligible_time"),
        started=started,
        ended=ended,
        limit_seconds=limit_seconds(item, "time_limit"),
        gpus=gpus,
        gpus_requested=requested.count,
        gpu_type=gpu_type or requested.gpu_type,
        node_count=len(nodes) or api_count(item, "node_count") or None,
        node_gpus=node_gpus,
        memory_requested_mib=_memory_mib(item),
        exit_code=exit_code(item) if ended is not None else None,
    )


def controlled_stake(item: Item) -> float | None:
    """Return the GPU-seconds of a record that was refused, None where they cannot be told."""
    nodes = api_cell(item, "nodes", expand_hosts)
    started, ended = _times(item, base_state(item.texts("job_state")), bool(nodes))
    if started is None or ended is None:
        return None
    gpus, _, _ = _held(item, nodes, _requested(item, len(nodes)))
    return gpus * (ended - started)


def _times(item: Item, state: JobState, has_nodes: bool) -> tuple[float | None, float | None]:
    waiting = state in (JobState.PENDING, JobState.REQUEUED) or not has_nodes
    started = None if waiting else api_moment(item, "start_time")
    ended = None if is_active(state) else api_moment(item, "end_time")
    if started is not None and ended is not None and ended < started:
        raise InputError.of(item.place("end_time"), f"is {started - ended:g} s before the start", "correct the record")
    if started is not None and ended is None and not is_active(state):
        raise InputError.of(item.place("end_time"), f"is missing, and the job is {state}", "correct the record")
    return started, ended


def _id(item: Item) -> str:
    whole, task = api_count(item, "array_job_id"), api_count(item, "array_task_id")
    waiting = item.text("array_task_string")
    if whole and waiting:
        return f"{whole}_[{waiting}]"
    if whole and task is not None:
        return f"{whole}_{task}"
    if api_count(item, "het_job_id"):
        return f"{api_count(item, 'het_job_id')}+{api_count(item, 'het_job_offset') or 0}"
    job_id = api_count(item, "job_id")
    if job_id is None:
        item.refuse("job_id", "the number of a job")
    return str(job_id)


def _requested(item: Item, nodes: int) -> Gpus:
    """Return the GPUs asked for: what the site tracks, else what each part of the request names times its parts."""
    tracked: Gpus = api_cell(item, "tres_req_str", parse_tres)
    if tracked.count:
        return tracked
    for key in _REQUESTS:
        asked: Gpus = api_cell(item, key, parse_gres)
        if asked.count:
            return Gpus(asked.count * _parts(item, key, nodes), asked.gpu_type)
    return NO_GPUS


def _parts(item: Item, key: str, nodes: int) -> int:
    if key == "tres_per_job":
        return 1
    if key == "tres_per_task":
        return api_count(item, "tasks") or 1
    nodes = nodes or api_count(item, "node_count") or 1
    return nodes * ((api_count(item, "sockets_per_node") or 1) if key == "tres_per_socket" else 1)


def _held(item: Item, nodes: tuple[str, ...], requested: Gpus) -> tuple[int, tuple[NodeGpus, ...], str | None]:
    """Return how many GPUs a started job holds, on which nodes, and their type.

    The indices of each node are believed where they add up to what is tracked. A job that has ended keeps no indices;
    where its GPUs are not tracked either, it held what it asked for, which is not known if it asked for each socket.
    """
    tracked: Gpus = api_cell(item, "tres_alloc_str", parse_tres)
    on_nodes: list[Gpus] = [api_cell(item, "gres_detail", parse_gres, text) for text in item.texts("gres_detail")]
    listed = sum(gpus.count for gpus in on_nodes)
    if listed and len(on_nodes) == len(nodes) and tracked.count in (0, listed):
        pairs = zip(nodes, on_nodes, strict=True)
        node_gpus = tuple(NodeGpus(node, gpus.count, gpus.indices) for node, gpus in pairs if gpus.count)
        types = "+".join(gpus.gpu_type for gpus in on_nodes if gpus.gpu_type)
        return listed, node_gpus, joined_types(types.split("+")) if types else tracked.gpu_type
    if not tracked.count and not listed and requested.count and _asked_by_socket(item):
        fact = "asks for GPUs on each socket, and nothing says how many it held"
        raise InputError.of(item.place("tres_per_socket"), fact, "add gres/gpu to AccountingStorageTRES in slurm.conf")
    count = tracked.count or listed or requested.count
    gpu_type = tracked.gpu_type or requested.gpu_type
    if not count:
        return 0, (), None
    return count, tuple(NodeGpus(node, count if len(nodes) == 1 else None) for node in nodes), gpu_type


def _asked_by_socket(item: Item) -> bool:
    return not any(item.text(key) for key in _REQUESTS[:3]) and item.text("tres_per_socket") is not None


def _memory_mib(item: Item) -> float | None:
    amount = amount_in_tres(item.text("tres_req_str") or "", "mem")
    memory: Memory | None = api_cell(item, "tres_req_str", parse_memory, amount or "")
    return None if memory is None else memory.mebibytes
