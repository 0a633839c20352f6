"""Legal decisions broken in exactly one way: every variety of breaking a rule that a moment allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from loadfactor.control import ClusterState, Decision, JobStart, Swap
from loadfactor.control.records import HOLDING, JobPhase, JobRecord
from tests.support.cells import is_legal_block
from tests.support.control_play import block_of, blocks_for, fits, open_gpus, serving, suits_gpu

Breach = Callable[[ClusterState, Random], "Decision | None"]


def _pick(rng: Random, decisions: Iterable[Decision]) -> Decision | None:
    candidates = list(decisions)
    return rng.choice(candidates) if candidates else None


def _waiting(state: ClusterState) -> list[JobRecord]:
    return [job for job in state.jobs if job.phase is JobPhase.WAITING]


def _blocks(state: ClusterState, job: JobRecord) -> list[range]:
    """Return the blocks of the job's size that meet its needs, free or not."""
    return blocks_for(state, set(range(len(state.owner))), job, job.size)


def _start_on(wanted: Callable[[ClusterState, set[int]], bool]) -> Breach:
    """Return the breach that starts a job on a legal block of which the GPUs that are not open satisfy `wanted`."""

    def plant(state: ClusterState, rng: Random) -> Decision | None:
        free = open_gpus(state)
        starts = [(job.row, block) for job in _waiting(state) for block in _blocks(state, job)]
        taken = [(row, block.start, set(block) - free) for row, block in starts]
        found = [Decision([JobStart(row, gpu)]) for row, gpu, closed in taken if closed and wanted(state, closed)]
        return _pick(rng, found)

    return plant


def _held_by_job(state: ClusterState, gpus: set[int]) -> bool:
    return any(gpus & set(block_of(job)) for job in state.jobs if job.phase in HOLDING)


def _held_by_service(state: ClusterState, gpus: set[int]) -> bool:
    return any(gpus & service.replicas.keys() for service in state.services)


def _lost_only(state: ClusterState, gpus: set[int]) -> bool:
    return all(state.lost[gpu] for gpu in gpus) and not _held_by_job(state, gpus) | _held_by_service(state, gpus)


def _drained_only(state: ClusterState, gpus: set[int]) -> bool:
    return all(state.drained[gpu] for gpu in gpus) and not _held_by_job(state, gpus) | _held_by_service(state, gpus)


def _givable(state: ClusterState, count: int = 1) -> list[int]:
    """Return the rows of services that may still get so many GPUs."""
    rows = []
    for service in state.services:
        most = len(state.owner) if service.request.max_gpus is None else service.request.max_gpus
        if state.swaps_left(service) >= count and service.held() + count <= most:
            rows.append(service.row)
    return rows


def _give(gpus_of: Callable[[ClusterState], Iterable[int]], times: int = 1) -> Breach:
    def plant(state: ClusterState, rng: Random) -> Decision | None:
        gpus = list(gpus_of(state))
        swaps = [(row, gpu) for row in _givable(state, times) for gpu in gpus if _serves(state, row, gpu)]
        return _pick(rng, (Decision(given=[Swap(row, gpu)] * times) for row, gpu in swaps))

    return plant


def _serves(state: ClusterState, row: int, gpu: int) -> bool:
    """Return whether a GPU suits a service; what does not exist suits all."""
    return not 0 <= gpu < len(state.owner) or suits_gpu(state, state.services[row].request, gpu)


def _all_held(state: ClusterState) -> set[int]:
    closed = set(range(len(state.owner))) - open_gpus(state)
    return {gpu for gpu in closed if _held_by_job(state, {gpu}) or _held_by_service(state, {gpu})}


def _out_of_use(state: ClusterState) -> set[int]:
    return set(range(len(state.owner))) - open_gpus(state) - _all_held(state)


def _beyond(state: ClusterState) -> list[int]:
    return [len(state.owner), -1]


