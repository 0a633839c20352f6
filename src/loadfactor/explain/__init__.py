"""Why every job and service is where a plan has it, who is in the way, and which verified change would help."""

from loadfactor.explain.explaining import explain
from loadfactor.explain.findings import (
    BEFORE_THE_HORIZON,
    Blocker,
    Change,
    Explanation,
    JobExplanation,
    MakingWay,
    Opening,
    ServiceExplanation,
    Shortfall,
)

__all__ = [
    "BEFORE_THE_HORIZON",
    "Blocker",
    "Change",
    "Explanation",
    "JobExplanation",
    "MakingWay",
    "Opening",
    "ServiceExplanation",
    "Shortfall",
    "explain",
]
