"""Checkers that stand outside: from the story of a run they recompute who may hold what, and who held what when.

They share no code with the engines and the control loop, and read the story as plain text.
"""

from loadfactor.engines.checkers.promises import Promises
from loadfactor.engines.checkers.recount import JobTally, Recount, recount
from loadfactor.engines.checkers.story import Entry, Facts, Outage, Story

__all__ = ["Entry", "Facts", "JobTally", "Outage", "Promises", "Recount", "Story", "recount"]
