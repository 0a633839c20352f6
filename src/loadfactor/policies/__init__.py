"""Policies make plans. The registry finds them by name; none of them is imported before it is asked for."""

from loadfactor.policies.protocol import DEFAULT_EFFORT, Effort, Policy, Progress, relative_gap
from loadfactor.policies.registry import policy, policy_names, require_policy

__all__ = ["DEFAULT_EFFORT", "Effort", "Policy", "Progress", "policy", "policy_names", "relative_gap", "require_policy"]
