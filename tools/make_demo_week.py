"""Makes the week that `loadfactor audit --demo` looks at: a log, nodes, demand and telemetry of an invented cluster.

Run it to write src/loadfactor/audit/week anew: `python tools/make_demo_week.py`. Everything is drawn from one seed.

The cluster: 16 nodes of 8 GPUs. Six nodes are a partition of their own for two services, which hold them day and night,
as sites do that size for the peak; the rest is for jobs, one node of it drained half way through the week. Jobs come by
the working day, with sizes, run times, limits and failures drawn from distributions (below). They are started by a
plain scheduler, written for this: in the order of their arrival, whoever fits goes, on the node that it fills best.
What the audit then finds was not aimed at: no figure of this script was set by looking at the allocator's result.
"""

from __future__ import annotations

import gzip
import heapq
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

TARGET = Path(__file__).parents[1] / "src" / "loadfactor" / "audit" / "week"
SEED = 20260302
ZONE = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 3, 2, tzinfo=ZONE)
BEGIN = int(MONDAY.timestamp())
DAYS, DAY, HOUR = 7, 86_400, 3_600
END = BEGIN + DAYS * DAY
EARLIER = BEGIN - 2 * DAY
NODES, GPUS, SERVICE_NODES = 16, 8, 6
DRAINED, DRAINED_AT = 15, BEGIN + 3 * DAY + 10 * HOUR
JOBS = 760
USERS = {
    "ada": "vision", "boris": "vision", "chen": "vision", "dana": "language", "emil": "language", "fatima": "language",
    "goran": "language", "hanna": "speech", "ivan": "speech", "jun": "science", "kofi": "science", "lena": "science",
}  # fmt: skip
LIMITED_USER, LIMITED_GPUS = "lena", 8
SIZES = {1: 42, 2: 18, 3: 4, 4: 14, 6: 2, 8: 13, 16: 5, 32: 2}
NAMES = ("train", "finetune", "eval", "sweep", "quantize", "embed-corpus", "notebook")
LIMIT_HOURS = (1, 2, 4, 8, 12, 24, 48, 72)
BY_HOUR = (2, 1, 1, 1, 1, 1, 2, 4, 8, 12, 14, 13, 11, 12, 14, 14, 13, 11, 8, 6, 5, 4, 4, 3)
BY_WEEKDAY = (1.0, 1.1, 1.1, 1.0, 0.9, 0.35, 0.3)
COLUMNS = (
    "JobID|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|Timelimit|NNodes|ReqTRES|AllocTRES|"
    "NodeList|ExitCode|Reason"
)
TELEMETRY_STEP = HOUR


@dataclass
class Job:
    """A job of the week; times in seconds since 1970, `run` is what it would run if nothing stopped it."""

    number: int
    user: str
    name: str
    gpus: int
    submitted: int
    run: int
    limit: int
    end_state: str
    used: float
    start: int | None = None
    end: int | None = None
    state: str = "PENDING"
    reason: str = "None"
    where: list[tuple[int, int]] = field(default_factory=list)

    @property
    def ends_after(self) -> int:
        """How long it runs once it has started."""
        return min(self.run, self.limit)


