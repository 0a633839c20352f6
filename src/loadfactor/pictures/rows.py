"""The rows of data behind the charts: one for each box, node, hatch line and stretch of a curve."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from loadfactor.pictures.boxes import Box, largest_box
from loadfactor.pictures.clock import Clock
from loadfactor.pictures.curves import Run, service_runs, utilization_runs
from loadfactor.pictures.density import SERVICES, Density, density, row_edges, steps_per_column
from loadfactor.pictures.palette import KIND_NAMES, KINDS
from loadfactor.pictures.scene import DrawnJob, DrawnService, Scene
from loadfactor.pictures.wording import gpu_text, half_open, number, percent

Row = dict[str, Any]

MAX_HATCH_LINES = 1_500
HATCH_PIXELS = 7.0
MAX_GROUP_ROWS, MAX_GROUP_COLUMNS = 64, 96
JOB_KEY, SERVICE_KEY, SERVICES_KEY, UNAVAILABLE_KEY = "kind:", "service:", "services", "unavailable"


class Rows:
    """Turns a scene into rows; `from` and `until` are positions on the time axis of the clock."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.clock = Clock(scene.problem.horizon)

    def nodes(self) -> list[Row]:
        """Return a row for each node over the whole horizon."""
        offsets = self.scene.problem.cluster.node_offsets
        return [self._box(Box(first, until, 0, self.scene.steps)) for first, until in pairwise(offsets)]

    def jobs(self) -> list[Row]:
        """Return a row for each box of each job."""
        return [row for drawn in self.scene.jobs for row in self._boxes_of_job(drawn)]

    def services(self) -> list[Row]:
        """Return a row for each box of each service."""
        return [row for drawn in self.scene.services for row in self._boxes_of_service(drawn)]

    def labels(self) -> list[Row]:
        """Return a row for each label: the id of a job or service, where it has the most room."""
        services = [(drawn.boxes, f"{SERVICE_KEY}{drawn.index}", drawn.service.id) for drawn in self.scene.services]
        jobs = [(drawn.boxes, JOB_KEY + drawn.job.kind, self._job_label(drawn)) for drawn in self.scene.jobs]
        return [
            {**self._box(largest_box(boxes)), "key": key, "label": label}
            for boxes, key, label in [*services, *jobs]
            if boxes
        ]

    def unavailable(self) -> list[Row]:
        """Return a row for each box of unavailable cells."""
        return [
            {**self._box(box), "key": UNAVAILABLE_KEY, "title": "unavailable", "what": "drained or failed"}
            for box in self.scene.unavailable
        ]

    def groups(self) -> list[Row]:
        """Return a row for each group of cells in which someone works, with its busy share."""
        edges = row_edges(self.scene.problem.cluster, MAX_GROUP_ROWS)
        width = steps_per_column(self.scene.steps, MAX_GROUP_COLUMNS)
        groups = density(self.scene, edges, width)
        busy = np.argwhere(groups.busy > 0)  # False where nothing is available
        return [self._group(groups, int(row), int(column)) for row, column in busy]

    def _group(self, groups: Density, row: int, column: int) -> Row:
        first, until = groups.row_edges[row], groups.row_edges[row + 1]
        start = column * groups.steps_per_column
        end = min(start + groups.steps_per_column, self.scene.steps)
        foremost, share = int(groups.foremost[row, column]), float(groups.busy[row, column])
        return {
            **self._box(Box(first, until, start, end)),
            **self._when(start, end),
            "gpus": f"{first}-{until - 1}",
            "key": SERVICES_KEY if foremost == SERVICES else JOB_KEY + KINDS[foremost],
            "busy": share,
            "total_text": percent(share),
        }

    def hatching(self, step_pixels: float, gpu_pixels: float) -> list[Row]:
        """Return the lines that hatch the unavailable boxes, at 45 degrees at so many pixels a step and a GPU."""
        boxes = self.scene.unavailable
        length = sum((b.end - b.start) * step_pixels + (b.until_gpu - b.first_gpu) * gpu_pixels for b in boxes)
        spacing = max(HATCH_PIXELS, length / MAX_HATCH_LINES)
        return [row for box in boxes for row in self._hatch(box, step_pixels, gpu_pixels, spacing)]

    def curve(self, drawn: DrawnService) -> list[Row]:
        """Return a row for each stretch in which demand and holdings of a service stay the same."""
        return _closed([self._curve_row(drawn, run) for run in service_runs(drawn)])

    def utilization(self) -> list[Row]:
        """Return a row for each stretch in which the utilization stays the same."""
        return _closed([self._utilization_row(run) for run in utilization_runs(self.scene)])

    def _boxes_of_job(self, drawn: DrawnJob) -> Iterator[Row]:
        job, placement = drawn.job, drawn.placement
        facts = {
            "key": JOB_KEY + job.kind,
            "title": job.id,
            "kind": KIND_NAMES[job.kind],
            "priority": number(job.priority),
            "size": len(placement.gpus),
            "gpus": gpu_text(placement.gpus),
            **self._when(placement.start, placement.end),
            "submit": "inherited, already running" if job.running else f"step {job.submit}",
            "waited": f"{drawn.waited_steps} steps",
        }
        for box in drawn.boxes:
            yield {**self._box(box), **facts}

    def _job_label(self, drawn: DrawnJob) -> str:
        return drawn.job.id + (" ▸" if drawn.placement.end > self.scene.steps else "")

    def _boxes_of_service(self, drawn: DrawnService) -> Iterator[Row]:
        for box in drawn.boxes:
            span = slice(box.start, box.end)
            yield {
                **self._box(box),
                "key": f"{SERVICE_KEY}{drawn.index}",
                "title": drawn.service.id,
                "kind": "Service",
                "priority": number(drawn.service.priority),
                "gpus": gpu_text(tuple(range(box.first_gpu, box.until_gpu))),
                **self._when(box.start, box.end),
                "held": _spread(drawn.held[span].tolist()),
                "demand": _spread(drawn.demand[span].tolist()),
                "shortfall": f"{number(drawn.shortfall[span].sum())} GPU-steps",
            }

    def _box(self, box: Box) -> Row:
        position = self.clock.position
        return {
            "first": box.first_gpu,
            "until_gpu": box.until_gpu,
            "from": position(box.start),
            "until": position(box.end),
        }

    def _when(self, start: int, end: int) -> Row:
        return {"steps": half_open(start, end), "clock": self.clock.range_text(start, end) or "not given"}

    def _hatch(self, box: Box, step_pixels: float, gpu_pixels: float, spacing: float) -> Iterator[Row]:
        width = (box.end - box.start) * step_pixels
        height = (box.until_gpu - box.first_gpu) * gpu_pixels
        offset = spacing / 2
        while offset < width + height:
            left, right = max(0.0, offset - height), min(width, offset)
            yield {
                "from": self.clock.position(box.start + left / step_pixels),
                "until": self.clock.position(box.start + right / step_pixels),
                "first": box.first_gpu + (offset - left) / gpu_pixels,
                "until_gpu": box.first_gpu + (offset - right) / gpu_pixels,
            }
            offset += spacing

    def _curve_row(self, drawn: DrawnService, run: Run) -> Row:
        demand, held, served, shortfall = run.values
        return {
            "from": self.clock.position(run.start),
            "until": self.clock.position(run.end),
            **self._when(run.start, run.end),
            "title": drawn.service.id,
            "demand": demand,
            "held": held,
            "served": served,
            "needed": served + shortfall,
            "shortfall": shortfall,
        }

    def _utilization_row(self, run: Run) -> Row:
        jobs, serving = run.values
        return {
            "from": self.clock.position(run.start),
            "until": self.clock.position(run.end),
            **self._when(run.start, run.end),
            "jobs": jobs,
            "total": jobs + serving,
            "jobs_text": percent(jobs),
            "serving_text": percent(serving),
            "total_text": percent(jobs + serving),
        }


def _closed(rows: list[Row]) -> list[Row]:
    """Return `rows` and one more without width, at which a stepped line ends."""
    return [*rows, {**rows[-1], "from": rows[-1]["until"]}]


def _spread(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low} GPUs" if low == high else f"{low} to {high} GPUs"
