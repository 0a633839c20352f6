"""What more GPUs are worth, under the baseline and under the allocator, and what one more is worth at each step."""

from loadfactor.worth.assessing import worth
from loadfactor.worth.findings import GpuPrice, GrowthPoint, Match, Order, Outcome, Worth

__all__ = ["GpuPrice", "GrowthPoint", "Match", "Order", "Outcome", "Worth", "worth"]
