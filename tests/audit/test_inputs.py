"""The files of an audit together: logs that overlap, nodes listed later, addresses as names, nodes told by the log."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from loadfactor.audit.fleet import gathered_fleet, stated_fleet
from loadfactor.audit.inputs import latest_moment, read_facts
from loadfactor.audit.measured import measured
from loadfactor.audit.request import AuditRequest, record_of
from loadfactor.sources.facts import NodeFact, NodeGpus
from loadfactor.sources.telemetry.samples import Telemetry
from tests.audit.facts import at, held, window

HEADER = "JobID|State|Submit|Start|End|Elapsed|AllocTRES|NodeList\n"
FIRST = "1|RUNNING|2026-03-02T00:00:00|2026-03-02T00:00:00|Unknown|1-00:00:00|gres/gpu=2|n1\n"
SECOND = (
    "1|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-04T00:00:00|2-00:00:00|gres/gpu=2|n1\n"
    "2|COMPLETED|2026-03-04T00:00:00|2026-03-04T00:00:00|2026-03-05T00:00:00|1-00:00:00|gres/gpu=1|n1\n"
)


def logs(folder: Path) -> list[Path]:
    """Return two logs that overlap: a job ran on from one into the other."""
    paths = [folder / "monday.txt", folder / "thursday.txt"]
    for path, rows in zip(paths, (FIRST, SECOND), strict=True):
        path.write_text(HEADER + rows, encoding="utf-8")
    return paths


def test_a_stay_that_two_logs_tell_counts_once(tmp_path: Path) -> None:
    facts = read_facts(logs(tmp_path), UTC)
    assert [(each.id, each.ended is None) for each in facts.intervals] == [("1", False), ("2", False)]
    assert [row.fault.fact for row in facts.left_out] == ["job 1: tells the same stay as line 2"]
    made = record_of(AuditRequest(files=tuple(logs(tmp_path)), zone="UTC", nodes="1x8", since="2026-03-02"))
    assert made.hours("jobs") == 2 * 48 + 24
    assert made.timeline.crowded_seconds == 0


def test_the_log_ends_with_its_last_moment_also_where_an_earlier_log_says_when_it_was_written(tmp_path: Path) -> None:
    facts = read_facts(logs(tmp_path), UTC)
    assert facts.written_at == datetime(2026, 3, 3, tzinfo=UTC).timestamp()
    assert latest_moment(facts.intervals, facts.written_at) == datetime(2026, 3, 5, tzinfo=UTC).timestamp()


def test_nodes_that_were_listed_a_month_later_do_not_prolong_the_log(tmp_path: Path) -> None:
    later = int(datetime(2026, 4, 1, tzinfo=UTC).timestamp())
    node = {"name": "n1", "gres": "gpu:8", "gres_used": "gpu:0", "state": ["IDLE"], "partitions": []}
    nodes = tmp_path / "nodes.json"
    document = {"nodes": [node], "last_update": later, "meta": {"plugin": {"data_parser": "data_parser/v0.0.41"}}}
    nodes.write_text(json.dumps(document), encoding="utf-8")
    made = record_of(AuditRequest(files=(logs(tmp_path)[1],), zone="UTC", nodes=str(nodes)))
    assert (made.fleet.gpus, made.window.end) == (8, datetime(2026, 3, 5, tzinfo=UTC).timestamp())


def test_a_gathered_node_has_the_most_that_was_held_at_once_also_by_what_runs_on() -> None:
    jobs = [held("a", 3, 0, None, nodes=["n0"]), held("b", 2, 9, None, nodes=["n0"]), held("c", 4, 1, 2, nodes=["n1"])]
    fleet = gathered_fleet(jobs)
    assert [(node.name, node.gpus) for node in fleet.nodes] == [("n0", 5), ("n1", 4)]
    numbered = gathered_fleet([held("a", 1, 0, 1, nodes=[NodeGpus("n0", 1, (7,))])])
    assert numbered.gpus == 8


def telemetry(*hosts: str) -> Telemetry:
    """Return two samples of GPU 0 of each host, an hour apart, fully active."""
    rows = [
        {"time": at(hour), "host": host, "gpu": 0, "slice_profile": None, "utilization": 1.0}
        | {"power_watts": 100.0, "energy_joules": None}
        for host in hosts
        for hour in (0, 1)
    ]
    schema = {
        "time": pl.Float64, "host": pl.String, "gpu": pl.Int64, "slice_profile": pl.String, "utilization": pl.Float64,
        "power_watts": pl.Float64, "energy_joules": pl.Float64,
    }  # fmt: skip
    return Telemetry("test", pl.DataFrame(rows, schema=schema), 2 * len(hosts))


def test_hosts_are_nodes_by_their_names_with_or_without_a_domain() -> None:
    nodes = stated_fleet([NodeFact(name="n0", gpus=1), NodeFact(name="n1.a.org", gpus=1)])
    activity, _, notes = measured(telemetry("n0.b.org", "n1", "n2"), nodes, window(4))
    assert np.unique(activity.gpu).tolist() == [0, 1]
    assert notes == ("telemetry of n2 is not used: the fleet has no such node or GPU",)


def test_an_address_is_no_name_with_a_domain_and_a_short_name_of_two_nodes_is_neither() -> None:
    nodes = stated_fleet([NodeFact(name=name, gpus=1) for name in ("10.0.0.1", "n1.a.org", "n1.b.org")])
    activity, _, notes = measured(telemetry("10.0.0.1", "10.9.9.9", "n1", "n1.b.org"), nodes, window(4))
    assert np.unique(activity.gpu).tolist() == [0, 2]
    assert len(notes) == 2


def test_samples_of_one_moment_tell_nothing_and_that_is_said() -> None:
    once = telemetry("n0")
    activity, power, notes = measured(
        replace(once, samples=once.samples[:1]), stated_fleet([NodeFact(name="n0", gpus=1)]), window(4)
    )
    assert len(activity.gpu) == len(power.gpu) == 0
    assert notes == ("telemetry tells of no span in the window: give samples of several moments in it",)


def answer(metric: str, values: dict[float, int], **labels: str) -> str:
    """Return what Prometheus answers about one series of a pod."""
    pod = {"__name__": metric, "namespace": "ml", "pod": "train-0", "uid": "u1", **labels}
    series = {"metric": pod, "values": [[moment, str(value)] for moment, value in values.items()]}
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}})


def test_answers_of_prometheus_about_pods_are_read_together(tmp_path: Path) -> None:
    listed = {at(hour): 2 for hour in range(5)}
    running = {at(hour): int(1 <= hour < 3) for hour in range(5)}
    asked = {"container": "main", "resource": "nvidia_com_gpu", "unit": "integer", "node": "n1"}
    paths = [tmp_path / "requests.json", tmp_path / "phases.json"]
    paths[0].write_text(answer("kube_pod_container_resource_requests", listed, **asked), encoding="utf-8")
    paths[1].write_text(answer("kube_pod_status_phase", running, phase="Running"), encoding="utf-8")
    (pod,) = read_facts(paths, UTC).intervals
    assert (pod.id, pod.gpus, pod.started, pod.ended) == ("ml/train-0", 2, at(1), at(3))
