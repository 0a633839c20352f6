"""The judge: checks a plan against the five rules and recomputes its metrics, sharing no code with the policies."""

from loadfactor.judge.claims import ClaimedDifference, claimed_differences
from loadfactor.judge.court import judge
from loadfactor.judge.verdict import Rule, Verdict, Violation

__all__ = ["ClaimedDifference", "Rule", "Verdict", "Violation", "claimed_differences", "judge"]
