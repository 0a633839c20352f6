"""The files of an audit: what each one is, told from what it holds, and read by the reader that knows it."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadfactor.errors import InputError
from loadfactor.sources.cluster_facts import read_short_cluster
from loadfactor.sources.facts import JobInterval, LeftOut, NodeFact, Reading
from loadfactor.sources.formats import JobFormat
from loadfactor.sources.job_log import intervals_of_log
from loadfactor.sources.jobs import read_jobs
from loadfactor.sources.kubernetes.objects import read_kubernetes_json
from loadfactor.sources.kubernetes.state_metrics import read_state_metrics
from loadfactor.sources.slurm.jobs_json import read_slurm_jobs_json
from loadfactor.sources.slurm.moments import Zone
from loadfactor.sources.slurm.nodes_json import read_slurm_nodes_json
from loadfactor.sources.slurm.nodes_text import read_scontrol_nodes
from loadfactor.sources.slurm.repeats import without_repeats
from loadfactor.sources.slurm.sacct import read_sacct
from loadfactor.sources.sniff import (
    is_json,
    is_kubernetes_json,
    is_prometheus_json,
    is_scontrol_nodes,
    is_short_cluster,
    is_slurm_jobs_json,
    is_slurm_nodes_json,
    refuse,
)

HEAD_BYTES = 65_536
MOST_BYTES = 2**31
_GZIP = b"\x1f\x8b"
JOBS_EXPECTED = "jobs of sacct -P, of Slurm in JSON, of Kubernetes, or of kube-state-metrics"
NODES_EXPECTED = "nodes of scontrol, of Slurm in JSON, of Kubernetes, or a short form such as 16x8:H100-80GB"
Told = Callable[[float], None]


@dataclass(frozen=True)
class Facts:
    """What all files of an audit say together."""

    source: str
    intervals: Sequence[JobInterval]
    nodes: tuple[NodeFact, ...]
    rows_read: int = 0
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    written_at: float | None = None


@dataclass
class _Gathering:
    """Facts as they come in, from one file after another."""

    intervals: list[JobInterval] = field(default_factory=list)
    nodes: list[NodeFact] = field(default_factory=list)
    rows_read: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    written_at: list[float] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)

    def read_answers(self) -> None:
        """Read all answers of Prometheus together: what a pod asks for and when it ran may stand in two of them."""
        if self.answers:
            metrics = read_state_metrics(self.answers, ", ".join(name for name, _ in self.answers))
            self.jobs(metrics.pods)
            self.machines(metrics.nodes)

    def jobs(self, reading: Reading[JobInterval]) -> None:
        """Take over intervals."""
        self.intervals += reading.facts
        self._take(reading)
        if reading.written_at is not None:
            self.written_at.append(reading.written_at)

    def machines(self, reading: Reading[NodeFact]) -> None:
        """Take over nodes. When they were listed says nothing of how far the log of jobs goes."""
        self.nodes += reading.facts
        self._take(reading)

    def without_repeats(self, source: str) -> list[JobInterval]:
        """Return the intervals, each stay once: logs that overlap in time tell some of them twice."""
        kept, repeated = without_repeats(self.intervals, source)
        self.left_out += repeated
        return kept

    def _take(self, reading: Reading[JobInterval] | Reading[NodeFact]) -> None:
        self.rows_read += reading.rows_read
        self.left_out += reading.left_out
        self.notes += reading.notes


def read_facts(
    files: Sequence[Path],
    zone: Zone,
    nodes: str | None = None,
    columns: Sequence[str] | None = None,
    form: JobFormat | None = None,
    progress: Told | None = None,
) -> Facts:
    """Return what the logs `files` and the nodes say; raise `InputError` for a file that is none of what is expected.

    `nodes` is a file or a short form such as `16x8:H100-80GB`. `columns` name those of a sacct log without a header,
    `form` is the format of any other log of jobs. `progress` is told the share of a sacct log that is read.
    """
    found = _Gathering()
    for file in files:
        _read_jobs(file, zone, columns, form, progress, found)
    found.read_answers()
    if nodes is not None:
        _read_nodes(nodes, zone, found)
    if not found.intervals:
        raise _without_jobs(files[0].name, found.left_out)
    source = ", ".join(file.name for file in files)
    return Facts(
        source=source,
        intervals=found.without_repeats(source) if len(files) > 1 else found.intervals,
        nodes=tuple({node.name: node for node in found.nodes}.values()),
        rows_read=found.rows_read,
        left_out=tuple(found.left_out),
        notes=tuple(dict.fromkeys(found.notes)),
        written_at=max(found.written_at, default=None),
    )


def _without_jobs(name: str, left_out: Sequence[LeftOut]) -> InputError:
    if left_out:
        first = left_out[0].fault
        fact = f"no job with GPUs can be read; {len(left_out):,} rows are left out, the first is {first.path}"
        fact = f"{fact}: {first.fact}"
        return InputError.of(name, fact, first.remedy)
    remedy = "fetch the log of a span in which jobs had GPUs (sacct -a -X -D -P -o ALL -S now-7days)"
    return InputError.of(name, "holds no job that had or asked for a GPU", remedy)


def _read_jobs(
    file: Path,
    zone: Zone,
    columns: Sequence[str] | None,
    form: JobFormat | None,
    progress: Told | None,
    found: _Gathering,
) -> None:
    if form is not None and form.reader == "table":
        found.jobs(intervals_of_log(read_jobs(file, form, file.name), file.name))
        return
    head = _head(file)
    if not is_json(head):
        found.jobs(read_sacct(file, zone=zone, columns=columns, progress=_share_of(progress), name=file.name))
        return
    text = text_of(file)
    if is_slurm_jobs_json(text):
        found.jobs(read_slurm_jobs_json(text, file.name))
    elif is_kubernetes_json(text):
        objects = read_kubernetes_json(text, file.name)
        found.jobs(objects.pods)
        found.machines(objects.nodes)
    elif is_prometheus_json(text):
        found.answers.append((file.name, text))
    else:
        refuse(text, file.name, JOBS_EXPECTED)


def needs_zone(file: Path, form: JobFormat | None) -> bool:
    """Return whether a log states local times, so that nothing can be read without their zone."""
    if form is not None and form.reader == "table":
        return False
    return not is_json(_head(file))


def nodes_need_zone(nodes: str | None) -> bool:
    """Return whether `nodes` is a file that states local times (since when a node has been drained, say)."""
    return nodes is not None and not is_short_cluster(nodes) and is_scontrol_nodes(_nodes_text(nodes))


def _nodes_text(nodes: str) -> str:
    if not Path(nodes).exists():
        remedy = "name a file that is there, or a short form such as 16x8:H100-80GB"
        raise InputError.of("--nodes", f"{nodes!r} is no file", remedy)
    return text_of(Path(nodes))


def _read_nodes(nodes: str, zone: Zone, found: _Gathering) -> None:
    if is_short_cluster(nodes):
        found.machines(read_short_cluster(nodes, "--nodes"))
        return
    file, text = Path(nodes), _nodes_text(nodes)
    if is_scontrol_nodes(text):
        found.machines(read_scontrol_nodes(text, file.name, str(zone)))
    elif is_slurm_nodes_json(text):
        found.machines(read_slurm_nodes_json(text, file.name))
    elif is_kubernetes_json(text):
        found.machines(read_kubernetes_json(text, file.name).nodes)
    elif is_short_cluster(text):
        found.machines(read_short_cluster(text, file.name))
    else:
        refuse(text, file.name, NODES_EXPECTED)


def text_of(file: Path) -> str:
    """Return the whole text of a file, gzipped or not, in UTF-8 or Latin-1; raise `InputError` where there is none."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError.of(file.name, f"has over {MOST_BYTES:,} bytes", "cut it to the days that you need")
        raw = file.read_bytes()
        content = gzip.decompress(raw) if raw.startswith(_GZIP) else raw
    except OSError as error:
        raise InputError.of(
            str(file), f"cannot be read ({error.strerror or 'damaged gzip'})", "name another file"
        ) from None
    except (zlib.error, EOFError):
        raise InputError.of(file.name, "is damaged: its gzip breaks off", "fetch it again") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _head(file: Path) -> str:
    """Return the beginning of a file, to tell what it is."""
    try:
        with file.open("rb") as stream:
            start = stream.read(HEAD_BYTES)
    except OSError as error:
        raise InputError.of(str(file), f"cannot be read ({error.strerror})", "name another file") from None
    if start.startswith(_GZIP):
        try:
            start = zlib.decompressobj(wbits=31).decompress(start, HEAD_BYTES)
        except zlib.error:
            raise InputError.of(file.name, "is a damaged gzip file", "fetch or pack it again") from None
    return start.decode("utf-8", errors="replace")


def _share_of(progress: Told | None) -> Callable[[int, float], None] | None:
    return None if progress is None else lambda _rows, share: progress(share)


def latest_moment(intervals: Iterable[JobInterval], written_at: float | None) -> float:
    """Return the last moment that the log speaks of: when it was written, where it says that, or of its last job.

    Raises `InputError` where no job states a moment.
    """
    moments = [
        moment for each in intervals for moment in (each.submitted, each.started, each.ended) if moment is not None
    ]
    if written_at is not None:
        moments.append(written_at)
    if not moments:
        raise InputError.of("the log", "no job states a moment", "fetch it with Submit, Start and End")
    return max(moments)


def first_moment(intervals: Iterable[JobInterval]) -> float:
    """Return the first moment at which the log says that a job started or was submitted; infinite without any."""
    moments = (moment for each in intervals for moment in (each.submitted, each.started) if moment is not None)
    return min(moments, default=math.inf)
