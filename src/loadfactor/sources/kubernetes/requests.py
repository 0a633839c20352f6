"""The GPUs that a pod asks for: whole ones, slices (MIG), and shares by KAI's or HAMi's annotations and resources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from loadfactor.errors import InputError
from loadfactor.sources.items import Item
from loadfactor.sources.kubernetes.values import quantity, whole

WHOLE_GPUS = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu")
MIG = "nvidia.com/mig-"
# KAI's annotations (kai-scheduler, pkg/common/constants): a share of a GPU, or mebibytes of its memory.
FRACTION = "gpu-fraction"
FRACTION_MEMORY = "gpu-memory"
FRACTION_DEVICES = "gpu-fraction-num-devices"
# HAMi's resources: of each GPU, mebibytes and percents of memory, and percents of its cores.
_HAMI_MEMORY = "nvidia.com/gpumem"
_HAMI_MEMORY_PERCENT = "nvidia.com/gpumem-percentage"
_HAMI_CORES = "nvidia.com/gpucores"
_PROFILE = re.compile(r"(\d)g\.(\d+)gb")
_SLICES = 7
_SLICES_OF_A30 = 4
_GIB_A_SLICE_OF_A30 = 6


class Asked(Struct, frozen=True, gc=False):
    """`gpus` GPUs or slices of one; `share` is what it takes of each, None where it depends on the GPU's memory.

    `memory_mib` is that memory; `gpu_type` the profile of slices (`1g.10gb`).
    """

    gpus: int = 0
    share: float | None = 1.0
    memory_mib: float | None = None
    gpu_type: str | None = None

    def share_of(self, gpu_memory_mib: float | None) -> float | None:
        """Return the share on a GPU with `gpu_memory_mib` of memory."""
        if self.share is not None or self.memory_mib is None or not gpu_memory_mib:
            return self.share
        return min(1.0, self.memory_mib / gpu_memory_mib)


NOTHING = Asked()


def asked_by(pod: Item) -> Asked:
    """Return what a pod asks for; raise `InputError` where that is no quantity.

    Containers add up. Those of its start run one after another, and count where one of them needs more than all others
    together; those that stay (`restartPolicy: Always`) add up too.
    """
    annotations = pod.item("metadata").item("annotations")
    if annotations.text(FRACTION) is not None or annotations.text(FRACTION_MEMORY) is not None:
        return _of_kai(annotations)
    spec = pod.item("spec")
    containers = list(spec.items("containers"))
    first = list(spec.items("initContainers"))
    staying = [one for one in first if one.text("restartPolicy") == "Always"]
    starting = [one for one in first if one.text("restartPolicy") != "Always"]
    counts = _added(_counts(one) for one in (*containers, *staying))
    for one in starting:
        for name, count in _counts(one).items():
            counts[name] = max(counts.get(name, 0), count)
    gpus = sum(counts.get(name, 0) for name in WHOLE_GPUS)
    slices = {name.removeprefix(MIG): count for name, count in counts.items() if name.startswith(MIG) and count}
    if gpus:
        return _with_hami(gpus + sum(slices.values()), [*containers, *first])
    if slices:
        shares = {share_of_slice(profile) for profile in slices}
        share = shares.pop() if len(shares) == 1 else None
        return Asked(sum(slices.values()), share, None, "+".join(sorted(slices)))
    return NOTHING


def share_of_slice(profile: str) -> float | None:
    """Return the share of a GPU's compute that a slice has: `3g.40gb` is 3 of 7 (4 on an A30, with 6 GB a slice)."""
    matched = _PROFILE.match(profile)
    if matched is None:
        return None
    count, memory = int(matched[1]), int(matched[2])
    return min(1.0, count / (_SLICES_OF_A30 if memory == count * _GIB_A_SLICE_OF_A30 else _SLICES))


def _of_kai(annotations: Item) -> Asked:
    devices = whole(annotations, FRACTION_DEVICES) or 1
    if annotations.text(FRACTION) is None:
        memory = quantity(annotations, FRACTION_MEMORY)
        if memory is None or memory <= 0:
            annotations.refuse(FRACTION_MEMORY, "a number of mebibytes")
        return Asked(devices, None, memory)
    share = quantity(annotations, FRACTION)
    if share is None or not 0 < share <= 1:
        annotations.refuse(FRACTION, "a share between 0 and 1")
    return Asked(devices, share)


def _with_hami(gpus: int, containers: list[Item]) -> Asked:
    """Return GPUs that HAMi shares out: the larger of the shares of cores and memory, 1 where neither is limited."""
    shares: list[float] = []
    memory = 0.0
    for container in containers:
        limits = _amounts(container)
        for name in (_HAMI_CORES, _HAMI_MEMORY_PERCENT):
            percent = quantity(limits, name)
            if percent is not None:
                shares.append(_share(limits, name, percent))
        memory = max(memory, quantity(limits, _HAMI_MEMORY) or 0.0)
    if memory:
        return Asked(gpus, None, memory)
    return Asked(gpus, max(shares, default=1.0) or 1.0)


def _share(limits: Item, name: str, percent: float) -> float:
    if not 0 <= percent <= 100:
        limits.refuse(name, "a number of percent")
    return percent / 100


def _counts(container: Item) -> dict[str, int]:
    amounts = _amounts(container)
    names = [name for name in amounts.fields if name in WHOLE_GPUS or name.startswith(MIG)]
    return {name: whole(amounts, name) for name in names}


def _amounts(container: Item) -> Item:
    """Return the limits with the requests over them: of a GPU, Kubernetes has both be the same."""
    resources = container.item("resources")
    limits, requests = resources.item("limits"), resources.item("requests")
    return Item({**limits.fields, **requests.fields}, limits.path)


def _added(each: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in each:
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    return total


def is_reservation(pod: Item) -> bool:
    """Return whether a pod only holds a GPU for those that share it, as KAI's and Run:ai's reservations do."""
    metadata = pod.item("metadata")
    try:
        name, namespace = metadata.text("name") or "", metadata.text("namespace") or ""
    except InputError:
        return False
    return name.startswith("gpu-reservation") and namespace.endswith("reservation")
