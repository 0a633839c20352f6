"""One node of Kubernetes: its GPUs, as the device plugin, HAMi and the labels of NVIDIA's operator tell them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from loadfactor.sources.facts import NodeFact
from loadfactor.sources.gpu_names import memory_gib_of
from loadfactor.sources.items import Item
from loadfactor.sources.kubernetes.requests import MIG, WHOLE_GPUS
from loadfactor.sources.kubernetes.values import moment, whole

HAMI_REGISTER = "hami.io/node-nvidia-register"
_PRODUCTS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator")
_POOLS = (
    *("kai.scheduler/node-pool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup"),
    *("kubernetes.azure.com/agentpool", "karpenter.sh/nodepool"),
)
_MIB_PER_GIB = 1024
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True, slots=True)
class _Devices:
    count: int
    memory_mib: float | None
    product: str | None


def node_fact(node: Item) -> NodeFact:
    """Return the fact about a node; raise `InputError` where it cannot be read.

    A GPU that is shared out is counted once: as often as HAMi has registered it, or by the label of its count where
    the device plugin offers it several times over. A node is available when it is Ready and not cordoned.
    """
    metadata, spec, status = node.item("metadata"), node.item("spec"), node.item("status")
    labels = metadata.item("labels")
    name = metadata.text("name")
    if name is None:
        metadata.refuse("name", "the name of a node")
    devices = _devices(metadata, labels, status.item("capacity"))
    ready = _condition(status, "Ready")
    is_ready = ready is not None and ready.text("status") == "True"
    cordoned = spec.fields.get("unschedulable") is True
    states = ("Ready" if is_ready else "NotReady", *(["SchedulingDisabled"] if cordoned else []))
    pool = next((pool for key in _POOLS if (pool := labels.text(key))), None)
    broken = not is_ready and ready is not None
    return NodeFact(
        name=name,
        gpus=devices.count,
        gpu_type=devices.product,
        gpu_memory_gib=_memory_gib(devices, labels),
        partitions=(pool,) if pool else (),
        states=states,
        available=is_ready and not cordoned,
        unavailable_since=_since(ready, spec, is_ready),
        reason=ready.text("reason") if ready is not None and broken else None,
    )


def unhealthy_gpus(node: Item) -> int:
    """Return how many GPUs of a node its device plugin does not offer, because it found them unhealthy."""
    status = node.item("status")
    capacity, allocatable = status.item("capacity"), status.item("allocatable")
    names = [name for name in WHOLE_GPUS if allocatable.has(name)]
    return sum(max(0, whole(capacity, name) - whole(allocatable, name)) for name in names)


def _devices(metadata: Item, labels: Item, capacity: Item) -> _Devices:
    product = next((found for key in _PRODUCTS if (found := labels.text(key))), None)
    registered = _registered(metadata.item("annotations").text(HAMI_REGISTER) or "")
    if registered:
        memory = min((memory for _, memory in registered if memory), default=None)
        return _Devices(len(registered), memory, product or registered[0][0])
    count = sum(whole(capacity, name) for name in WHOLE_GPUS)
    shared = whole(labels, "nvidia.com/gpu.replicas") > 1 and labels.has("nvidia.com/gpu.count")
    count = whole(labels, "nvidia.com/gpu.count") if shared and count else count
    slices = [name for name in capacity.fields if name.startswith(MIG)]
    return _Devices(count + sum(whole(capacity, name) for name in slices), None, product)


def _registered(text: str) -> list[tuple[str | None, float | None]]:
    """Return type and mebibytes of each GPU in HAMi's registration: JSON, or `id,count,memory,cores,type,…:` before."""
    if text.lstrip().startswith("["):
        return _registered_json(text)
    found: list[tuple[str | None, float | None]] = []
    for entry in text.split(":"):
        cells = [cell.strip() for cell in entry.split(",")]
        if len(cells) >= 5 and cells[0].startswith("GPU-"):
            found.append((_without_vendor(cells[4]), float(cells[2]) if cells[2].isdecimal() else None))
    return found


def _registered_json(text: str) -> list[tuple[str | None, float | None]]:
    try:
        entries = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return []
    found: list[tuple[str | None, float | None]] = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            kind, memory = entry.get("type"), entry.get("devmem", 0)
            mebibytes = float(memory) if isinstance(memory, int | float) and 0 < memory < 2**40 else None
            found.append((_without_vendor(kind) if isinstance(kind, str) else None, mebibytes))
    return found


def _without_vendor(product: str) -> str:
    """Return the product without the vendor that HAMi puts before it (`NVIDIA-NVIDIA A40`, `NVIDIA-Tesla P4`)."""
    return product.removeprefix("NVIDIA-")


def _memory_gib(devices: _Devices, labels: Item) -> float | None:
    """Return the nominal memory by the product's name, else what the driver reports."""
    nominal = memory_gib_of(devices.product)
    if nominal is not None:
        return nominal
    reported = devices.memory_mib or float(whole(labels, "nvidia.com/gpu.memory"))
    return reported / _MIB_PER_GIB if reported else None


def _condition(status: Item, kind: str) -> Item | None:
    return next((one for one in status.items("conditions") if one.text("type") == kind), None)


def _since(ready: Item | None, spec: Item, is_ready: bool) -> float | None:
    if not is_ready:
        return None if ready is None else moment(ready, "lastTransitionTime")
    for taint in spec.items("taints"):
        if taint.text("key") == _UNSCHEDULABLE:
            return moment(taint, "timeAdded")
    return None
