"""The metrics of DCGM that are read: their column, unit and range, and the values that mean "not known"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from loadfactor.sources.prometheus import Numbers

_JOULES_PER_MILLIJOULE = 1e-3
_SHARE_PER_PERCENT = 1e-2


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's column, the units of the column in one of the metric's own, and the greatest value that it can have.

    The bounds are wide: 100 kW for a GPU, 16 TiB of memory; what is beyond them is no measurement.
    """

    column: str
    unit: float
    greatest: float


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": Metric("engine_active", 1.0, 1.001),
        "DCGM_FI_DEV_GPU_UTIL": Metric("device_utilization", _SHARE_PER_PERCENT, 100.0),
        "DCGM_FI_DEV_FB_USED": Metric("memory_used_mib", 1.0, 2.0**24),
        "DCGM_FI_DEV_FB_FREE": Metric("memory_free_mib", 1.0, 2.0**24),
        "DCGM_FI_DEV_POWER_USAGE": Metric("power_watts", 1.0, 1e5),
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Metric("energy_joules", _JOULES_PER_MILLIJOULE, 1e18),
        "DCGM_FI_DEV_XID_ERRORS": Metric("xid", 1.0, 1e6),
    }
)
"""By the names that the DCGM exporter gives them; units and meanings from NVIDIA's DCGM field identifiers."""

# DCGM's marks for "no value" (dcgm_structs.h): a base for each type of number, and 16 reasons counted up from it. A
# double holds no single step at the base of 64 bits, so that everything from a little below it on is the mark.
_BLANK_32_BITS = (float(0x7FFFFFF0), float(0x7FFFFFFF))
_BLANK_DOUBLE = (140_737_488_355_328.0, 140_737_488_355_343.0)
_BLANK_64_BITS = float(0x7FFFFFFFFFFFF000)


def is_blank(values: Numbers) -> npt.NDArray[np.bool_]:
    """Return where `values` say nothing: NaN, and DCGM's marks for a value that it does not have."""
    in_32_bits = (values >= _BLANK_32_BITS[0]) & (values <= _BLANK_32_BITS[1])
    in_double = (values >= _BLANK_DOUBLE[0]) & (values <= _BLANK_DOUBLE[1])
    return np.isnan(values) | in_32_bits | in_double | (values >= _BLANK_64_BITS)


def is_impossible(metric: Metric, values: Numbers) -> npt.NDArray[np.bool_]:
    """Return where `values` are neither blank nor a number that the metric can have."""
    return ~is_blank(values) & ~((values >= 0) & (values <= metric.greatest))
