"""Makes the sample logs that the package ships, byte for byte the same at every run. All of it is invented.

Usage: python tools/make_sample_data.py [DIRECTORY]

A team with 64 GPUs, over a fortnight that starts on Monday 2026-03-02 (UTC):

- jobs.csv: seven days of batch work. People submit in office hours on weekdays and little at night; run times are
  log-normal within each kind; most jobs are small and a few are large; a few ask for 3, 6, 12 or 24 GPUs.
- demand_chat.csv, demand_embed.csv: requests in ten-minute bins. A chat assistant follows the working day, with a dip
  at noon, and halves at the weekend; an embedding service has a flat base and two indexing peaks a night, and its
  counters were lost for half an hour on the first Tuesday (zero bins) and for fifty minutes on the Sunday (no rows).

The seed and the day of the recipe were chosen from ten seeds and three days each: contended, and little enough running
at midnight that a FIFO can reserve both peaks. Of those, this is the one with the smallest gain of `fast` over `fifo`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import cos, exp, pi
from pathlib import Path
from random import Random

SEED = 20260304
START = datetime(2026, 3, 2)  # noqa: DTZ001 - written without offset, as the public logs are
JOB_DAYS, DEMAND_DAYS = 7, 14
BIN_SECONDS, BINS_PER_DAY = 600, 144
CAP_SECONDS = 48 * 3600
HOURLY_SUBMISSIONS = (1, 1, 0.5, 0.5, 0.5, 0.5, 1, 2, 4, 6, 6, 5, 3, 4, 6, 6, 5, 4, 3, 2, 2, 2, 1.5, 1)
WEEKDAY_JOBS, WEEKEND_JOBS = 66, 24
DEMAND_COLUMNS = (
    "t_s,rate_rps,active_clients,top1_client_share,mean_input_tokens,mean_output_tokens,token_stats_rate_coverage"
)
TARGET = Path(__file__).parents[1] / "src" / "loadfactor" / "sources" / "sample"


@dataclass(frozen=True)
class KindOfJob:
    """How often a kind comes, how long it runs and how large it is; weights need not add up to one."""

    name: str
    weight: float
    median_hours: float
    sigma: float
    sizes: dict[int, float]
    priorities: dict[int, float]


KINDS = (
    KindOfJob(
        "training",
        0.5,
        3.6,
        1.0,
        {1: 12, 2: 12, 4: 20, 6: 2, 8: 30, 12: 2, 16: 9, 24: 1, 32: 3},
        {1: 2, 2: 4, 4: 3, 8: 1},
    ),
    KindOfJob("batch_inference", 0.35, 1.5, 0.9, {1: 45, 2: 25, 3: 3, 4: 20, 8: 7}, {1: 5, 2: 3, 4: 2}),
    KindOfJob("quantization", 0.15, 0.9, 0.6, {1: 40, 2: 30, 4: 22, 8: 8}, {1: 2, 2: 3, 4: 2}),
)


def jobs_csv(random: Random) -> str:
    """Return the log of jobs: the columns of the Helios one, and a kind and a priority."""
    lines = ["job_id,submit_time_local,arrival_s,service_s,gpus,service_capped_48h,kind,priority"]
    for number, arrival in enumerate(_arrivals(random), start=1001):
        kind = random.choices(KINDS, [entry.weight for entry in KINDS])[0]
        seconds = round(kind.median_hours * 3600 * exp(random.gauss(0, kind.sigma)))
        gpus, priority = _drawn(random, kind.sizes), _drawn(random, kind.priorities)
        row = (
            number,
            START + timedelta(seconds=arrival),
            arrival,
            min(max(seconds, 60), CAP_SECONDS),
            gpus,
            int(seconds > CAP_SECONDS),
            kind.name,
            priority,
        )
        lines.append(",".join(map(str, row)))
    return "\n".join(lines) + "\n"


def demand_csv(random: Random, name: str) -> str:
    """Return the log of demand of the service `name`, in the columns of ServeGen's ten-minute sums."""
    lines = [
        "t_s,rate_rps,active_clients,top1_client_share,mean_input_tokens,mean_output_tokens,token_stats_rate_coverage"
    ]
    level = 1.0
    for number in range(DEMAND_DAYS * BINS_PER_DAY):
        day, time_of_day = divmod(number, BINS_PER_DAY)
        level = 0.9 * level + 0.1 * exp(random.gauss(0, 0.25))
        shares = (random.uniform(0.15, 0.4), random.uniform(0.85, 0.99))
        tokens = (random.uniform(0.93, 1.07), random.uniform(0.93, 1.07))
        shape = _chat if name == "chat" else _embed
        rate = shape(day, 24 * time_of_day / BINS_PER_DAY) * level * exp(random.gauss(0, 0.03))
        if name == "embed" and day == 6 and 60 <= time_of_day < 65:
            continue
        if name == "embed" and day == 1 and 21 <= time_of_day < 24:
            lines.append(f"{number * BIN_SECONDS},0,0,0,,,")
            continue
        base_tokens = (820, 310) if name == "chat" else (410, 1)
        lines.append(
            f"{number * BIN_SECONDS},{rate:.3f},{round(rate * 1.7)},{shares[0]:.4f},"
            f"{base_tokens[0] * tokens[0]:.1f},{base_tokens[1] * tokens[1]:.1f},{shares[1]:.4f}"
        )
    return "\n".join(lines) + "\n"


def _arrivals(random: Random) -> Iterator[int]:
    for day in range(JOB_DAYS):
        of_the_day = WEEKEND_JOBS if day % 7 >= 5 else WEEKDAY_JOBS
        hours = random.choices(range(24), HOURLY_SUBMISSIONS, k=of_the_day)
        yield from sorted(day * 86400 + hour * 3600 + random.randrange(3600) for hour in hours)


def _drawn(random: Random, weights: dict[int, float]) -> int:
    return random.choices(list(weights), list(weights.values()))[0]


def _chat(day: int, hour: float) -> float:
    """Requests a second: two humps of a working day, and half of it at the weekend."""
    humps = exp(-(((hour - 10.5) / 2.4) ** 2)) + 0.95 * exp(-(((hour - 15.5) / 2.8) ** 2))
    evening = 0.45 * exp(-(((hour - 20.5) / 2.0) ** 2))
    return 9 + 46 * (humps + evening) * (0.5 if day % 7 >= 5 else 1.0)


def _embed(day: int, hour: float) -> float:
    """Requests a second: a base that follows the day faintly, and indexing runs at one and at four in the night."""
    base = 150 - 40 * cos(2 * pi * (hour - 3) / 24) * (0.6 if day % 7 >= 5 else 1.0)
    return base + 280 * exp(-(((hour - 1.2) / 0.7) ** 2)) + 200 * exp(-(((hour - 4.5) / 0.6) ** 2))


def made_files() -> dict[str, str]:
    """Return the name and content of every file; each has a generator of its own, so that one may change alone."""
    jobs, chat, embed = (Random(SEED + offset) for offset in range(3))  # noqa: S311 - not for cryptography
    return {
        "jobs.csv": jobs_csv(jobs),
        "demand_chat.csv": demand_csv(chat, "chat"),
        "demand_embed.csv": demand_csv(embed, "embed"),
    }


def main() -> None:
    """Write the files."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    for name, content in made_files().items():
        (target / name).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