def drawn_jobs(dice: random.Random) -> list[Job]:
    """Return the jobs by submission: from two days before the week on, so that it begins with a cluster in use."""
    hours = [EARLIER + HOUR * number for number in range((END - EARLIER) // HOUR)]
    weights = [_arrivals(hour) for hour in hours]
    moments = sorted(hour + dice.randrange(HOUR) for hour in dice.choices(hours, weights, k=JOBS))
    return [_job(dice, number, moment) for number, moment in enumerate(moments, start=48_211)]


def _arrivals(hour: int) -> float:
    local = datetime.fromtimestamp(hour, ZONE)
    return BY_HOUR[local.hour] * BY_WEEKDAY[local.weekday()]


def _job(dice: random.Random, number: int, moment: int) -> Job:
    gpus = dice.choices(list(SIZES), list(SIZES.values()))[0]
    name = "notebook" if gpus == 1 and dice.random() < 0.15 else dice.choice(NAMES[:-1])
    run = int(min(60 * HOUR, max(120, HOUR * dice.lognormvariate(math.log(1.6 + 0.25 * math.sqrt(gpus)), 1.35))))
    wanted = run * math.exp(dice.uniform(math.log(1.2), math.log(10)))
    limit = next((hours for hours in LIMIT_HOURS if hours * HOUR >= wanted), LIMIT_HOURS[-1]) * HOUR
    end_state = dice.choices(
        ("COMPLETED", "FAILED", "CANCELLED by 1007", "OUT_OF_MEMORY", "TIMEOUT"), (80, 9, 6, 2, 3)
    )[0]
    if end_state in ("FAILED", "OUT_OF_MEMORY"):
        run = max(30, int(run * dice.random() ** 2))
    if end_state == "TIMEOUT":
        run = limit + HOUR
    used = 0.0 if name == "notebook" and dice.random() < 0.6 else dice.betavariate(5, 2)
    if dice.random() < 0.03:
        used = 0.0
    return Job(number, dice.choice(list(USERS)), name, gpus, moment, run, limit, end_state, used)


class Scheduler:
    """Starts jobs in the order of their arrival; whoever fits goes, on the node that it fills best."""

    def __init__(self) -> None:
        self.free: dict[int, set[int]] = {node: set(range(GPUS)) for node in range(SERVICE_NODES, NODES)}
        self.waiting: list[Job] = []
        self.ends: list[tuple[int, int, Job]] = []

    def run(self, jobs: list[Job]) -> list[Job]:
        """Return all stays: a job that lost its node comes back as one of its own."""
        stays = list(jobs)
        moments = [(job.submitted, job) for job in jobs]
        heapq.heapify(arrivals := [(at, job.number, job) for at, job in moments])
        drained = False
        while arrivals or self.ends:
            now = min(arrivals[0][0] if arrivals else END, self.ends[0][0] if self.ends else END)
            if not drained and now >= DRAINED_AT:
                stays += self._drain()
                drained = True
            if now >= END:
                break
            while arrivals and arrivals[0][0] <= now:
                self.waiting.append(heapq.heappop(arrivals)[2])
            while self.ends and self.ends[0][0] <= now:
                self._end(heapq.heappop(self.ends)[2], now)
            self._start_all(now)
        return stays

    def _start_all(self, now: int) -> None:
        for job in list(self.waiting):
            if job.user == LIMITED_USER and self._held_by(job.user) + job.gpus > LIMITED_GPUS:
                job.reason = "QOSMaxGRESPerUser"
                continue
            job.reason = "Resources"
            where = self._fit(job.gpus)
            if where:
                self._start(job, where, now)

    def _held_by(self, user: str) -> int:
        return sum(job.gpus for _, _, job in self.ends if job.user == user)

    def _fit(self, gpus: int) -> list[tuple[int, int]]:
        if gpus > GPUS:
            whole = [node for node, free in self.free.items() if len(free) == GPUS][: gpus // GPUS]
            return [(node, gpu) for node in whole for gpu in range(GPUS)] if len(whole) * GPUS == gpus else []
        fitting = [(len(free), node) for node, free in self.free.items() if len(free) >= gpus]
        return [(min(fitting)[1], gpu) for gpu in sorted(self.free[min(fitting)[1]])[:gpus]] if fitting else []

    def _start(self, job: Job, where: list[tuple[int, int]], now: int) -> None:
        self.waiting.remove(job)
        job.start, job.where, job.state, job.reason = now, where, "RUNNING", "None"
        for node, gpu in where:
            self.free[node].discard(gpu)
        heapq.heappush(self.ends, (now + job.ends_after, job.number, job))

    def _end(self, job: Job, now: int) -> None:
        job.end, job.state = now, "TIMEOUT" if job.run > job.limit else job.end_state
        for node, gpu in job.where:
            if node in self.free:
                self.free[node].add(gpu)

    def _drain(self) -> list[Job]:
        """Take a node out: what runs there dies, and is queued again."""
        self.free.pop(DRAINED)
        again = []
        for entry in [entry for entry in self.ends if any(node == DRAINED for node, _ in entry[2].where)]:
            job = entry[2]
            self.ends.remove(entry)
            self._end(job, DRAINED_AT)
            job.state = "NODE_FAIL"
            back = Job(
                job.number, job.user, job.name, job.gpus, DRAINED_AT, job.run, job.limit, job.end_state, job.used
            )
            self.waiting.append(back)
            again.append(back)
        heapq.heapify(self.ends)
        return again


def sacct_text(stays: list[Job]) -> str:
    """Return the week as `sacct -P` prints it."""
    return "\n".join([COLUMNS, *_service_rows(), *(_row(job) for job in stays if _is_shown(job))]) + "\n"


def _is_shown(job: Job) -> bool:
    return job.submitted < END and (job.end is None or job.end > BEGIN)


def _clock(moment: int | None) -> str:
    return "Unknown" if moment is None else datetime.fromtimestamp(moment, ZONE).strftime("%Y-%m-%dT%H:%M:%S")


def _limit(seconds: int) -> str:
    days, rest = divmod(seconds // HOUR, 24)
    return f"{days}-{rest:02}:00:00" if days else f"{rest:02}:00:00"


def _row(job: Job) -> str:
    nodes = sorted({node for node, _ in job.where})
    asked = (
        f"billing={4 * job.gpus},cpu={8 * job.gpus},gres/gpu={job.gpus},mem={64 * job.gpus}G,node={max(1, len(nodes))}"
    )
    given = asked.replace("gres/gpu=", "gres/gpu:h100=") + f",gres/gpu={job.gpus}" if nodes else ""
    names = ",".join(f"gpu{node + 1:02}" for node in nodes) or "None assigned"
    code = {"FAILED": "1:0", "OUT_OF_MEMORY": "0:125", "TIMEOUT": "0:0"}.get(job.state, "0:0")
    cells = (
        job.number, job.name, job.user, USERS[job.user], "batch", "normal", job.state, _clock(job.submitted),
        _clock(job.submitted), _clock(job.start), _clock(job.end), _limit(job.limit), max(1, len(nodes)), asked, given,
        names, code, job.reason,
    )  # fmt: skip
    return "|".join(map(str, cells))


def _service_rows() -> Iterator[str]:
    since = _clock(BEGIN - 20 * DAY)
    for number, (name, nodes) in enumerate((("chat", range(1, 6)), ("search", range(6, 7)))):
        hosts = f"gpu[{nodes[0]:02}-{nodes[-1]:02}]" if len(nodes) > 1 else f"gpu{nodes[0]:02}"
        gpus = GPUS * len(nodes)
        tres = f"cpu={8 * gpus},gres/gpu:h100={gpus},gres/gpu={gpus},node={len(nodes)}"
        yield (
            f"{47_002 + number}|serve-{name}|ops|platform|inference|service|RUNNING|{since}|{since}|{since}|Unknown|"
            f"UNLIMITED|{len(nodes)}|{tres}|{tres}|{hosts}|0:0|None"
        )


def nodes_text() -> str:
    """Return the nodes as `scontrol show node --oneliner` prints them."""
    lines = []
    for node in range(NODES):
        partition = "inference" if node < SERVICE_NODES else "batch"
        state, reason = "MIXED", ""
        if node == DRAINED:
            state = "IDLE+DRAIN"
            reason = f" Reason=XID 79, GPU fell off the bus [root@{_clock(DRAINED_AT)}]"
        lines.append(
            f"NodeName=gpu{node + 1:02} Arch=x86_64 CoresPerSocket=32 CPUTot=128 Gres=gpu:h100:{GPUS} "
            f"NodeAddr=gpu{node + 1:02} RealMemory=2000000 Sockets=2 State={state} Partitions={partition}{reason}"
        )
    return "\n".join(lines) + "\n"


def needed_gpus(moment: int) -> float:
    """Return the GPUs that both services need: a day curve with a dip at night, lower on weekends."""
    local = datetime.fromtimestamp(moment, ZONE)
    hour = local.hour + local.minute / 60
    day = max(0.0, math.sin(math.pi * (hour - 6.5) / 16)) if 6.5 <= hour <= 22.5 else 0.0
    evening = 0.35 * math.exp(-(((hour - 20.5) / 1.6) ** 2))
    busy = (0.65 if local.weekday() >= 5 else 1.0) * (day + evening)
    return 13 + 27 * busy


def demand_text(dice: random.Random) -> str:
    """Return the demand of services, every ten minutes."""
    rows = ["time,gpus"]
    for moment in range(BEGIN, END, 600):
        stamp = (datetime.fromtimestamp(moment, ZoneInfo("UTC"))).strftime("%Y-%m-%dT%H:%M:%SZ")
        rows.append(f"{stamp},{max(0.0, needed_gpus(moment) + dice.gauss(0, 0.8)):.1f}")
    return "\n".join(rows) + "\n"


def telemetry(stays: list[Job], dice: random.Random) -> dict[str, str]:
    """Return Prometheus' answers to two range queries: the activity of every GPU, and the power that it drew."""
    owner: dict[tuple[int, int], list[Job]] = {}
    for job in stays:
        for place in job.where:
            owner.setdefault(place, []).append(job)
    active, power = [], []
    for node in range(NODES):
        for gpu in range(GPUS):
            labels = {
                "Hostname": f"gpu{node + 1:02}", "gpu": str(gpu), "modelName": "NVIDIA H100 80GB HBM3",
                "UUID": f"GPU-{node:04x}{gpu:04x}-0000-4000-8000-000000000000",
            }  # fmt: skip
            shares = [
                (moment, _activity(node, owner.get((node, gpu), []), moment, dice))
                for moment in range(BEGIN, END, TELEMETRY_STEP)
                if node != DRAINED or moment < DRAINED_AT
            ]
            active.append({"metric": {"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE", **labels},
                           "values": [[moment, f"{share:.2f}"] for moment, share in shares]})  # fmt: skip
            power.append({"metric": {"__name__": "DCGM_FI_DEV_POWER_USAGE", **labels},
                          "values": [[moment, f"{75 + 560 * share:.0f}"] for moment, share in shares]})  # fmt: skip
    return {"activity.json": _answer(active), "power.json": _answer(power)}


def _activity(node: int, jobs: list[Job], moment: int, dice: random.Random) -> float:
    if node < SERVICE_NODES:
        return min(1.0, max(0.02, 0.85 * needed_gpus(moment) / (SERVICE_NODES * GPUS) + dice.gauss(0, 0.04)))
    for job in jobs:
        if job.start is not None and job.start <= moment < (job.end or END):
            return 0.0 if not job.used else min(1.0, max(0.06, job.used + dice.gauss(0, 0.05)))
    return 0.0


def _answer(series: list[dict[str, object]]) -> str:
    document = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    return json.dumps(document, separators=(",", ":")) + "\n"


def made_files() -> dict[str, bytes]:
    """Return the content of every file of the demo by its name."""
    dice = random.Random(SEED)  # noqa: S311 - data for looking at, not for secrets
    stays = Scheduler().run(drawn_jobs(dice))
    texts = {"jobs.txt": sacct_text(stays), "nodes.txt": nodes_text(), "demand.csv": demand_text(dice)}
    packed = {f"{name}.gz": gzip.compress(text.encode(), mtime=0) for name, text in telemetry(stays, dice).items()}
    return {name: text.encode() for name, text in texts.items()} | packed


def main() -> None:
    """Write every file of the demo."""
    TARGET.mkdir(exist_ok=True)
    for name, content in made_files().items():
        (TARGET / name).write_bytes(content)


if __name__ == "__main__":
    main()
