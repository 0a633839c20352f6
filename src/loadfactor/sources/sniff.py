"""What a file looks like: one question for each kind, for a refusal that says what was given instead.

Each `is_…` looks at the text alone and is cheap: it may be wrong about a file that imitates another kind, so that a
reader still checks everything itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NoReturn

from loadfactor.errors import InputError

_HEAD_LINES = 40
_HEAD_CHARACTERS = 20_000
_SAMPLE = re.compile(r"[A-Za-z_:][\w:]*\s*(\{.*\})?\s+[-+]?(\d[\d.eE+-]*|(?i:nan|inf))(\s+-?\d+)?\s*")
_SHORT_CLUSTER = re.compile(r"\d{1,6}x\d{1,6}(:[^\s,|]+)?(\s*,\s*\d{1,6}x\d{1,6}(:[^\s,|]+)?)*")
_XID = re.compile(r"NVRM: Xid \(")
_JOBS = re.compile(r'"jobs"\s*:\s*\[')
_NODES = re.compile(r'"(nodes|sinfo)"\s*:\s*\[')
_OPENAPI = re.compile(r'"(openapi\\?/[\w.]+|data_parser\\?/[\w.]+)"')


def is_json(text: str) -> bool:
    """Return whether the text begins like a JSON object or list."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") and not _SHORT_CLUSTER.fullmatch(text.strip())


def is_slurm_jobs_json(text: str) -> bool:
    """Return whether it looks like the jobs of `sacct --json`, `squeue --json` or slurmrestd."""
    return (
        is_json(text) and _JOBS.search(text) is not None and ('"job_id"' in text or _OPENAPI.search(text) is not None)
    )


def is_slurm_nodes_json(text: str) -> bool:
    """Return whether it looks like the nodes of `sinfo --json`, `scontrol show node --json` or slurmrestd."""
    known = '"gres_used"' in text or '"slurmd_start_time"' in text or _OPENAPI.search(text) is not None
    return is_json(text) and _NODES.search(text) is not None and not is_slurm_jobs_json(text) and known


def is_slurm_json(text: str) -> bool:
    """Return whether it looks like any document of Slurm's REST interface, such as partitions or accounts."""
    return is_json(text) and _OPENAPI.search(text) is not None


def is_scontrol_nodes(text: str) -> bool:
    """Return whether it looks like `scontrol show node`, with or without `--oneliner`."""
    return re.match(r"\s*NodeName=\S", text.lstrip("\ufeff")) is not None


def is_short_cluster(text: str) -> bool:
    """Return whether it is a line such as `16x8:H100-80GB,2x4:A100-40GB`."""
    return len(text) < _HEAD_CHARACTERS and _SHORT_CLUSTER.fullmatch(text.strip()) is not None


def is_prometheus_text(text: str) -> bool:
    """Return whether it looks like a scrape in Prometheus' text format, such as a DCGM exporter gives."""
    lines = [line.strip() for line in text[:_HEAD_CHARACTERS].splitlines()[:_HEAD_LINES] if line.strip()]
    found = [line for line in lines if line.startswith(("# HELP ", "# TYPE ")) or _SAMPLE.fullmatch(line)]
    return bool(found) and 2 * len(found) >= len(lines)


def is_prometheus_json(text: str) -> bool:
    """Return whether it looks like an answer of Prometheus' query or query_range."""
    return is_json(text) and '"status"' in text and ('"resultType"' in text or '"errorType"' in text)


def is_kubernetes_json(text: str) -> bool:
    """Return whether it looks like `kubectl get … -o json`: one object or a list of objects."""
    return is_json(text) and '"apiVersion"' in text and '"kind"' in text


def is_sacct_text(text: str) -> bool:
    """Return whether it looks like a table of sacct with its header line."""
    header = text.lstrip("\ufeff").partition("\n")[0].lower()
    words = set(re.split(r"[|,;\s]+", header))
    return bool({"jobid", "jobidraw"} & words) and len({"state", "start", "submit", "elapsed", "alloctres"} & words) > 1


def is_kernel_log(text: str) -> bool:
    """Return whether it holds a line of a kernel log about an NVIDIA GPU's error."""
    return _XID.search(text) is not None and not text.lstrip().startswith(("{", "[{"))


KINDS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "a short form of a cluster": is_short_cluster,
        "a kernel log with XID errors": is_kernel_log,
        "an answer of Prometheus": is_prometheus_json,
        "objects of Kubernetes": is_kubernetes_json,
        "jobs of Slurm in JSON": is_slurm_jobs_json,
        "nodes of Slurm in JSON": is_slurm_nodes_json,
        "another document of Slurm in JSON": is_slurm_json,
        "JSON of another kind": is_json,
        "scontrol show node": is_scontrol_nodes,
        "a table of sacct": is_sacct_text,
        "a scrape in Prometheus' text format": is_prometheus_text,
    }
)
"""Every kind in the words of a message, in the order in which they are asked: the narrower before the wider."""


def looks_like(text: str) -> str | None:
    """Return the kind (one of `KINDS`) that the text looks like, or None."""
    return next((kind for kind, asks in KINDS.items() if asks(text)), None)


def refuse(text: str, name: str, expected: str) -> NoReturn:
    """Raise `InputError`: the text is not what is `expected`, and what it looks like."""
    kind = looks_like(text)
    if not text.strip():
        fact = "is empty"
    elif kind is None:
        fact = "looks like nothing that is known here"
    elif kind == expected:
        fact = f"begins like {kind}, and breaks off or is damaged"
    else:
        fact = f"looks like {kind}"
    raise InputError.of(name, f"{fact}; expected {expected}", "choose the other file, or fetch it again")
