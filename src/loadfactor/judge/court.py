"""The judge's one function: a problem and a plan in, a verdict out."""

from __future__ import annotations

import numpy as np

from loadfactor.judge.evidence import gather
from loadfactor.judge.r1 import r1_one_holder_per_cell, unavailable_grid
from loadfactor.judge.r2 import r2_demands_respected
from loadfactor.judge.r3_to_r5 import r3_contiguous_blocks, r4_swap_cap, r5_never_interrupted
from loadfactor.judge.scoring import metrics_of
from loadfactor.judge.verdict import Verdict
from loadfactor.model import Plan, Problem


def judge(problem: Problem, plan: Plan) -> Verdict:
    """Return every violation of R1 to R5 in `plan` and its recomputed metrics, whatever the plan claims.

    Only the cells of the horizon are judged: what a job does behind it (`finish_inside: false`) is for a later plan.
    """
    evidence = gather(problem, plan)
    grid = unavailable_grid(problem)
    unavailable_cells = int(np.count_nonzero(grid)) if problem.cluster.unavailable else 0
    violations = (
        *r1_one_holder_per_cell(evidence, grid),
        *r2_demands_respected(evidence),
        *r3_contiguous_blocks(evidence),
        *r4_swap_cap(evidence),
        *r5_never_interrupted(evidence),
    )
    return Verdict(violations, metrics_of(evidence, unavailable_cells))
