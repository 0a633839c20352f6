"""Which GPU a series is about, and which pods it works for: the labels of the DCGM exporter and of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

_HOST_LABELS = ("Hostname", "hostname", "node", "kubernetes_node", "nodename")
_OWN_CONTAINERS = frozenset({"nvidia-dcgm-exporter", "dcgm-exporter", "exporter"})
_OWN_PODS = ("dcgm-exporter", "nvidia-dcgm-exporter")


class Device(Struct, frozen=True, gc=False):
    """A GPU, or a slice of one (MIG): None for what the labels do not say. `gpu` is its index on its host."""

    host: str | None
    gpu: int | None
    uuid: str | None
    slice_id: int | None = None


class Described(Struct, frozen=True, gc=False):
    """What is told about a device beside its identity."""

    model: str | None
    slice_profile: str | None


def device_of(labels: Mapping[str, str]) -> Device:
    """Return the device of a series; a port behind an instance's address is no part of the host."""
    host = next((labels[label] for label in _HOST_LABELS if labels.get(label)), None)
    host = host or labels.get("instance", "").rpartition(":")[0] or labels.get("instance") or None
    return Device(host, _index(labels.get("gpu")), labels.get("UUID") or None, _index(labels.get("GPU_I_ID")))


def described(labels: Mapping[str, str]) -> Described:
    """Return model and profile of a series' device."""
    return Described(labels.get("modelName") or None, labels.get("GPU_I_PROFILE") or None)


def workload_of(labels: Mapping[str, str]) -> str | None:
    """Return the `namespace/pod` that a GPU works for, or Slurm's `job:ID`; None for an idle one.

    Where Prometheus keeps its own labels, those of the workload are `exported_pod` and so on, and the plain ones name
    the exporter itself.
    """
    exported = labels.get("exported_pod")
    pod = exported or labels.get("pod")
    namespace = labels.get("exported_namespace") if exported else labels.get("namespace")
    if pod and not (exported is None and _is_exporter(labels)):
        return f"{namespace}/{pod}" if namespace else pod
    job = labels.get("hpc_job")
    return f"job:{job}" if job else None


def _is_exporter(labels: Mapping[str, str]) -> bool:
    return labels.get("container") in _OWN_CONTAINERS or labels.get("pod", "").startswith(_OWN_PODS)


def _index(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 6 else None
