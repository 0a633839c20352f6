"""The proven optimum of a small problem, for the makers of scenarios only: nothing here is a policy.

Counts first (which job starts when at which size, how many GPUs each service holds): their optimum is an upper bound on
the value of every legal plan. Then positions for exactly those counts; where they exist, the bound is the optimum.
The model is for problems of one node size, without running jobs, held GPUs or unavailable cells.
"""

from __future__ import annotations

from dataclasses import dataclass

from ortools.sat.python import cp_model

from loadfactor.model import Job, Problem, admissible_sizes, suits

SCALE = 10_000
Starts = dict[str, tuple[int, int]]
Choices = dict[tuple[str, int, int], cp_model.IntVar]
Terms = list[cp_model.LinearExpr]
Load = list[Terms]


@dataclass(frozen=True)
class Optimum:
    """An optimal plan in counts: (start, size) of each placed job, GPUs of each service by step."""

    value: float
    starts: Starts
    held: tuple[tuple[int, ...], ...]
    cells: int

    def finished(self) -> int:
        """Return how many jobs are placed, which is how many finish: every job ends inside the horizon."""
        return len(self.starts)


def _solver(seconds: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    return solver


def optimum_in_counts(problem: Problem, seconds: float) -> Optimum | None:
    """Return the optimum in counts, or None where `seconds` do not suffice to prove it."""
    model = cp_model.CpModel()
    load: Load = [[] for _ in range(problem.horizon.steps)]
    reward: Terms = []
    choices: Choices = {}
    for job in problem.jobs:
        if any(suits(job, node) for node in problem.cluster.nodes):
            choices |= _job(model, problem, job, load, reward)
    held = _services(model, problem, load, reward)
    for terms in load:
        model.add(sum(terms) <= problem.cluster.gpu_count)
    model.maximize(sum(reward))
    solver = _solver(seconds)
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    return _read(problem, solver, choices, held)


def _job(model: cp_model.CpModel, problem: Problem, job: Job, load: Load, reward: Terms) -> Choices:
    """Add the choice of at most one start and size (R2), with its load and its reward."""
    steps, decay = problem.horizon.steps, problem.objective.decay
    choices: Choices = {}
    for size in admissible_sizes(problem.cluster, job.gpus):
        duration = job.duration_at(size)
        for start in range(job.submit, steps - duration + 1):
            chosen = choices[job.id, start, size] = model.new_bool_var("")
            for step in range(start, start + duration):
                load[step].append(size * chosen)
            worth = job.priority * size * sum(decay**step for step in range(start, start + duration))
            reward.append(round(SCALE * worth) * chosen)
    model.add_at_most_one(choices.values())
    return choices


def _services(
    model: cp_model.CpModel,
    problem: Problem,
    load: Load,
    reward: Terms,
) -> list[list[cp_model.IntVar]]:
    """Add what each service holds at every step (R4 in counts) and the penalty of its shortfall."""
    held = []
    for service in problem.services:
        most = min(problem.cluster.gpu_count, max(service.demand))
        counts = [model.new_int_var(0, most, "") for _ in service.demand]
        penalty = round(SCALE * problem.objective.realtime_penalty * service.priority)
        for step, (count, demand) in enumerate(zip(counts, service.demand, strict=True)):
            shortfall = model.new_int_var(0, demand, "")
            model.add(shortfall >= demand - count)
            reward.append(-penalty * shortfall)
            load[step].append(count)
            if step:
                model.add_linear_constraint(count - counts[step - 1], -service.max_swap, service.max_swap)
        held.append(counts)
    return held


def _read(
    problem: Problem,
    solver: cp_model.CpSolver,
    choices: Choices,
    held: list[list[cp_model.IntVar]],
) -> Optimum:
    starts = {job: (start, size) for (job, start, size), chosen in choices.items() if solver.value(chosen)}
    counts = tuple(tuple(solver.value(count) for count in service) for service in held)
    jobs = {job.id: job for job in problem.jobs}
    decay = problem.objective.decay
    value, cells = 0.0, 0
    for name, (start, size) in starts.items():
        duration = jobs[name].duration_at(size)
        cells += size * duration
        value += jobs[name].priority * size * sum(decay**step for step in range(start, start + duration))
    for service, mine in zip(problem.services, counts, strict=True):
        shortfall = sum(max(0, demand - count) for demand, count in zip(service.demand, mine, strict=True))
        cells += sum(service.demand) - shortfall
        value -= problem.objective.realtime_penalty * service.priority * shortfall
    return Optimum(value, starts, counts, cells)


def has_positions(problem: Problem, optimum: Optimum, seconds: float) -> bool:
    """Return whether blocks (R3) and GPUs (R1, R4) are found for exactly these counts within `seconds`."""
    model = cp_model.CpModel()
    gpus, steps = problem.cluster.gpu_count, problem.horizon.steps
    taken: list[list[list[cp_model.IntVar]]] = [[[] for _ in range(gpus)] for _ in range(steps)]
    durations = {job.id: job.duration_at for job in problem.jobs}
    for name, (start, size) in optimum.starts.items():
        end = start + durations[name](size)
        blocks = [(first, model.new_bool_var("")) for first in _block_starts(problem, size)]
        model.add_exactly_one([chosen for _, chosen in blocks])
        for first, chosen in blocks:
            for step in range(start, end):
                for gpu in range(first, first + size):
                    taken[step][gpu].append(chosen)
    for service, counts in zip(problem.services, optimum.held, strict=True):
        _place_service(model, service.max_swap, counts, gpus, taken)
    for row in taken:
        for cell in row:
            model.add_at_most_one(cell)
    return _solver(seconds).solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def _block_starts(problem: Problem, size: int) -> list[int]:
    """Return the first GPUs of the blocks of `size`: inside a node, or whole consecutive nodes."""
    node, gpus = problem.cluster.nodes[0].gpus, problem.cluster.gpu_count
    if size > node:
        return list(range(0, gpus - size + 1, node))
    return [first for first in range(gpus - size + 1) if first // node == (first + size - 1) // node]


def _place_service(
    model: cp_model.CpModel, max_swap: int, counts: tuple[int, ...], gpus: int, taken: list[list[list[cp_model.IntVar]]]
) -> None:
    before: list[cp_model.IntVar] | None = None
    for step, count in enumerate(counts):
        now = [model.new_bool_var("") for _ in range(gpus)]
        model.add(sum(now) == count)
        for gpu, holds in enumerate(now):
            taken[step][gpu].append(holds)
        if before is not None:
            swaps = []
            for old, new in zip(before, now, strict=True):
                swapped = model.new_bool_var("")
                model.add(swapped >= new - old)
                model.add(swapped >= old - new)
                swaps.append(swapped)
            model.add(sum(swaps) <= max_swap)
        before = now
