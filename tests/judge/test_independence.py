"""The judge shares nothing with the policies, not even the model's own idea of which blocks are admissible."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import loadfactor.judge

FILES = sorted(Path(loadfactor.judge.__file__).parent.glob("*.py"))
ALLOWED = {"loadfactor.model", "loadfactor.errors", "loadfactor.units", "numpy"}
FORBIDDEN_NAMES = {"admissible_sizes", "suits"}


def imports(path: Path) -> list[tuple[str, str]]:
    """Return every module that a file imports from, with the name that it takes."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = [(name.name, "") for node in nodes if isinstance(node, ast.Import) for name in node.names]
    taken = [
        (node.module or "", name.name) for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names
    ]
    return plain + taken


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_judge_stands_alone(path: Path) -> None:
    for module, name in imports(path):
        ours = module.startswith("loadfactor.judge") or module in ALLOWED
        assert ours or module.partition(".")[0] in sys.stdlib_module_names, module
        assert name not in FORBIDDEN_NAMES, f"{module}.{name}"


def test_the_files_are_found() -> None:
    assert len(FILES) >= 8
