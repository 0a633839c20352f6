"""The week that the package ships: reproduced from its script, byte for byte."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from loadfactor.audit.demo import demo_directory

SCRIPT = Path(__file__).parents[2] / "tools" / "make_demo_week.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_demo_week", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def unpacked(content: bytes) -> bytes:
    """Return what is in a gzip: its bytes differ with the library that packed it."""
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def test_the_script_reproduces_the_shipped_files_byte_for_byte() -> None:
    made = load_script().made_files()
    assert set(made) == {path.name for path in demo_directory().iterdir()}
    for name, content in made.items():
        assert unpacked((demo_directory() / name).read_bytes()) == unpacked(content), name
