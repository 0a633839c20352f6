"""Random problems that mix every feature, always valid, the same for the same seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from loadfactor.model import Problem

KINDS = ("training", "batch_inference", "quantization")
CARDS = (("H100", 80), ("A100", 40), ("L4", 24), (None, None))
Document = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """The largest sizes of a random problem."""

    nodes: int
    node_sizes: tuple[int, ...]
    gpus: int
    steps: int
    jobs: int
    services: int


TINY = Shape(nodes=3, node_sizes=(1, 2, 2, 3, 4), gpus=4, steps=5, jobs=3, services=2)
SMALL = Shape(nodes=6, node_sizes=(1, 2, 3, 4, 4, 6, 8), gpus=24, steps=16, jobs=12, services=3)
MEDIUM = Shape(nodes=12, node_sizes=(2, 4, 6, 8, 8, 8), gpus=64, steps=32, jobs=40, services=4)


def random_problem(seed: int, shape: Shape = SMALL) -> Problem:
    """Return the valid problem of that seed."""
    return Problem.from_document(_Draft(Random(seed), shape).document(f"random-{seed}"))


class _Draft:
    """Builds one document; `busy` are the inherited GPUs, `closings` the steps at which a GPU becomes unavailable."""

    def __init__(self, rng: Random, shape: Shape) -> None:
        self.rng = rng
        self.shape = shape
        self.steps = rng.randint(max(1, shape.steps // 2), shape.steps)
        self.finish_inside = self._chance(0.7)
        self.typed = self._chance(0.5)
        self.whole_nodes = self._chance(0.3)
        self.nodes = self._nodes()
        self.node_of = [node for node in self.nodes for _ in range(node["gpus"])]
        self.unavailable = self._unavailable()
        self.busy: set[int] = set()

    def document(self, name: str) -> Document:
        jobs = self._jobs()
        return {
            "name": name,
            "horizon": {"steps": self.steps, "finish_inside": self.finish_inside},
            "objective": {
                "realtime_penalty": self.rng.choice([8.0, 5.0, 10.0, 1.0, 0.0]) if self._chance(0.5) else 8.0,
                "decay": self.rng.choice([1.0, 0.9, 0.5]) if self._chance(0.4) else 0.98,
            },
            "cluster": {
                "block_sizes": "whole_nodes" if self.whole_nodes else "power_of_two",
                "nodes": self.nodes,
                "unavailable": self.unavailable,
            },
            "jobs": jobs,
            "services": self._services(),
        }

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _nodes(self) -> list[Document]:
        uniform = self.rng.choice(self.shape.node_sizes) if self._chance(0.5) else None
        nodes: list[Document] = []
        total = 0
        for index in range(self.shape.nodes):
            gpus = uniform or self.rng.choice(self.shape.node_sizes)
            if total + gpus > self.shape.gpus or (total and self._chance(0.1)):
                break
            total += gpus
            card, memory = self.rng.choice(CARDS) if self.typed else (None, None)
            stated = {} if card is None else {"gpu_type": card, "gpu_memory_gib": memory}
            nodes.append({"name": f"node-{index}", "gpus": gpus, **stated})
        return nodes

    def _unavailable(self) -> list[Document]:
        entries: list[Document] = []
        while self._chance(0.25) and len(entries) < 4:
            start = self.rng.randrange(self.steps)
            gpus = self.rng.sample(range(len(self.node_of)), self.rng.randint(1, max(1, len(self.node_of) // 4)))
            until = self.rng.randint(start + 1, self.steps + 3)
            entries.append({"gpus": gpus, "from": start, "until": until})
        return entries

    def _closings(self, gpu: int) -> list[int]:
        return sorted(entry["from"] for entry in self.unavailable if gpu in entry["gpus"])

    def _jobs(self) -> list[Document]:
        running = self.rng.randint(1, 3) if self._chance(0.4) else 0
        jobs = [job for index in range(running) if (job := self._running_job(f"running-{index}"))]
        fewest = 0 if self._chance(0.05) else (self.shape.jobs + 1) // 2
        count = max(0, self.rng.randint(fewest, self.shape.jobs) - len(jobs))
        # work enough for about once or twice the grid, so that jobs compete
        appetite = self.rng.uniform(0.7, 2.4) * self.steps * len(self.node_of)
        jobs += [self._waiting_job(f"job-{index}", appetite / count) for index in range(count)]
        self.rng.shuffle(jobs)
        return jobs

    def _common(self, id_: str) -> Document:
        priority = self.rng.choice([1, 2.5, 3, 4, 5, 6, 8, 9.5, 10]) if self._chance(0.95) else 0
        return {"id": id_, "kind": self.rng.choice(KINDS), "priority": priority}

    def _needs(self) -> Document:
        if not self.typed or self._chance(0.6):
            return {}
        node = self.rng.choice(self.nodes)
        needs: Document = {}
        if "gpu_type" in node and self._chance(0.7):
            needs["gpu_types"] = sorted({node["gpu_type"], self.rng.choice(["H100", "A100", "L4"])})
        if self._chance(0.5):
            needs["gpu_memory_gib"] = self.rng.choice([16, 24, 40, 80])
        return needs

    def _meets(self, needs: Document, gpu: int) -> bool:
        node = self.node_of[gpu]
        type_fits = "gpu_types" not in needs or node.get("gpu_type") in needs["gpu_types"]
        return type_fits and node.get("gpu_memory_gib", 0) >= needs.get("gpu_memory_gib", 0)

    def _sizes(self) -> list[int]:
        """Return sizes that R3 admits by number: powers of two, and sums of neighbouring nodes for whole nodes."""
        total, largest = len(self.node_of), max(node["gpus"] for node in self.nodes)
        powers = [1 << bit for bit in range(total.bit_length())]
        if not self.whole_nodes:
            return powers
        gpus = [node["gpus"] for node in self.nodes]
        sums = {sum(gpus[first:last]) for first in range(len(gpus)) for last in range(first + 2, len(gpus) + 1)}
        return sorted({power for power in powers if power <= largest} | sums)

    def _waiting_job(self, id_: str, gpu_steps: float) -> Document:
        sizes = self._sizes()
        size = min(self.rng.choice(sizes) for _ in range(2))
        longest = self.steps + 2 if self._chance(0.1) else self.steps
        duration = max(1, min(round(gpu_steps / size * self.rng.uniform(0.2, 1.0)), longest))
        job = {**self._common(id_), **self._needs(), "gpus": size, "duration": duration}
        if self._chance(0.5):
            job["submit"] = self.rng.randint(0, self.steps if self._chance(0.1) else self.steps // 3)
        if self._chance(0.4):
            job["gpus"] = {"min": self.rng.randint(1, size), "max": self.rng.randint(size, 2 * size)}
        if self._chance(0.4):
            job["work"] = job.pop("duration") * size + self.rng.randint(0, size)
        return job

    def _running_job(self, id_: str) -> Document | None:
        needs = self._needs()
        remaining = self.rng.randint(1, self.steps if self.finish_inside else self.steps + 3)
        free = [
            gpu
            for gpu in range(len(self.node_of))
            if gpu not in self.busy and self._meets(needs, gpu) and not any(s < remaining for s in self._closings(gpu))
        ]
        if not free:
            return None
        count = self.rng.randint(1, min(4, len(free)))
        first = self.rng.randint(0, len(free) - count)
        odd = self._chance(0.4)
        gpus = sorted(self.rng.sample(free, count) if odd else free[first : first + count])
        self.busy.update(gpus)
        sizes = {"min": self.rng.randint(1, count), "max": self.rng.randint(count, 2 * count)}
        time = {"duration": remaining + self.rng.randint(0, 5)} if self._chance(0.7) else {"work": 50}
        running = {"gpus": gpus, "remaining": remaining}
        return {**self._common(id_), **needs, **time, "gpus": sizes, "running": running}

    def _services(self) -> list[Document]:
        count = self.rng.randint(0, self.shape.services)
        return [self._service(f"service-{index}", max(1, len(self.node_of) // max(1, count))) for index in range(count)]

    def _service(self, id_: str, peak: int) -> Document:
        service: Document = {"id": id_, "priority": self.rng.choice([0, 1, 3, 5, 9]), **self._needs()}
        service["demand"] = self._demand(self.rng.randint(0, peak + 1 if self._chance(0.3) else peak // 2 + 1))
        service["max_swap"] = self.rng.choice([0, 1, 1, 2, 3, peak])
        if self._chance(0.3):
            service["max_gpus"] = self.rng.randint(0, peak + 1)
        if self._chance(0.4):
            service["held"] = self._held(service)
        return service

    def _demand(self, peak: int) -> list[int]:
        if self._chance(0.2):
            return [self.rng.randint(0, peak) for _ in range(self.steps)]
        start, length = self.rng.randrange(self.steps), self.rng.randint(1, self.steps)
        base = self.rng.randint(0, peak)
        return [peak if start <= step < start + length else base for step in range(self.steps)]

    def _held(self, service: Document) -> list[int]:
        """Return GPUs that the service can hold at first without being forced over its cap."""
        cap = service["max_swap"]
        held: list[int] = []
        free = [gpu for gpu in range(len(self.node_of)) if gpu not in self.busy and self._meets(service, gpu)]
        for gpu in self.rng.sample(free, min(len(free), self.rng.randint(0, 4))):
            closings = sorted(steps[0] for other in [*held, gpu] if (steps := self._closings(other)))
            in_time = all(lost <= cap * (step + 1) for lost, step in enumerate(closings, start=1))
            if in_time and len(held) < service.get("max_gpus", len(free)) + cap:
                held.append(gpu)
        self.busy.update(held)
        return held
