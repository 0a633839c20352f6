"""The nouns of loadfactor, frozen and validated at birth, and the two documents that carry them."""

from loadfactor.model.cluster import BlockSizes, Cluster, Node, Unavailable
from loadfactor.model.documents import (
    parse_document,
    read_document,
    read_plan,
    read_problem,
    to_json,
    write_document,
)
from loadfactor.model.horizon import Horizon, Objective
from loadfactor.model.plan import Metrics, Placement, Plan, ServiceAllocation, Unplaced
from loadfactor.model.problem import Problem
from loadfactor.model.sizes import admissible_sizes
from loadfactor.model.workload import GpuRange, Job, Kind, Running, Service, suits

__all__ = [
    "BlockSizes",
    "Cluster",
    "GpuRange",
    "Horizon",
    "Job",
    "Kind",
    "Metrics",
    "Node",
    "Objective",
    "Placement",
    "Plan",
    "Problem",
    "Running",
    "Service",
    "ServiceAllocation",
    "Unavailable",
    "Unplaced",
    "admissible_sizes",
    "parse_document",
    "read_document",
    "read_plan",
    "read_problem",
    "suits",
    "to_json",
    "write_document",
]
