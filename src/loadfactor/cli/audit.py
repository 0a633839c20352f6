"""`loadfactor audit`: what a cluster wasted, and why, from its own logs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadfactor.cli.console import answers, remarks
from loadfactor.cli.files import refuse_unwritable, write_file
from loadfactor.cli.options import Format, FormatOption, positive
from loadfactor.cli.progress import shares_told
from loadfactor.errors import InputError

if TYPE_CHECKING:
    from loadfactor.audit.findings.energy import Intensity
    from loadfactor.audit.report import AuditReport
    from loadfactor.audit.request import AuditRequest

Text = str | None
Texts = list[str] | None
Number = float | None
DEMAND_PER_GPU = 1.0


def audit(
    files: Annotated[
        Texts, typer.Argument(metavar="LOG...", help="Logs of jobs: sacct -P, Slurm or kubectl JSON.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Audit the week that loadfactor ships.")] = False,
    nodes: Annotated[Text, typer.Option(metavar="NODES", help="File of nodes, or 16x8:H100-80GB.")] = None,
    timezone: Annotated[Text, typer.Option(metavar="ZONE", help="Zone of the cluster's clock, such as UTC.")] = None,
    columns: Annotated[Text, typer.Option(help="Columns of a sacct log without header, joined by commas.")] = None,
    preset: Annotated[Text, typer.Option(help="Format of another log of jobs, such as swf.")] = None,
    since: Annotated[Text, typer.Option(metavar="MOMENT", help="Begin of the window (2026-03-01T06:00).")] = None,
    until: Annotated[Text, typer.Option(metavar="MOMENT", help="End of the window; else the log's end.")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=400, help="Days before the end; else 7, or the log's.")] = None,
    service_partition: Annotated[Texts, typer.Option(metavar="PATTERN", help="Partitions of services.")] = None,
    service_account: Annotated[Texts, typer.Option(metavar="PATTERN", help="Accounts of services.")] = None,
    service_name: Annotated[Texts, typer.Option(metavar="PATTERN", help="Names of services' jobs.")] = None,
    service_days: Annotated[Number, typer.Option(parser=positive, help="What has run so long is a service.")] = None,
    demand: Annotated[Text, typer.Option(metavar="FILE", help="Demand of services: time,gpus, or a rate.")] = None,
    demand_preset: Annotated[Text, typer.Option(help="Format of the demand.")] = None,
    demand_per_gpu: Annotated[float, typer.Option(parser=positive, help="Rate that one GPU serves.")] = DEMAND_PER_GPU,
    telemetry: Annotated[Texts, typer.Option(metavar="FILE", help="DCGM scrapes or Prometheus JSON.")] = None,
    carbon: Annotated[Number, typer.Option(parser=positive, metavar="GRAMS", help="CO2 of a kWh.")] = None,
    requests: Annotated[
        Number, typer.Option(parser=positive, metavar="COUNT", help="Requests that services served.")
    ] = None,
    tokens: Annotated[
        Number, typer.Option(parser=positive, metavar="COUNT", help="Tokens that services served.")
    ] = None,
    gpu_hour: Annotated[Number, typer.Option(parser=positive, metavar="PRICE", help="Price of a GPU-hour.")] = None,
    currency: Annotated[str, typer.Option(help="Currency of the price.")] = "EUR",
    replays: Annotated[bool, typer.Option("--replay/--no-replay", help="Replay the week in other orders.")] = True,
    html: Annotated[Text, typer.Option(metavar="FILE", help="Write the report as a page.")] = None,
    output: Annotated[Text, typer.Option(metavar="FILE", help="Write all figures to this file (.json).")] = None,
    csv: Annotated[Text, typer.Option(metavar="FILE", help="Write all figures to this file (.csv).")] = None,
    anonymize: Annotated[bool, typer.Option("--anonymize", help="Hide the names of users, jobs and nodes.")] = False,
    fail_above: Annotated[
        Number, typer.Option(parser=positive, metavar="PERCENT", help="Exit 1 if more is wasted.")
    ] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Tell from a scheduler's log what the cluster wasted, which tax took it, and whether to schedule or to buy."""
    refuse_unwritable("--html", html, (".html",))
    refuse_unwritable("--output", output, (".json",))
    refuse_unwritable("--csv", csv, (".csv",))
    request = _request(dict(locals()))
    intensity = _intensity(request, carbon, requests, tokens)
    from loadfactor.audit.costs import Costs
    from loadfactor.audit.report import audit as find
    from loadfactor.audit.request import record_of

    with shares_told() as say:
        record = record_of(request, say)
        if anonymize:
            from loadfactor.audit.anonymous import anonymized

            record = anonymized(record)
        report = find(record, Costs(gpu_hour, currency), replays, say, intensity)
    _write(report, html, output, csv)
    _print(report, format_)
    if fail_above is not None and 100 * report.wasted_share > fail_above:
        remarks().print(f"{100 * report.wasted_share:.1f} % are wasted, above {fail_above:g} %", markup=False)
        raise typer.Exit(1)


