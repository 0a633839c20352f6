"""The site builds without a warning: every link between pages, every directive, every docstring it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.style.source import ROOT


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-b", "html", "-d", str(tmp_path / "doctrees")]
    arguments = [sys.executable, "-m", "sphinx", *options, "docs", str(tmp_path / "html")]
    built = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "html" / "index.html").is_file()
