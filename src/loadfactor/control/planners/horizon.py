"""The rolling horizon: the state of a cluster at a moment as the arrays that the search of `fast` reads.

Step 0 is the step that contains the moment. A running job is busy until the end of the step in which it is expected to
end, and a job that starts now counts from the beginning of step 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.control.planners.queue import Columns
from loadfactor.control.planners.way import ranks_of_nodes
from loadfactor.control.records import ServiceRecord
from loadfactor.control.state import FREE, ClusterState
from loadfactor.model import Cluster, GpuRange, Horizon, Job, Problem, Service
from loadfactor.policies.catalogue import Catalogue, catalogue_of
from loadfactor.policies.compiled import making_kernel
from loadfactor.policies.draft import decay_weights
from loadfactor.policies.instance import Instance
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
def free_by_step(ends: Ints, steps: int) -> Ints:
    """Return (1, T) how many GPUs are free at each step."""
    free = np.zeros((1, steps), dtype=np.int64)
    for gpu in range(len(ends)):
        if ends[gpu] < steps:
            free[0, ends[gpu]] += 1
    for step in range(1, steps):
        free[0, step] += free[0, step - 1]
    return free


class RollingHorizon:
    """Builds instances for one cluster and its services, moment by moment."""

    def __init__(self, state: ClusterState, settings: HorizonSettings) -> None:
        self.settings = settings
        self._problem = _template(state, settings)
        catalogue = catalogue_of(self._problem)
        self._catalogue = catalogue
        self._blocks = _blocks(state, catalogue, self._problem)
        self._weight = np.array(
            decay_weights(settings.steps, settings.hourly_decay ** (state.step_seconds / 3600)), dtype=np.float64
        )
        self._suitable = catalogue.gpus(self._problem.services[0])
        self._starts = catalogue.starts
        self._node_of_start = catalogue.node_of_gpu[self._starts]
        self._segment = _segments(self._blocks, self._starts, apart=4 * len(state.owner))

    def instance(
        self, state: ClusterState, rows: Ints, columns: Columns, worth: Floats, free_at: Floats, demand: Ints | None
    ) -> Instance:
        """Return the arrays for the jobs of `rows`, the dearest first by `worth`, and the services' `demand` (S, T).

        Without `demand` services keep for ever what they hold, and the instance has none.
        """
        steps, catalogue = self.settings.steps, self._catalogue
        ends = self._ends(state, free_at, keep=demand is None)
        jobs, options = self._jobs(state, rows, columns)
        services, held = self._services(state, state.services if demand is not None else [])
        price = np.array(
            [self.settings.realtime_penalty * each.request.priority for each in state.services[: len(services)]]
        )
        reward = worth * options[:, 0]
        return Instance(
            problem=self._problem,
            steps=steps,
            waiting=[],
            running=[],
            grid=with_summary(busy_until(ends, steps), catalogue.first_of_node),
            node_of_gpu=catalogue.node_of_gpu,
            first_of_node=catalogue.first_of_node,
            pool_of_gpu=catalogue.pool_of_gpu,
            free=free_by_step(ends, steps),
            jobs=jobs,
            options=options,
            density=worth,
            mean_worth=float(reward.mean() * 6) if len(reward) else 1.0,
            reward=reward,
            starts=self._starts_for(state),
            weight=self._weight,
            services=services,
            demand=np.empty((0, steps), dtype=np.int64) if demand is None else demand,
            price=price,
            by_price=np.argsort(-price, kind="stable"),
            service_pools=np.ones((len(services), 1), dtype=np.bool_),
            kept=_kept(services, steps),
            held=held,
        )

    def blocks_of(self, size: int) -> Ints:
        """Return the first GPU of every block of an admissible size."""
        _, low, high = self._blocks[size]
        return self._starts[low:high]

    def _starts_for(self, state: ClusterState) -> Ints:
        """Return the candidate blocks, of every size those first that break the least: the first of equals is taken.

        Nodes that somebody uses, the fullest first, then the nodes of the shortest rows of free ones.
        """
        rank = ranks_of_nodes(state.usable() | state.stopping, state.first_of_node)
        order = np.argsort(self._segment + rank[self._node_of_start], kind="stable")
        ordered: Ints = self._starts[order]
        return ordered

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

    def _jobs(self, state: ClusterState, rows: Ints, columns: Columns) -> tuple[Ints, Ints]:
        steps, count = self.settings.steps, len(rows)
        size, duration = columns.size.of(rows), self.durations(state, rows, columns)
        last = np.where(np.arange(count) < self.settings.depth, steps - 1, 0)
        options = np.column_stack([size, duration, last, self._blocks[size]])
        numbers = np.arange(count)
        jobs = np.column_stack([np.zeros(count, dtype=np.int64), numbers, numbers + 1])
        return jobs, options

    def durations(self, state: ClusterState, rows: Ints, columns: Columns) -> Ints:
        """Return the steps that the jobs of `rows` are expected to take."""
        return np.maximum(1, np.ceil(columns.run_seconds.of(rows) / state.step_seconds)).astype(np.int64)

    def blocks(self, size: int) -> tuple[int, int]:
        """Return where the candidate blocks of a size begin and end among the instances' `starts`."""
        _, first, last = self._blocks[size].tolist()
        return first, last

    def _services(self, state: ClusterState, services: list[ServiceRecord]) -> tuple[Ints, Ints]:
        gpus = len(state.owner)
        first, last = self._suitable
        rows = np.empty((len(services), 5), dtype=np.int64)
        held = np.full(gpus, UNKNOWN, dtype=np.int64)
        for service in services:
            holding = np.flatnonzero(state.held_by(service))
            most = gpus if service.request.max_gpus is None else min(gpus, service.request.max_gpus)
            rows[service.row] = service.request.max_swap, most, len(holding), first, last
            held[holding] = service.row
        return rows, held


def _segments(blocks: Ints, starts: Ints, apart: int) -> Ints:
    """Return a number for each of `starts`, in steps of `apart`: sorting keeps each size's blocks together.

    What are no blocks stay where they are.
    """
    segment = np.arange(len(starts), dtype=np.int64)
    for _, low, high in blocks.tolist():
        segment[low:high] = low
    return segment * apart


def _template(state: ClusterState, settings: HorizonSettings) -> Problem:
    """Return a problem with the cluster alone, for the catalogue of blocks."""
    service = Service(id="service", priority=1.0, demand=(0,) * settings.steps, max_swap=1)
    cluster: Cluster = state.cluster
    return Problem(name="horizon", horizon=Horizon(steps=settings.steps), cluster=cluster, services=(service,))


def _blocks(state: ClusterState, catalogue: Catalogue, problem: Problem) -> Ints:
    """Return (N + 1, 3) pool, first and last block of every admissible size."""
    blocks = np.zeros((len(state.owner) + 1, 3), dtype=np.int64)
    for size in state.block_sizes.sizes:
        job = Job(id="job", kind="training", priority=1.0, gpus=GpuRange(min=size, max=size), duration=1)
        (group,) = catalogue.blocks(job, size)
        blocks[size] = group
    return blocks


def _kept(services: Ints, steps: int) -> Ints:
    """Return (S, 1, T) the GPUs that a service cannot have given back yet (R4)."""
    least = services[:, 2:3] - services[:, 0:1] * np.arange(1, steps + 1)
    return np.maximum(0, least)[:, None, :]
