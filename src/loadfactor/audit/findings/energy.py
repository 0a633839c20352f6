"""Finding: what GPUs drew while nobody used them, and what an hour of work cost in energy."""

from __future__ import annotations

from dataclasses import dataclass

from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.power import JOULES_PER_KILOWATT_HOUR, Drawn, Power, drawn, drawn_by
from loadfactor.audit.record import Record
from loadfactor.units import SECONDS_PER_HOUR

THRESHOLD = Threshold(
    20.0,
    "% of the energy",
    "loadfactor's own line; no published norm for the energy of idle GPUs was found",
)


@dataclass(frozen=True, slots=True)
class Intensity:
    """Carbon of the grid in grams of CO2 for a kilowatt-hour, and the requests and tokens that services served.

    The counts are those of the window. None where nobody states it.
    """

    grams_per_kilowatt_hour: float | None = None
    requests: float | None = None
    tokens: float | None = None


def find_energy(record: Record, intensity: Intensity | None = None) -> Finding:
    """Return the share of the energy that free and idle GPUs drew, and the energy of a GPU-hour of work."""
    if record.power is None or not len(record.power.gpu):
        return Finding(
            rule="energy",
            title="Energy without work",
            verdict="unknown",
            sentence="No telemetry of power or energy was given.",
            threshold=THRESHOLD,
            remedy="Give DCGM's DCGM_FI_DEV_POWER_USAGE or its energy counter with --telemetry.",
        )
    energy, served = drawn(record.timeline, record.power), _served(record, record.power)
    stated = intensity or Intensity()
    wasted = energy.free + energy.idle
    value = 100 * wasted / energy.whole if energy.whole else None
    return Finding(
        rule="energy",
        title="Energy without work",
        verdict=verdict_of(value, THRESHOLD),
        sentence=_sentence(energy, stated, served),
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(("GPUs", "kWh", "GPU-hours", "watts, mean"), _rows(energy)),
        remedy="Let free nodes sleep (in Slurm: SuspendProgram), and end jobs that hold idle GPUs.",
        figures=_figures(energy, stated, served),
    )


def _served(record: Record, power: Power) -> float | None:
    """Return the joules that services drew, whether a request was there or not; None where none is known."""
    return drawn_by(record.timeline, power, record.is_service) if record.is_service.any() else None


def _kilowatt_hours(joules: float) -> float:
    return joules / JOULES_PER_KILOWATT_HOUR


def _rows(energy: Drawn) -> tuple[tuple[str, float, float, float], ...]:
    rows = (
        ("free", energy.free, energy.free_seconds),
        ("held, but idle", energy.idle, energy.idle_seconds),
        ("working", energy.working, energy.working_seconds),
    )
    return tuple(
        (name, round(_kilowatt_hours(joules), 2), round(seconds / SECONDS_PER_HOUR, 1), round(joules / seconds, 1))
        for name, joules, seconds in rows
        if seconds
    )


def _sentence(energy: Drawn, stated: Intensity, served: float | None) -> str:
    wasted = _kilowatt_hours(energy.free + energy.idle)
    carbon = ""
    if stated.grams_per_kilowatt_hour is not None:
        carbon = f" ({wasted * stated.grams_per_kilowatt_hour / 1000:,.1f} kg of CO2)"
    work = energy.working_seconds / SECONDS_PER_HOUR
    each = f"; a GPU-hour of work took {_kilowatt_hours(energy.working) / work:.2f} kWh" if work else ""
    told = f"GPUs drew {wasted:,.1f} kWh{carbon} while they did nothing{each}"
    for what, count in (("request", stated.requests), ("token", stated.tokens)):
        if count and served is not None:
            told += f"; services drew {served / count:,.3g} J for a {what}"
    return f"{told}."


def _figures(energy: Drawn, stated: Intensity, served: float | None) -> dict[str, float | None]:
    whole, work = _kilowatt_hours(energy.whole), energy.working_seconds / SECONDS_PER_HOUR
    grams = stated.grams_per_kilowatt_hour
    return {
        "kilowatt_hours": whole,
        "kilowatt_hours_wasted": _kilowatt_hours(energy.free + energy.idle),
        "idle_watts_mean": energy.idle / energy.idle_seconds if energy.idle_seconds else None,
        "free_watts_mean": energy.free / energy.free_seconds if energy.free_seconds else None,
        "kilowatt_hours_per_gpu_hour_of_work": _kilowatt_hours(energy.working) / work if work else None,
        "kilograms_of_carbon_dioxide": None if grams is None else whole * grams / 1000,
        "joules_per_request": served / stated.requests if stated.requests and served is not None else None,
        "joules_per_token": served / stated.tokens if stated.tokens and served is not None else None,
    }
