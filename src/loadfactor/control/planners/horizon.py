"""The rolling horizon: the state of a cluster at a moment as the arrays that the search of `fast` reads.

Step 0 is the step that contains the moment. A running job is busy until the end of the step in which it is expected to
end, and a job that starts now counts from the beginning of step 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.control.planners.queue import Columns, Shapes
from loadfactor.control.planners.way import ranks_of_nodes
from loadfactor.control.records import ServiceRecord
from loadfactor.control.requests import ServiceRequest
from loadfactor.control.state import FREE, ClusterState
from loadfactor.model import Cluster, GpuRange, Horizon, Job, Problem, Service
from loadfactor.policies.blocks import block_table
from loadfactor.policies.catalogue import Catalogue
from loadfactor.policies.compiled import making_kernel
from loadfactor.policies.draft import decay_weights
from loadfactor.policies.instance import FIRST_OPTION, HELD, LAST_OPTION, MAX_SWAP, SIZE, Instance
from loadfactor.policies.occupancy import Bits, mask_between, with_summary

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
UNKNOWN = -1


@dataclass(frozen=True)
class HorizonSettings:
    """How far a plan looks ahead, and what it counts.

    `steps` of the state's `step_seconds`. The `depth` dearest jobs may be planned for any step, those behind them only
    for now. `hourly_decay` and `realtime_penalty` are those of the objective.
    """

    steps: int = 144
    depth: int = 150
    hourly_decay: float = 0.98
    realtime_penalty: float = 8.0


@making_kernel
def busy_until(ends: Ints, steps: int) -> Bits:
    """Return (N, W) bits in which GPU g is taken in the steps [0, `ends`[g])."""
    words = (steps + 63) >> 6
    busy = np.zeros((len(ends), words), dtype=np.uint64)
    for gpu in range(len(ends)):
        for word in range(words):
            busy[gpu, word] = mask_between(-(word << 6), min(ends[gpu], steps) - (word << 6))
    return busy


@making_kernel
def free_by_step(ends: Ints, pool_of_gpu: Ints, pools: int, steps: int) -> Ints:
    """Return (P, T) how many GPUs of each pool are free at each step."""
    free = np.zeros((pools, steps), dtype=np.int64)
    for gpu in range(len(ends)):
        if ends[gpu] < steps:
            free[pool_of_gpu[gpu], ends[gpu]] += 1
    for step in range(1, steps):
        for pool in range(pools):
            free[pool, step] += free[pool, step - 1]
    return free


class RollingHorizon:
    """Builds instances for one cluster and its services, moment by moment."""

    def __init__(self, state: ClusterState, settings: HorizonSettings) -> None:
        self.settings = settings
        self._problem = _template(state, settings)
        self._weight = np.array(
            decay_weights(settings.steps, settings.hourly_decay ** (state.step_seconds / 3600)), dtype=np.float64
        )
        self._places = Places(state)

    def instance(
        self, state: ClusterState, rows: Ints, columns: Columns, worth: Floats, free_at: Floats, demand: Ints | None,
        shape: Ints | None = None,
    ) -> Instance:  # fmt: skip
        """Return the arrays for the jobs of `rows`, the dearest first by `worth`, and the services' `demand` (S, T).

        Jobs may get the blocks of `shape`, those of their columns unless given. Without `demand` services keep for ever
        what they hold, and the instance has none.
        """
        if self._places.needs != state.block_sizes.needs:
            self._places = Places(state)
        steps, catalogue, places = self.settings.steps, self._places.catalogue, self._places
        ends = self._ends(state, free_at, keep=demand is None)
        jobs, options = self._jobs(state, rows, columns, columns.shape.of(rows) if shape is None else shape)
        services, held = self._services(state, state.services if demand is not None else [])
        price = np.array(
            [self.settings.realtime_penalty * each.request.priority for each in state.services[: len(services)]]
        )
        reward = np.repeat(worth, jobs[:, LAST_OPTION] - jobs[:, FIRST_OPTION]) * options[:, SIZE]
        return Instance(
            problem=self._problem,
            steps=steps,
            waiting=[],
            running=[],
            grid=with_summary(busy_until(ends, steps), catalogue.first_of_node),
            node_of_gpu=catalogue.node_of_gpu,
            first_of_node=catalogue.first_of_node,
            pool_of_gpu=catalogue.pool_of_gpu,
            free=free_by_step(ends, catalogue.pool_of_gpu, catalogue.pools, steps),
            jobs=jobs,
            options=options,
            density=worth,
            mean_worth=float(reward.mean() * 6) if len(reward) else 1.0,
            reward=reward,
            starts=places.ordered_starts(state),
            weight=self._weight,
            services=services,
            demand=np.empty((0, steps), dtype=np.int64) if demand is None else demand,
            price=price,
            by_price=np.argsort(-price, kind="stable"),
            service_pools=places.service_pools[: len(services)],
            kept=_kept(services, held, ends, catalogue, steps),
            held=held,
        )

    def blocks_of(self, size: int) -> Ints:
        """Return the first GPU of every block of an admissible size that needs no type and no memory."""
        return self._places.blocks_of_size(size)

    def span_of(self, size: int) -> tuple[int, int] | None:
        """Return where the blocks of a size begin and end among the instances' `starts`; None if in several groups."""
        groups = self._places.groups_of_size(size)
        return groups[0][1:] if len(groups) == 1 else None

    def use_every_gpu(self) -> npt.NDArray[np.bool_]:
        """Return (S,) whether each service may use every GPU."""
        return np.array([row.all() for row in self._places.service_pools], dtype=np.bool_)

    def _ends(self, state: ClusterState, free_at: Floats, keep: bool) -> Ints:
        """Return the step from which on each GPU is free for others than the service that holds it.

        With `keep` a replica that does not stop keeps its GPU for ever.
        """
        step_at, steps = state.step_began(), self.settings.steps
        ends = np.clip(np.ceil((free_at - step_at) / state.step_seconds), 0, steps).astype(np.int64)
        if not keep:
            ends[(state.owner < FREE) & ~state.lost] = 0
        ends[state.stopping & ~state.lost & ~state.drained] = 0  # it is over in much less than a step
        return ends

    def _jobs(self, state: ClusterState, rows: Ints, columns: Columns, shape: Ints) -> tuple[Ints, Ints]:
        """Return the rows of `jobs` and `options`: every size of a job's shape, in every pool that has its blocks."""
        steps, count = self.settings.steps, len(rows)
        group, first, options_of = self._places.groups_of(columns.shapes)
        each = options_of[shape]
        last_option = np.cumsum(each)
        job = np.repeat(np.arange(count), each)
        groups = group[np.arange(len(job)) + np.repeat(first[shape] - last_option + each, each)]
        seconds = columns.seconds_on(rows[job], groups[:, 0])
        duration = np.maximum(1, np.ceil(seconds / state.step_seconds)).astype(np.int64)
        last_start = np.where(job < self.settings.depth, steps - 1, 0)
        options = np.column_stack([groups[:, 0], duration, last_start, groups[:, 1:]])
        jobs = np.column_stack([np.zeros(count, dtype=np.int64), last_option - each, last_option])
        return jobs, options

    def durations(self, state: ClusterState, rows: Ints, columns: Columns) -> Ints:
        """Return the steps that the jobs of `rows` are expected to take."""
        return np.maximum(1, np.ceil(columns.run_seconds.of(rows) / state.step_seconds)).astype(np.int64)

    def _services(self, state: ClusterState, services: list[ServiceRecord]) -> tuple[Ints, Ints]:
        gpus = len(state.owner)
        rows = np.empty((len(services), 5), dtype=np.int64)
        held = np.full(gpus, UNKNOWN, dtype=np.int64)
        for service in services:
            holding = np.flatnonzero(state.held_by(service))
            most = gpus if service.request.max_gpus is None else min(gpus, service.request.max_gpus)
            rows[service.row] = service.request.max_swap, most, len(holding), *self._places.service_gpus[service.row]
            held[holding] = service.row
        return rows, held


