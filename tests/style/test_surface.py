"""The public surface: exactly these names, each documented, and a package that is imported in no time."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path

import pytest

import loadfactor
from tests.style.source import ROOT, SOURCE, name_of, parsed, python_files

PUBLIC = {
    *("Cluster", "Node", "Horizon", "Objective", "Job", "Service", "Problem", "Plan"),
    *("read_problem", "read_plan", "write_document"),
    *("allocate", "decide", "Decision", "Effort", "Policy", "policy_names"),
    *("check", "Verdict"),
    *("LoadfactorError", "InputError", "Fault", "UnknownPolicyError"),
}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_exactly_these_names_are_public() -> None:
    assert set(loadfactor.__all__) == PUBLIC
    assert list(loadfactor.__all__) == sorted(loadfactor.__all__)
    assert set(dir(loadfactor)) >= PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_has_a_docstring_and_an_example(name: str) -> None:
    assert inspect.getdoc(getattr(loadfactor, name))
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert f"loadfactor.{name}" in page or f" {name}" in page.partition("## Every name")[2]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'allocation'"):
        _ = loadfactor.allocation


def test_importing_the_package_imports_nothing_else() -> None:
    program = "import sys, loadfactor; print(*sorted(name for name in sys.modules if name.startswith('loadfactor')))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["loadfactor"]


@pytest.mark.parametrize("name", sorted(PYPROJECT["project"]["entry-points"]["loadfactor.policies"]))
def test_every_policy_that_we_announce_loads(name: str) -> None:
    (entry,) = entry_points(group="loadfactor.policies", name=name)
    assert entry.value == PYPROJECT["project"]["entry-points"]["loadfactor.policies"][name]
    policy = entry.load()()
    assert policy.name == name


def test_every_library_that_we_import_is_declared() -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    named = [*PYPROJECT["project"]["dependencies"], *extras["ray"]]  # for users; the other extras are for us
    declared = {re.split(r"[<>=\[; ]", name)[0].lower() for name in named}
    distributions = packages_distributions()
    imported = {name for path in python_files() if SOURCE in path.parents for name in _imports(path)}
    foreign = imported - sys.stdlib_module_names - {"loadfactor"}
    assert "numpy" in foreign
    undeclared = {
        name for name in foreign if not declared & {entry.lower() for entry in distributions.get(name, [name])}
    }
    assert undeclared - {"pydantic_core"} == set(), "add it to the dependencies (pydantic brings pydantic_core)"


def test_every_data_file_is_packaged() -> None:
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["loadfactor"]
    packaged = {path for pattern in patterns for path in SOURCE.glob(pattern)}
    data = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc", ".nbi", ".nbc"}}
    assert {name_of(path) for path in data - packaged} == set()


def test_every_library_is_pinned() -> None:
    project = PYPROJECT["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    wanted = {re.split(r"[<>=\[; ]", name)[0].lower() for name in (*project["dependencies"], *extras)}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0].lower() for line in lines if "==" in line}
    assert wanted - pinned == set()


def _imports(path: Path) -> Iterator[str]:
    """Yield the top-level name of everything that a file imports."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
