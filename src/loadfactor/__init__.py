"""The public names of loadfactor; each is imported when it is first used, so that `import loadfactor` costs nothing.

>>> import loadfactor
>>> problem = loadfactor.read_problem("problem.yaml")  # doctest: +SKIP
>>> plan = loadfactor.allocate(problem)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loadfactor.allocator import Decision, allocate, decide
    from loadfactor.errors import Fault, InputError, LoadfactorError, UnknownPolicyError
    from loadfactor.judge import Verdict
    from loadfactor.judge import judge as check
    from loadfactor.model import (
        Cluster,
        Horizon,
        Job,
        Node,
        Objective,
        Plan,
        Problem,
        Service,
        read_plan,
        read_problem,
        write_document,
    )
    from loadfactor.policies import Effort, Policy, policy_names

_HOMES = {
    "loadfactor.allocator": ("Decision", "allocate", "decide"),
    "loadfactor.errors": ("Fault", "InputError", "LoadfactorError", "UnknownPolicyError"),
    "loadfactor.judge": ("Verdict", "judge as check"),
    "loadfactor.model": (
        *("Cluster", "Horizon", "Job", "Node", "Objective", "Plan", "Problem", "Service"),
        *("read_plan", "read_problem", "write_document"),
    ),
    "loadfactor.policies": ("Effort", "Policy", "policy_names"),
}
_HOME_OF = {
    entry.split(" as ")[-1]: (module, entry.split(" as ")[0]) for module, entries in _HOMES.items() for entry in entries
}

__all__ = [
    "Cluster",
    "Decision",
    "Effort",
    "Fault",
    "Horizon",
    "InputError",
    "Job",
    "LoadfactorError",
    "Node",
    "Objective",
    "Plan",
    "Policy",
    "Problem",
    "Service",
    "UnknownPolicyError",
    "Verdict",
    "allocate",
    "check",
    "decide",
    "policy_names",
    "read_plan",
    "read_problem",
    "write_document",
]


def __getattr__(name: str) -> Any:
    try:
        module, original = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module 'loadfactor' has no attribute {name!r}") from None
    found = getattr(import_module(module), original)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
