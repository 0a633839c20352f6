"""Collects the examples of the pages as tests; those of one page stay together and in order."""

from __future__ import annotations

import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from tests.docs.examples import FLAGS, enter_directory, files, leave_directory, run_console

pytest_collect_file = Sybil(
    parsers=[files, PythonCodeBlockParser(doctest_optionflags=FLAGS), CodeBlockParser("console", run_console)],
    patterns=["*.md"],
    excludes=["_build/**"],
    setup=enter_directory,
    teardown=leave_directory,
).pytest()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the blocks of a page on one worker: each builds on those before it."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
