"""What GPU-hours and kilowatt-hours cost, where somebody says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """The price of a GPU-hour in `currency`; None where nobody states one."""

    gpu_hour: float | None = None
    currency: str = "EUR"

    def of(self, gpu_hours: float | None) -> float | None:
        """Return what `gpu_hours` cost; None where either is unknown."""
        return None if gpu_hours is None or self.gpu_hour is None else gpu_hours * self.gpu_hour

    def told(self, gpu_hours: float | None) -> str:
        """Return what `gpu_hours` cost in words, or nothing."""
        amount = self.of(gpu_hours)
        return "" if amount is None else f"{amount:,.0f} {self.currency}"