def _request(given: dict[str, Any]) -> AuditRequest:
    from loadfactor.audit.request import AuditRequest
    from loadfactor.audit.services import ServiceRule
    from loadfactor.sources.presets import DEMAND_PRESETS, JOB_PRESETS

    if given["demo"]:
        from loadfactor.audit.demo import demo_request

        _refuse_beside_demo(given)
        return demo_request()
    if not given["files"]:
        raise InputError.of("LOG", "no log is named", "name what sacct printed, or look at --demo first")
    rule = ServiceRule(
        tuple(given["service_partition"] or ()),
        tuple(given["service_account"] or ()),
        tuple(given["service_name"] or ()),
        given["service_days"],
    )
    columns = given["columns"]
    return AuditRequest(
        files=tuple(map(Path, given["files"])),
        zone=given["timezone"],
        nodes=given["nodes"],
        columns=None if columns is None else tuple(name.strip() for name in columns.split(",")),
        form=_preset("--preset", given["preset"], JOB_PRESETS, given["timezone"]),
        since=given["since"],
        until=given["until"],
        days=given["days"],
        rule=rule,
        demand=None if given["demand"] is None else Path(given["demand"]),
        demand_form=_preset("--demand-preset", given["demand_preset"], DEMAND_PRESETS, given["timezone"]),
        demand_per_gpu=given["demand_per_gpu"],
        telemetry=tuple(map(Path, given["telemetry"] or ())),
    )


def _refuse_beside_demo(given: dict[str, Any]) -> None:
    if given["files"]:
        raise InputError.of("--demo", "has logs of its own, and others are named too", "leave one of the two out")
    for name in _OF_OWN_LOGS:
        if given[name] and (name, given[name]) != ("demand_per_gpu", DEMAND_PER_GPU):
            option = f"--{name.replace('_', '-')}"
            raise InputError.of(option, "is about logs of your own, and --demo has its own", "leave one of the two out")


_OF_OWN_LOGS = (
    *("nodes", "timezone", "columns", "preset", "since", "until", "days", "service_partition", "service_account"),
    *("service_name", "service_days", "demand", "demand_preset", "demand_per_gpu", "telemetry"),
)


def _intensity(request: AuditRequest, carbon: Number, requests: Number, tokens: Number) -> Intensity:
    from loadfactor.audit.findings.energy import Intensity

    given = {"--carbon": carbon, "--requests": requests, "--tokens": tokens}
    stated = [option for option, value in given.items() if value is not None]
    if stated and not request.telemetry:
        remedy = "give DCGM's power or energy with --telemetry"
        raise InputError.of(stated[0], "is about energy, and no telemetry tells of any", remedy)
    if request.rule.is_empty and (requests is not None or tokens is not None):
        remedy = "say which jobs are services, with --service-partition, --service-account or --service-name"
        raise InputError.of(stated[-1], "counts what services served, and no job counts as a service", remedy)
    return Intensity(carbon, requests, tokens)


def _preset(option: str, name: str | None, presets: Any, zone: str | None) -> Any:
    if name is None:
        return None
    if name not in presets:
        raise InputError.of(option, f"{name!r} is none that is known", f"choose among {', '.join(presets)}")
    form = presets[name]
    return form.model_copy(update={"zone": zone}) if zone is not None and form.zone is None else form


def _write(report: AuditReport, html: Text, output: Text, csv: Text) -> None:
    if html is not None:
        from loadfactor.audit.html_page import audit_page

        write_file("--html", html, audit_page(report))
        remarks().print(f"page -> {html}", markup=False)
    if output is not None:
        write_file("--output", output, _json(report))
    if csv is not None:
        from loadfactor.audit.export import figures_csv

        write_file("--csv", csv, figures_csv(report))


def _json(report: AuditReport) -> str:
    from loadfactor.model import to_json

    return to_json(report.to_document())


def _print(report: AuditReport, format_: Format) -> None:
    if format_ is Format.JSON:
        sys.stdout.write(_json(report))
        return
    from loadfactor.audit.view import audit_view

    answers().print(audit_view(report))