def _overlapping_starts(state: ClusterState, rng: Random) -> Decision | None:
    free, starts = open_gpus(state), []
    for job in _waiting(state):
        starts += [(job.row, block) for block in _blocks(state, job) if free >= set(block)]
    pairs = [(a, b) for a in starts for b in starts if a[0] < b[0] and set(a[1]) & set(b[1])]
    return _pick(rng, (Decision([JobStart(row, block.start) for row, block in pair]) for pair in pairs))


def _start_beyond(state: ClusterState, rng: Random) -> Decision | None:
    gpus, found = len(state.owner), []
    for job in _waiting(state):
        for first in (gpus, -1):
            inside = [gpu for gpu in range(first, first + job.size) if 0 <= gpu < gpus]
            if all(suits_gpu(state, job.request, gpu) for gpu in inside):
                found.append(Decision([JobStart(job.row, first)]))
    return _pick(rng, found)


def _start_of(wanted: Callable[[JobRecord], bool], times: int = 1) -> Breach:
    def plant(state: ClusterState, rng: Random) -> Decision | None:
        free, found = open_gpus(state), []
        for job in filter(wanted, state.jobs):
            firsts = [block.start for block in blocks_for(state, free, job, job.size)]
            if times == 1:
                found += [Decision([JobStart(job.row, first)]) for first in firsts]
            else:
                pairs = [(a, b) for a in firsts for b in firsts if a + job.size <= b]
                found += [Decision([JobStart(job.row, a), JobStart(job.row, b)]) for a, b in pairs]
        return _pick(rng, found)

    return plant


def _unknown_job(state: ClusterState, rng: Random) -> Decision | None:
    return Decision([JobStart(rng.choice((-1, len(state.jobs))), 0)])


def _unknown_service(state: ClusterState, rng: Random) -> Decision | None:
    swap = Swap(rng.choice((-1, len(state.services))), 0)
    return rng.choice((Decision(given=[swap]), Decision(taken=[swap])))


def _above_max_gpus(state: ClusterState, rng: Random) -> Decision | None:
    free, found = sorted(open_gpus(state)), []
    for service in state.services:
        most = service.request.max_gpus
        count = 0 if most is None else most - service.held() + 1
        suited = [gpu for gpu in free if _serves(state, service.row, gpu)]
        if 0 < count <= min(state.swaps_left(service), len(suited)):
            found.append(Decision(given=[Swap(service.row, gpu) for gpu in rng.sample(suited, count)]))
    return _pick(rng, found)


def _taken(gpus_of: Callable[[ClusterState, int], Iterable[int]], times: int = 1) -> Breach:
    def plant(state: ClusterState, rng: Random) -> Decision | None:
        rows = [service.row for service in state.services if state.swaps_left(service) >= times]
        return _pick(rng, (Decision(taken=[Swap(row, gpu)] * times) for row in rows for gpu in gpus_of(state, row)))

    return plant


def _not_its_own(state: ClusterState, row: int) -> set[int]:
    return set(range(len(state.owner))) - state.services[row].replicas.keys()


def _stopping(state: ClusterState, row: int) -> set[int]:
    return state.services[row].replicas.keys() - set(serving(state.services[row]))


def _size_outside(state: ClusterState, rng: Random, larger: bool) -> Decision | None:
    """Start a job on a legal block that is smaller or larger than it can use, though another exists."""
    free, found = open_gpus(state), []
    for job in _waiting(state):
        most = max(job.sizes[-1], job.request.most)
        sizes = range(most + 1, len(state.owner) + 1) if larger else range(1, job.request.gpus)
        for size in sizes:
            blocks = blocks_for(state, free, job, size)
            found += [Decision([JobStart(job.row, block.start, size)]) for block in blocks]
    return _pick(rng, found)


def _too_small(state: ClusterState, rng: Random) -> Decision | None:
    return _size_outside(state, rng, larger=False)


