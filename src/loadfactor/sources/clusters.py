"""Describing a cluster: a document, or a line such as `16x8:H100-80GB` (nodes x GPUs each, and their type)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from loadfactor.errors import Fault, InputError
from loadfactor.model import Cluster, limits, read_document
from loadfactor.model.faults import faults_of

MEMORY_GIB: Mapping[str, float] = MappingProxyType(
    {
        "P100-16GB": 16,
        "V100-16GB": 16,
        "V100-32GB": 32,
        "T4": 16,
        "A10": 24,
        "L4": 24,
        "L40S": 48,
        "A100-40GB": 40,
        "A100-80GB": 80,
        "H100-80GB": 80,
        "H100-94GB": 94,
        "H200-141GB": 141,
        "B200-180GB": 180,
        "MI250X": 128,
        "MI300X": 192,
    }
)
"""The memory that the makers state for each GPU (NVIDIA's data sheets, AMD's Instinct pages): the nominal capacity, of
which drivers report a little less. A type that is not here needs its memory stated: `4x8:NEW/96`."""

_PART = re.compile(r"(?P<nodes>\d{1,6})x(?P<gpus>\d{1,6})(?::(?P<type>[^/,:]+)(?:/(?P<memory>\d+(?:\.\d+)?))?)?")


def is_spec(text: str) -> bool:
    """Return whether `text` is meant as a line such as 16x8:H100-80GB rather than the name of a file."""
    return re.match(r"\d+x\d+", text) is not None


def parse_cluster(spec: str, path: str = "cluster") -> Cluster:
    """Return the cluster that a line describes: `NODESxGPUS[:TYPE[/GIB]]`, several joined by commas.

    Nodes are named node-0, node-1, … through all parts. Memory comes from `MEMORY_GIB` unless it is stated. Raises
    `InputError`, its paths starting with `path`, for a part that does not fit and a number that the model refuses.
    """
    parts = [part.strip() for part in spec.split(",")]
    matches = [_PART.fullmatch(part) for part in parts]
    faults = [
        Fault(path, f"{part!r} is no part of a cluster", "write NODESxGPUS[:TYPE[/GIB]], such as 16x8:H100-80GB")
        for part, match in zip(parts, matches, strict=True)
        if match is None
    ]
    if faults:
        raise InputError(faults)
    groups = [match.groupdict() for match in matches if match]
    count = sum(int(group["nodes"]) for group in groups)
    if count > limits.MAX_NODES:
        raise InputError.of(path, f"{count} nodes, and at most {limits.MAX_NODES} are accepted", "split the cluster")
    shapes = [shape for group in groups for shape in [_node_shape(group)] * int(group["nodes"])]
    width = len(str(max(len(shapes) - 1, 0)))
    nodes = [{"name": f"node-{index:0{width}d}", **shape} for index, shape in enumerate(shapes)]
    return cluster_of({"nodes": nodes}, path)


def read_cluster(path: str | Path) -> Cluster:
    """Return the cluster in a YAML or JSON document; raise `InputError` with every fault."""
    return cluster_of(read_document(path), str(path))


def cluster_of(document: Any, prefix: str = "cluster") -> Cluster:
    """Return the cluster that plain mappings and lists describe; raise `InputError` with every fault."""
    try:
        return Cluster.model_validate(document)
    except ValidationError as error:
        raise InputError(faults_of(error, prefix)) from None


def _node_shape(group: Mapping[str, str | None]) -> dict[str, Any]:
    shape: dict[str, Any] = {"gpus": int(group["gpus"] or 0)}
    if group["type"] is not None:
        stated = group["memory"]
        memory = float(stated) if stated is not None else MEMORY_GIB.get(group["type"])
        shape |= {"gpu_type": group["type"]} | ({} if memory is None else {"gpu_memory_gib": float(memory)})
    return shape
