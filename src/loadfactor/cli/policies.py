"""`loadfactor policies`: which policies there are, and which package brings each."""

from __future__ import annotations

import json
import sys
from typing import Any

from loadfactor.cli.console import answers
from loadfactor.cli.options import Format, FormatOption


def policies(format_: FormatOption = Format.TABLE) -> None:
    """List the policies that are installed, ours and those of other packages, and whether each can be loaded."""
    rows = [_row(name) for name in _names()]
    if format_ is Format.JSON:
        sys.stdout.write(json.dumps({"policies": rows}, indent=1) + "\n")
        return
    from rich.markup import escape

    from loadfactor.cli.tables import table

    made = table("Policies", ("name", "from", "what it does"))
    for row in rows:
        made.add_row(*(escape(str(row[column])) for column in ("name", "package", "summary")))
    answers().print(made)


def _names() -> list[str]:
    from loadfactor.policies import policy_names

    return policy_names()


def _row(name: str) -> dict[str, Any]:
    from loadfactor.errors import UnknownPolicyError
    from loadfactor.policies import policy

    try:
        maker = type(policy(name))
    except UnknownPolicyError as error:
        return {"name": name, "package": "", "loads": False, "summary": f"does not load: {error}"}
    lines = (maker.__doc__ or "").strip().splitlines()
    package = maker.__module__.partition(".")[0]
    return {"name": name, "package": package, "loads": True, "summary": lines[0] if lines else ""}