class Places:
    """Where blocks and replicas may lie, for all needs that the cluster has heard of: `needs` of them."""

    def __init__(self, state: ClusterState) -> None:
        blocks = state.block_sizes
        for service in state.services:
            blocks.need(service.request)
        self.needs = blocks.needs
        self._examples = [blocks.example(need) for need in range(self.needs)]
        table = block_table(state.cluster)
        self.catalogue = Catalogue(table, [_job(types, memory, 1) for types, memory in self._examples[1:]])
        for size in blocks.sizes:  # first of all, so that they lie at the same place whoever asks for what later
            self.groups_of_size(size)
        services = [_service(each.request) for each in state.services]
        self.service_gpus = [self.catalogue.gpus(service) for service in services]
        _, example = np.unique(self.catalogue.pool_of_gpu, return_index=True)
        self.service_pools = np.array([table.suitable_gpus(service)[example] for service in services], dtype=np.bool_)
        self.service_pools = self.service_pools.reshape(len(services), self.catalogue.pools)
        self._group: list[tuple[int, int, int, int]] = []
        self._first: list[int] = []
        self._count: list[int] = []
        self._arrays = np.empty((0, 4), dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self._segment: Ints = np.empty(0, dtype=np.int64)
        self._blocks: dict[int, Ints] = {}

    def groups_of_size(self, size: int) -> list[tuple[int, int, int]]:
        """Return (pool, first, last block) of the blocks of a size for those who need no type and no memory."""
        return self.catalogue.blocks(_job(None, None, size), size)

    def blocks_of_size(self, size: int) -> Ints:
        """Return the first GPU of every block of a size for those who need no type and no memory."""
        if size not in self._blocks:
            starts = self.catalogue.starts
            self._blocks[size] = np.concatenate([starts[low:high] for _, low, high in self.groups_of_size(size)])
        return self._blocks[size]

    def ordered_starts(self, state: ClusterState) -> Ints:
        """Return the candidate blocks, of every group those first that break the least: the first of equals is taken.

        Nodes that somebody uses, the fullest first, then the nodes of the shortest rows of free ones.
        """
        starts = self.catalogue.starts
        if len(self._segment) != len(starts):
            self._segment = _segments(self.catalogue.block_groups(), starts, apart=4 * len(state.owner))
        rank = ranks_of_nodes(state.usable() | state.stopping, state.first_of_node)
        order = np.argsort(self._segment + rank[self.catalogue.node_of_gpu[starts]], kind="stable")
        ordered: Ints = starts[order]
        return ordered

    def groups_of(self, shapes: Shapes) -> tuple[Ints, Ints, Ints]:
        """Return (G, 4) size, pool, first and last block of groups, and by shape the first group and their number."""
        if len(self._first) < len(shapes.needs):
            for number in range(len(self._first), len(shapes.needs)):
                self._add(shapes.needs[number], shapes.sizes[number])
            group, first, count = (np.array(each, dtype=np.int64) for each in (self._group, self._first, self._count))
            self._arrays = group.reshape(-1, 4), first, count
        return self._arrays

    def _add(self, need: int, sizes: tuple[int, ...]) -> None:
        types, memory = self._examples[need]
        groups = [(size, *group) for size in sizes for group in self.catalogue.blocks(_job(types, memory, size), size)]
        self._first.append(len(self._group))
        self._count.append(len(groups))
        self._group += groups


def _job(gpu_types: tuple[str, ...] | None, gpu_memory_gib: float | None, size: int) -> Job:
    return Job(
        id="job", kind="training", priority=1.0, gpus=GpuRange(min=size, max=size), duration=1, gpu_types=gpu_types,
        gpu_memory_gib=gpu_memory_gib,
    )  # fmt: skip


def _service(request: ServiceRequest) -> Service:
    return Service(
        id=request.id, priority=1.0, demand=(0,), max_swap=1, gpu_types=request.gpu_types,
        gpu_memory_gib=request.gpu_memory_gib,
    )  # fmt: skip


def _segments(groups: list[tuple[int, int, int]], starts: Ints, apart: int) -> Ints:
    """Return a number for each of `starts`, in steps of `apart`: sorting keeps each group's blocks together.

    What are no blocks stay where they are.
    """
    segment = np.arange(len(starts), dtype=np.int64)
    for _, low, high in groups:
        segment[low:high] = low
    return segment * apart


def _template(state: ClusterState, settings: HorizonSettings) -> Problem:
    """Return a problem with the cluster alone: the search asks it for nothing else."""
    service = Service(id="service", priority=1.0, demand=(0,) * settings.steps, max_swap=1)
    cluster: Cluster = state.cluster
    return Problem(name="horizon", horizon=Horizon(steps=settings.steps), cluster=cluster, services=(service,))


def _kept(services: Ints, held: Ints, ends: Ints, catalogue: Catalogue, steps: int) -> Ints:
    """Return (S, P, T) the GPUs of every pool that a service cannot have given back yet (R4)."""
    least = services[:, HELD : HELD + 1] - services[:, MAX_SWAP : MAX_SWAP + 1] * np.arange(1, steps + 1)
    bound = np.maximum(0, least)
    if catalogue.pools == 1:
        return bound[:, None, :]
    kept = np.empty((len(services), catalogue.pools, steps), dtype=np.int64)
    for row in range(len(services)):
        for pool in range(catalogue.pools):
            idle = np.bincount(ends[(held == row) & (catalogue.pool_of_gpu == pool)], minlength=steps + 1)
            kept[row, pool] = np.minimum(bound[row], np.cumsum(idle)[:steps])
            bound[row] -= kept[row, pool]
    return kept
