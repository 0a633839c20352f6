"""Moments in Slurm's cells: local or with an offset, seconds since 1970, or `Unknown`; read by one zone's clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from loadfactor.sources.slurm.cells import UnreadableCell, says_nothing
from loadfactor.sources.slurm.durations import NOT_SET
from loadfactor.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE

Zone = ZoneInfo | timezone

_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))? ?(Z|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
_EPOCH = re.compile(r"\d{1,14}(?:\.\d+)?", re.ASCII)
_LATEST = 100_000_000_000
"""Seconds since 1970 beyond the year 5000: such a number counts something else, milliseconds perhaps."""
_FIRST_YEAR = 1971
"""No log is older; 1970, and 1969 west of Greenwich, are the moment 0, which stands for "unknown"."""
_MINUTES = {f"{minute:02}": minute * SECONDS_PER_MINUTE for minute in range(60)}
_SECONDS = {f"{second:02}": second for second in range(60)}
_HOUR, _WHOLE = len("2026-03-29T02"), len("2026-03-29T02:30:00")
_REMEDY = "write it as 2026-03-29T02:30:00, with or without an offset, or in seconds since 1970"


class LocalClock:
    """Reads moments by the clock of `zone`; the hours of a log repeat, so each is looked up once.

    A local time that clocks showed twice, because they were put back, is the earlier of the two; `later_by` says how
    much later the other is. One that they skipped is refused: it tells that the log is of another zone. `irregular` are
    the hours met so far, as the log writes them, in which that may happen.
    """

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self._hours: dict[str, float] = {}
        self.irregular: set[str] = set()

    def seconds(self, text: str) -> float | None:
        """Return `text` in seconds since 1970 (UTC), None where it says nothing; raise `UnreadableCell` otherwise."""
        if len(text) == _WHOLE and text[13] == ":" == text[16]:
            hour = self._hours.get(text[:_HOUR])
            minutes, seconds = _MINUTES.get(text[14:16]), _SECONDS.get(text[17:])
            if hour is not None and minutes is not None and seconds is not None:
                return hour + minutes + seconds
        return self._slowly(text)

    def later_by(self, text: str) -> float:
        """Return by how many seconds the second reading of a local time is later; 0 where it came once only."""
        if text[:_HOUR] not in self.irregular:
            return 0.0
        local, offset = _split(text) or (None, None)
        return 0.0 if local is None or offset else max(0.0, _step_back(local.replace(tzinfo=self.zone)))

    def _slowly(self, text: str) -> float | None:
        plain = text.strip()
        if says_nothing(plain):
            return None
        if _EPOCH.fullmatch(plain):
            return _since_1970(plain)
        parts = _split(plain)
        if parts is None:
            raise UnreadableCell(text, "is no moment", _REMEDY)
        local, offset = parts
        if local.year < _FIRST_YEAR:
            return None
        if offset:
            return local.replace(tzinfo=_fixed(offset, text)).timestamp()
        self._learn(plain[:_HOUR], local)
        here = local.replace(tzinfo=self.zone)
        if _step_back(here) < 0:
            fact = f"never was in {self.zone}: clocks were put forward"
            raise UnreadableCell(text, fact, "state the zone that the log was written in")
        return here.timestamp()

    def _learn(self, hour: str, local: datetime) -> None:
        """Remember when the hour begins, or that its minutes do not simply follow one another."""
        first = local.replace(minute=0, second=0, microsecond=0, tzinfo=self.zone)
        last = first.replace(minute=59, second=59)
        even = last.timestamp() - first.timestamp() == SECONDS_PER_HOUR - 1
        if even and not _step_back(first) and not _step_back(last):
            self._hours[hour] = first.timestamp()
        else:
            self.irregular.add(hour)


def _step_back(moment: datetime) -> float:
    """Return by how many seconds clocks go back around `moment`: above 0 it comes twice, below 0 never."""
    earlier, later = moment.replace(fold=0).utcoffset(), moment.replace(fold=1).utcoffset()
    return 0.0 if earlier is None or later is None else (earlier - later).total_seconds()


def _split(text: str) -> tuple[datetime, str] | None:
    matched = _MOMENT.fullmatch(text.strip())
    if matched is None:
        return None
    day, clock, fraction, offset = matched.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        return None
    if not 1969 <= moment.year < 5000:
        return None
    return moment.replace(microsecond=int((fraction or "0").ljust(6, "0")[:6])), offset or ""


def _fixed(offset: str, text: str) -> tzinfo:
    if offset == "Z":
        return UTC
    digits = offset[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours >= 24 or minutes >= 60:
        raise UnreadableCell(text, "has no possible offset", _REMEDY)
    away = timedelta(hours=hours, minutes=minutes)
    return timezone(-away if offset[0] == "-" else away)


def _since_1970(text: str) -> float | None:
    seconds = float(text)
    if seconds >= _LATEST:
        raise UnreadableCell(text, "lies too far in the future for seconds since 1970", _REMEDY)
    return None if seconds == 0 or seconds in (NOT_SET, NOT_SET + 1) else seconds
