"""How the tests of the model name what they expect: each fault as the line that a user reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.model import Plan, Problem
from tests.support.examples import PLAN, problem_document

Document = dict[str, Any]


def faults_of(make: Callable[[], object]) -> list[str]:
    """Return every fault that `make` is refused for, as it is shown."""
    with pytest.raises(InputError) as refusal:
        make()
    return [str(fault) for fault in refusal.value.faults]


def problem_faults(**parts: Any) -> list[str]:
    """Return the faults of the small problem with other parts."""
    return faults_of(lambda: Problem.from_document(problem_document(**parts)))


def plan_faults(**parts: Any) -> list[str]:
    """Return the faults of the small plan with other parts."""
    return faults_of(lambda: Plan.from_document({**PLAN, **parts}))
