"""Series out of Prometheus: an answer of query or query_range in JSON, and the samples of a scrape in text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import msgspec
import numpy as np
import numpy.typing as npt
from prometheus_client import samples
from prometheus_client.parser import text_string_to_metric_families

from loadfactor.errors import Fault, InputError
from loadfactor.sources.facts import LeftOut
from loadfactor.sources.sniff import is_prometheus_text, refuse

Numbers = npt.NDArray[np.float64]

EXPECTED_ANSWER = "an answer of Prometheus"
EXPECTED_SCRAPE = "a scrape in Prometheus' text format"
NAME = "__name__"
_LATEST_MOMENT = 1e11
_REMEDY = "ask Prometheus again, or drop the series"


@dataclass(frozen=True)
class Series:
    """One series: its labels (`__name__` among them), moments in seconds since 1970 in order, and as many values.

    Values are NaN where Prometheus has NaN; `place` is where it stands in its document.
    """

    labels: Mapping[str, str]
    times: Numbers
    values: Numbers
    place: str

    @property
    def metric(self) -> str:
        """The name of the metric, empty where the query has dropped it."""
        return self.labels.get(NAME, "")


@dataclass(frozen=True)
class Answer:
    """The series of one answer in its order, and those that cannot be read."""

    name: str
    series: tuple[Series, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a scrape: `time` in seconds since 1970 where the scrape states it, `place` with its line."""

    metric: str
    labels: Mapping[str, str]
    value: float
    time: float | None
    place: str


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: list[msgspec.Raw] = []


class _Answered(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error: str = ""
    error_type: str = ""
    warnings: list[str] = []


class _Range(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Instant(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


def read_answer(text: str, name: str = "prometheus.json") -> Answer:
    """Return the series of an answer to query_range, or to query (of one moment each).

    A series that cannot be read is left out. Raises `InputError` where the text is no answer, reports an error, or
    answers with a scalar or a text.
    """
    try:
        answered = msgspec.json.decode(text.removeprefix("\ufeff"), type=_Answered)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        refuse(text, name, EXPECTED_ANSWER)
    if answered.status != "success" or answered.data is None:
        fact = f"Prometheus answered with an error ({answered.error_type}: {answered.error})"
        raise InputError.of(name, fact, "correct the query and ask again")
    kind = answered.data.result_type
    if kind not in ("matrix", "vector"):
        raise InputError.of(name, f"is a {kind or 'nothing'}, and no series", "ask query_range for series")
    series: list[Series] = []
    left_out: list[LeftOut] = []
    for position, raw in enumerate(answered.data.result):
        place = f"{name}:data.result[{position}]"
        try:
            series.append(_series(raw, place, kind))
        except InputError as error:
            left_out.append(LeftOut(error.faults[0]))
    notes = tuple(f"{name}: Prometheus warns: {warning}" for warning in answered.warnings[:3])
    return Answer(name, tuple(series), tuple(left_out), notes)


def _series(raw: msgspec.Raw, place: str, kind: str) -> Series:
    try:
        if kind == "matrix":
            found = msgspec.json.decode(raw, type=_Range)
            labels, pairs = found.metric, found.values
        else:
            instant = msgspec.json.decode(raw, type=_Instant)
            labels, pairs = instant.metric, [instant.value]
        times = np.array([time for time, _ in pairs], dtype=np.float64)
        values = np.array([text for _, text in pairs], dtype=str).astype(np.float64)
    except (ValueError, RecursionError, OverflowError) as error:
        raise InputError.of(place, f"is no series ({error})", _REMEDY) from None
    if not (np.isfinite(times) & (times >= 0) & (times < _LATEST_MOMENT)).all():
        raise InputError.of(place, "has a moment that is none in seconds since 1970", _REMEDY)
    order = np.argsort(times, kind="stable")
    return Series(labels, times[order], values[order], place)


def scraped_samples(text: str, name: str, metrics: frozenset[str], left_out: list[LeftOut]) -> Iterator[Sample]:
    """Yield the samples of the wanted `metrics` in a scrape; append a line that is none to `left_out`.

    Each line is parsed on its own, so that one damaged line costs no other. Raises `InputError` where the text is no
    scrape.
    """
    if not is_prometheus_text(text):
        refuse(text, name, EXPECTED_SCRAPE)
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if _metric_of(stripped) not in metrics:
            continue
        place = f"{name}:{number}"
        try:
            yield _parsed(stripped, place)
        except (ValueError, IndexError, KeyError, TypeError, OverflowError):
            remedy = "scrape again, or drop the line"
            left_out.append(LeftOut(Fault(place, "is no sample of Prometheus' text format", remedy)))


def _metric_of(line: str) -> str:
    return line.partition("{")[0].partition(" ")[0].strip()


def _parsed(line: str, place: str) -> Sample:
    """Parse a line; the labels, which each scrape repeats and which take nearly all the time, only once."""
    line = line.partition(" # {")[0]  # an exemplar
    end = line.rfind("}") + 1
    if not end and "{" in line:
        raise ValueError(line)
    metric, labels = _named(line[:end] if end else _metric_of(line))
    alone = _one(f"value {line[end:]}" if end else f"value {line.partition(' ')[2]}")
    time = None if alone.timestamp is None else float(alone.timestamp)
    if time is not None and not 0 <= time < _LATEST_MOMENT:
        raise ValueError(line)
    return Sample(metric, labels, float(alone.value), time, place)


@lru_cache(65_536)
def _named(text: str) -> tuple[str, Mapping[str, str]]:
    sample = _one(f"{text} 0")
    return sample.name, MappingProxyType(dict(sample.labels))


def _one(line: str) -> samples.Sample:
    found = [sample for family in text_string_to_metric_families(line) for sample in family.samples]
    if len(found) != 1:
        raise ValueError(line)
    return found[0]