def _too_large(state: ClusterState, rng: Random) -> Decision | None:
    return _size_outside(state, rng, larger=True)


def _job_on_unfit(state: ClusterState, rng: Random) -> Decision | None:
    free, found = open_gpus(state), []
    for job in _waiting(state):
        for size in job.sizes:
            blocks = [range(gpu, gpu + size) for gpu in sorted(free) if fits(state, free, gpu, size)]
            unfit = [block for block in blocks if not all(suits_gpu(state, job.request, gpu) for gpu in block)]
            found += [Decision([JobStart(job.row, block.start, size)]) for block in unfit]
    return _pick(rng, found)


def _service_on_unfit(state: ClusterState, rng: Random) -> Decision | None:
    swaps = [Swap(row, gpu) for row in _givable(state) for gpu in open_gpus(state) if not _serves(state, row, gpu)]
    return _pick(rng, (Decision(given=[swap]) for swap in swaps))


def _windows(state: ClusterState, rng: Random) -> Decision | None:
    """Start a job on free consecutive GPUs that are no block."""
    free, found = open_gpus(state), []
    for job in _waiting(state):
        for first in range(len(state.owner) - job.size + 1):
            window = range(first, first + job.size)
            inside = free >= set(window) and all(suits_gpu(state, job.request, gpu) for gpu in window)
            if inside and not is_legal_block(state.cluster, first, job.size):
                found.append(Decision([JobStart(job.row, first)]))
    return _pick(rng, found)


def _too_many_swaps(state: ClusterState, rng: Random) -> Decision | None:
    free, found = sorted(open_gpus(state)), []
    for service in state.services:
        left, held = state.swaps_left(service), serving(service)
        room = len(free) if service.request.max_gpus is None else service.request.max_gpus - service.held()
        suited = [gpu for gpu in free if _serves(state, service.row, gpu)][: max(0, room)]
        swaps = [Swap(service.row, gpu) for gpu in held], [Swap(service.row, gpu) for gpu in suited]
        if len(held) > left:
            found.append(Decision(taken=swaps[0][: left + 1]))
        if len(swaps[1]) > left:
            found.append(Decision(given=swaps[1][: left + 1]))
        if 0 < len(held) <= left < len(held) + len(swaps[1]):
            found.append(Decision(taken=swaps[0], given=swaps[1][: left + 1 - len(held)]))
    return _pick(rng, found)


VARIETIES: dict[str, dict[str, Breach]] = {
    "R1": {
        "job on a job": _start_on(_held_by_job),
        "job on a service": _start_on(_held_by_service),
        "job on lost GPUs": _start_on(_lost_only),
        "job on drained GPUs": _start_on(_drained_only),
        "two jobs overlap": _overlapping_starts,
        "job beyond the cluster": _start_beyond,
        "service on a holder": _give(_all_held),
        "service out of use": _give(_out_of_use),
        "service beyond the cluster": _give(_beyond),
        "GPU given twice": _give(open_gpus, times=2),
    },
    "R2": {
        "fewer GPUs than asked for": _too_small,
        "more GPUs than it can use": _too_large,
        "job on GPUs that do not suit": _job_on_unfit,
        "service on a GPU that does not suit": _service_on_unfit,
        "job that holds a block": _start_of(lambda job: job.phase in HOLDING),
        "job that is over": _start_of(lambda job: job.phase is JobPhase.OVER),
        "job started twice": _start_of(lambda job: job.phase is JobPhase.WAITING, times=2),
        "unknown job": _unknown_job,
        "unknown service": _unknown_service,
        "above max_gpus": _above_max_gpus,
        "taken from others": _taken(_not_its_own),
        "taken while stopping": _taken(_stopping),
        "taken twice": _taken(lambda state, row: serving(state.services[row]), times=2),
    },
    "R3": {"no block": _windows},
    "R4": {"too many swaps": _too_many_swaps},
}
