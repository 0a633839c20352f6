"""What is asked of an audit, and the record that it is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from loadfactor.audit.activity import Activity
from loadfactor.audit.demand_files import demand_of
from loadfactor.audit.fleet import Fleet, gathered_fleet, named_like, nodes_in_use, stated_fleet
from loadfactor.audit.idleness import waiting_span
from loadfactor.audit.inputs import (
    Facts,
    first_moment,
    latest_moment,
    needs_zone,
    nodes_need_zone,
    read_facts,
    text_of,
)
from loadfactor.audit.measured import measured
from loadfactor.audit.power import Power
from loadfactor.audit.record import Record, make_record
from loadfactor.audit.services import Demand, ServiceRule
from loadfactor.audit.timeline import clipped
from loadfactor.audit.window import DEFAULT_DAYS, Window, last_days
from loadfactor.errors import InputError
from loadfactor.sources.formats import DemandFormat, JobFormat
from loadfactor.sources.slurm.moments import Zone
from loadfactor.sources.sniff import is_prometheus_json, is_short_cluster
from loadfactor.sources.telemetry.dcgm import Query, Scrape, read_dcgm_answers, read_dcgm_scrapes
from loadfactor.sources.telemetry.samples import Telemetry

LONGEST_DAYS = 400
FIRST_YEAR, LAST_YEAR = 1970, 5000
"""The years that the readers of logs accept."""
Say = Callable[[str, float], None]


@dataclass(frozen=True)
class AuditRequest:
    """The files of an audit and how to read them.

    `zone` is the zone of the cluster's clock; None is enough where no file states local times. `since` and `until` are
    moments such as `2026-03-01` or `2026-03-01T06:00`, on that clock where they carry no offset.
    """

    files: tuple[Path, ...]
    zone: str | None = None
    nodes: str | None = None
    columns: tuple[str, ...] | None = None
    form: JobFormat | None = None
    since: str | None = None
    until: str | None = None
    days: int | None = None
    rule: ServiceRule = field(default_factory=ServiceRule)
    demand: Path | None = None
    demand_form: DemandFormat | None = None
    demand_per_gpu: float = 1.0
    demand_column: str = "requests"
    telemetry: tuple[Path, ...] = ()


def record_of(request: AuditRequest, say: Say | None = None) -> Record:
    """Read the files of a request and lay them out; raise `InputError` for a wrong file or option.

    `say` is told the name of a step and the share of it that is done.
    """
    zone = _zone(request)
    facts = read_facts(
        request.files,
        zone,
        request.nodes,
        request.columns,
        request.form,
        None if say is None else lambda share: say("reading", share),
    )
    window = _window(request, facts, zone)
    fleet = _fleet(request, facts)
    activity, power, seen = _measured(request, fleet, window)
    if say is not None:
        say("laying out", 0.0)
    return make_record(
        facts.source,
        facts.intervals,
        fleet,
        window,
        rule=request.rule,
        demand=_demand(request),
        activity=activity,
        power=power,
        left_out=facts.left_out,
        rows_read=facts.rows_read,
        notes=(*facts.notes, *seen, *_notes(facts, fleet, request)),
    )


def _fleet(request: AuditRequest, facts: Facts) -> Fleet:
    if not facts.nodes:
        return gathered_fleet(facts.intervals)
    fleet = stated_fleet(facts.nodes)
    if request.nodes is not None and is_short_cluster(request.nodes):
        return named_like(fleet, nodes_in_use(facts.intervals))
    return fleet


def _zone(request: AuditRequest) -> Zone:
    if request.zone is None:
        local = [file.name for file in request.files if needs_zone(file, request.form)]
        local += [Path(request.nodes).name] if request.nodes and nodes_need_zone(request.nodes) else []
        if local:
            remedy = "name the zone of the cluster's clock: --timezone Europe/Berlin, or UTC"
            raise InputError.of(local[0], "states local times, and nothing says of which zone", remedy)
        return UTC
    try:
        return UTC if request.zone == "UTC" else ZoneInfo(request.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        remedy = "name a zone of the IANA database, such as UTC or Europe/Berlin"
        raise InputError.of("--timezone", f"{request.zone!r} is no time zone that is known", remedy) from None


def _window(request: AuditRequest, facts: Facts, zone: Zone) -> Window:
    if request.since is not None and request.days is not None:
        fact = "counts back from the end, and --since names the begin too"
        raise InputError.of("--days", fact, "leave one of the two out")
    end = _moment("--until", request.until, zone)
    end = latest_moment(facts.intervals, facts.written_at) if end is None else end
    begin = _moment("--since", request.since, zone)
    if begin is None:
        begin = last_days(end, zone, request.days or DEFAULT_DAYS).begin
        if request.days is None and first_moment(facts.intervals) < end:
            begin = max(begin, first_moment(facts.intervals))
    window = Window(begin, end, zone)
    if window.hours > 24 * LONGEST_DAYS:
        fact = f"spans {window.hours / 24:,.0f} days, and {LONGEST_DAYS} are accepted"
        raise InputError.of("window", fact, "choose a part of it with --since and --until")
    _refuse_empty(window, facts)
    return window


def _refuse_empty(window: Window, facts: Facts) -> None:
    """Raise `InputError` where no job of the log waited or ran in the window: a year mistyped, most likely."""
    if any(clipped(each, window) or waiting_span(each, window) for each in facts.intervals):
        return
    first, last = first_moment(facts.intervals), latest_moment(facts.intervals, None)
    told = f"{window.told(min(first, last))} to {window.told(last)}"
    fact = f"no job of the log waits or runs from {window.told(window.begin)} to {window.told(window.end)}"
    raise InputError.of("window", fact, f"choose a span with --since and --until; the log tells of {told}")


def _moment(option: str, text: str | None, zone: Zone) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        remedy = "write it as 2026-03-01 or 2026-03-01T06:00"
        raise InputError.of(option, f"{text!r} is no moment", remedy) from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise InputError.of(option, f"{text!r} lies in no year of a log", "correct the year")
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)).timestamp()


def _demand(request: AuditRequest) -> Demand | None:
    if request.demand is None:
        return None
    form = request.demand_form
    if form is None:
        form = DemandFormat(columns={"time": "time", "rate": "gpus"}, zone=request.zone)
        header = text_of(request.demand).lstrip().partition("\n")[0]
        if not {"time", "gpus"} <= {cell.strip(' "\r') for cell in header.split(",")}:
            remedy = "name them so in its first line, or say what the file is with --demand-preset"
            raise InputError.of(request.demand.name, "has no columns time and gpus", remedy)
    return demand_of(request.demand, form, request.demand_per_gpu, request.demand_column)


def _measured(
    request: AuditRequest, fleet: Fleet, window: Window
) -> tuple[Activity | None, Power | None, tuple[str, ...]]:
    if not request.telemetry:
        return None, None, ()
    return measured(read_telemetry(request.telemetry), fleet, window)


def read_telemetry(files: Sequence[Path]) -> Telemetry:
    """Return the samples in files of one kind: scrapes of a DCGM exporter, or answers of Prometheus about its metrics.

    A scrape without timestamps was taken when its file was written. Raises `InputError` for a mixture of both kinds.
    """
    texts = [(file, text_of(file)) for file in files]
    answers = [is_prometheus_json(text) for _, text in texts]
    if all(answers):
        return read_dcgm_answers([Query(text, file.name) for file, text in texts])
    if any(answers):
        raise InputError.of("--telemetry", "mixes scrapes and answers of Prometheus", "give files of one kind")
    return read_dcgm_scrapes([Scrape(text, file.name, file.stat().st_mtime) for file, text in texts])


def _notes(facts: Facts, fleet: Fleet, request: AuditRequest) -> list[str]:
    notes = []
    if not fleet.stated:
        notes.append("GPUs that no job used are not counted: the nodes were gathered from the log (give --nodes)")
    shared = sum(1 for each in facts.intervals if each.gpu_share is not None and each.gpu_share < 1)
    if shared:
        notes.append(f"{shared:,} jobs shared a GPU; where they overlap, the GPU counts as held once")
    if request.rule.is_empty:
        notes.append("no job counts as a real-time service (name them with --service-partition, --service-name, ...)")
    return notes
