"""Collects the examples of the pages as tests; each block builds on those before it, so one process runs a page."""

from __future__ import annotations

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
