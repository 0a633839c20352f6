"""The sources of the project as the style tests see them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "loadfactor"
PARTS = ("src", "tests", "docs", "tools", "benchmarks")
SKIPPED = {".venv", "build", "dist", "out", "_build", "__pycache__", "__snapshots__"}
TEXT_SUFFIXES = {
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
    ".json",
    ".csv",
    ".html",
    ".js",
    ".css",
    ".svg",
    ".ambr",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def python_files() -> tuple[Path, ...]:
    """Return every Python file of the project, sorted."""
    found = [path for part in PARTS for path in (ROOT / part).rglob("*.py")]
    return tuple(sorted(path for path in found if not SKIPPED.intersection(path.parts)))


@cache
def text_files() -> tuple[Path, ...]:
    """Return every text file of the project, sorted."""
    inside = (path for part in (*PARTS, ".ci") for path in (ROOT / part).rglob("*"))
    found = [path for path in (*ROOT.iterdir(), *inside) if path.is_file()]
    plain = [path for path in found if path.suffix in TEXT_SUFFIXES or path.name in {"Makefile", "run"}]
    return tuple(sorted(path for path in plain if not SKIPPED.intersection(path.parts)))


def name_of(path: Path) -> str:
    """Return the path from the project's root, the same on every machine."""
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    """Yield every function of a file with its name, classes and enclosing functions in front of it."""
    yield from _functions_in(parsed(path), "")


def lines_of(function: Function) -> int:
    """Return the lines from `def` to the last of the body; the docstring is free."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    free = (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - free


def _functions_in(tree: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield prefix + node.name, node
        if isinstance(node, Function | ast.ClassDef):
            yield from _functions_in(node, f"{prefix}{node.name}.")
        else:
            yield from _functions_in(node, prefix)
