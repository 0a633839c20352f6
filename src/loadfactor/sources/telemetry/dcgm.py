"""Reading DCGM's metrics: scrapes of the DCGM exporter, and Prometheus' answers about them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from loadfactor.errors import Fault, InputError
from loadfactor.sources.facts import LeftOut
from loadfactor.sources.prometheus import NAME, read_answer, scraped_samples
from loadfactor.sources.telemetry.metrics import METRICS
from loadfactor.sources.telemetry.samples import Collector, Telemetry, single

_WANTED = frozenset(METRICS)
_REMEDY = f"choose one with {' or '.join(sorted(METRICS)[2:4])}, or another of DCGM's metrics"


@dataclass(frozen=True)
class Scrape:
    """The text of one scrape and when it was taken, in seconds since 1970 (None where its samples state it)."""

    text: str
    name: str
    taken: float | None = None


@dataclass(frozen=True)
class Query:
    """Prometheus' answer to one query; `metric` says which of DCGM's metrics it is where the query drops the name."""

    text: str
    name: str
    metric: str | None = None


def read_dcgm_scrapes(scrapes: Iterable[Scrape], source: str = "scrapes") -> Telemetry:
    """Return the samples of scrapes, each of one moment and of one or several hosts.

    Raises `InputError` for a text that is no scrape, for one without any of `METRICS`, and for samples without a time
    where `taken` states none either. A damaged line is left out.
    """
    collector = Collector()
    for scrape in scrapes:
        read = collector.samples_read
        for sample in scraped_samples(scrape.text, scrape.name, _WANTED, collector.left_out):
            time = sample.time if sample.time is not None else scrape.taken
            if time is None or not math.isfinite(time):
                raise InputError.of(sample.place, "states no time", "say when the scrape was taken")
            collector.add(sample.metric, sample.labels, single(time), single(sample.value), sample.place)
        if collector.samples_read == read:
            raise InputError.of(scrape.name, "holds no metric of DCGM that is read here", _REMEDY)
    return collector.telemetry(source)


def read_dcgm_answers(queries: Iterable[Query], source: str = "prometheus") -> Telemetry:
    """Return the samples in Prometheus' answers, joined by device and moment.

    Raises `InputError` for a text that is no answer, and where no series of an answer is one of `METRICS`. A series of
    another metric, or without a name where the query states none, is left out.
    """
    collector = Collector()
    notes: list[str] = []
    for query in queries:
        answer = read_answer(query.text, query.name)
        collector.left_out += answer.left_out
        notes += answer.notes
        others: list[LeftOut] = []
        for series in answer.series:
            metric = query.metric or series.metric
            if metric in METRICS:
                collector.add(metric, series.labels, series.times, series.values, series.place)
            else:
                fact = f"is about {metric}" if metric else f"has no {NAME}"
                others.append(LeftOut(Fault(series.place, f"{fact}, no metric of DCGM that is read here", _REMEDY)))
        if answer.series and len(others) == len(answer.series):
            raise InputError.of(query.name, "holds no metric of DCGM that is read here", _REMEDY)
        collector.left_out += others
    return collector.telemetry(source, notes)
