"""The seven recipes of the shipped scenarios: what is drawn, between which limits, and which figures are asked for.

A recipe says what a workload looks like; it knows nothing of any policy. The figures asked for are the published ones
(`fifo` exactly, the gain of an optimal plan within a window), and the maker takes the first seed that meets them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["training", "batch_inference", "quantization"]
Range = tuple[int, int]


@dataclass(frozen=True)
class ServiceRecipe:
    """A service whose demand swings between a night and a peak level around a peak hour; all ranges are inclusive."""

    id: str
    priority: int
    night: Range
    peak: Range
    peak_hour: Range
    width_hours: float
    max_swap: int


@dataclass(frozen=True)
class JobRecipe:
    """A family of jobs. `moldable` of them in ten may halve their block, with the same work in GPU-hours."""

    kind: Kind
    names: tuple[str, ...]
    count: int
    sizes: tuple[int, ...]
    hours: Range
    priorities: tuple[int, ...]
    submit: Range
    moldable: int = 0
    gpu_memory_gib: float | None = None


@dataclass(frozen=True)
class Recipe:
    """A scenario: its workload, and the figures that an accepted seed must meet.

    `fifo_cells`: utilized cells under fifo. `optimum_cells` and `gain` (value of the optimum over fifo's, less one):
    those of the proven optimum. `finished`: jobs finished under both, where that is published. Ranges are inclusive.
    """

    name: str
    title: str
    stands_for: str
    services: tuple[ServiceRecipe, ...]
    jobs: tuple[JobRecipe, ...]
    fifo_cells: Range
    optimum_cells: Range
    gain: tuple[float, float]
    nodes: int = 1
    finished: int | None = None
    node: dict[str, object] = field(
        default_factory=lambda: {"gpus": 8, "gpu_type": "H100-80GB", "gpu_memory_gib": 80.0}
    )


FINE_TUNES = (
    "sft-support-bot",
    "lora-legal-drafts",
    "dpo-assistant",
    "reward-model",
    "reranker-finetune",
    "speech-finetune",
    "embedding-distill",
    "vision-encoder",
    "recsys-retrain",
    "fraud-model-retrain",
    "code-model-sft",
    "ocr-finetune",
    "translation-adapter",
    "forecast-retrain",
)
BATCHES = (
    "nightly-embeddings",
    "transcribe-calls",
    "classify-tickets",
    "caption-catalogue",
    "evaluation-suite",
    "summarise-contracts",
    "moderation-rescan",
    "ocr-archive",
    "synthetic-dialogues",
    "translate-reviews",
    "tag-photos",
    "score-leads",
    "redact-transcripts",
    "reindex-knowledge-base",
)
QUANTIZATIONS = (
    "awq-llama-70b",
    "gptq-mixtral-8x7b",
    "fp8-qwen-32b",
    "int4-chat-8b",
    "fp8-code-34b",
    "awq-reranker",
    "int8-speech",
    "gptq-gemma-27b",
    "fp8-vision-11b",
    "awq-translation-12b",
)

MIXED = Recipe(
    name="mixed",
    title="A bit of everything (control)",
    stands_for=(
        "One node of a product team that shares its GPUs: a chat assistant with an office-hours curve and a small "
        "code assistant, fine-tunes of several sizes, nightly batch inference, and models to quantize before a "
        "release. Nothing dominates. This is the control: what an ordinary day loses to peak reservation and "
        "order of arrival."
    ),
    services=(
        ServiceRecipe("chat-assistant", 9, (0, 0), (2, 3), (13, 16), 2.5, 1),
        ServiceRecipe("code-assistant", 7, (0, 0), (1, 1), (10, 12), 2.5, 1),
    ),
    jobs=(
        JobRecipe("training", FINE_TUNES, 4, (2, 4), (4, 8), (4, 6, 8), (0, 12), 3),
        JobRecipe("batch_inference", BATCHES, 5, (1, 2), (2, 7), (2, 3, 4, 5), (0, 16), 5),
        JobRecipe("quantization", QUANTIZATIONS, 3, (1, 2), (1, 3), (4, 5, 6, 7), (4, 18)),
    ),
    fifo_cells=(99, 99),
    optimum_cells=(139, 168),
    gain=(0.48, 0.50),
)

TRAINING_HEAVY = Recipe(
    name="training-heavy",
    title="A research group before a deadline",
    stands_for=(
        "One node of a research group: long fine-tunes and pre-training ablations of 4 and 8 GPUs queue up from "
        "midnight, short urgent runs arrive during the day, and a demo service needs a few GPUs in the afternoon. "
        "In order of arrival, the wide runs wait for one another and everything small and urgent waits behind "
        "them."
    ),
    services=(ServiceRecipe("demo-chat", 8, (0, 0), (2, 3), (14, 16), 2.5, 1),),
    jobs=(
        JobRecipe("training", FINE_TUNES, 8, (2, 4, 4), (3, 8), (2, 3, 5, 8, 10), (0, 8), 3),
        JobRecipe("training", ("pretrain-ablation-a", "pretrain-ablation-b"), 2, (4, 8), (3, 6), (6, 8, 10), (0, 6)),
        JobRecipe("batch_inference", BATCHES, 1, (1, 2), (2, 4), (2, 3), (0, 8), 5),
        JobRecipe("quantization", QUANTIZATIONS, 1, (1, 2), (1, 2), (3, 5), (2, 14)),
    ),
    fifo_cells=(103, 103),
    optimum_cells=(167, 167),
    gain=(1.045, 1.0515),
)

INFERENCE_HEAVY = Recipe(
    name="inference-heavy",
    title="Mostly real-time inference, with a strong day curve",
    stands_for=(
        "One node that earns its keep with two real-time services: a chat assistant and a search reranker whose "
        "demand at noon is several times that of the night. Batch work is what fits beneath and beside the curve. "
        "Reserving the peak all day leaves GPUs idle every night; following the curve, within the swap cap, gives "
        "them to jobs."
    ),
    services=(
        ServiceRecipe("chat-assistant", 9, (1, 1), (3, 4), (13, 16), 4.0, 1),
        ServiceRecipe("search-reranker", 8, (0, 1), (2, 3), (11, 19), 4.0, 1),
    ),
    jobs=(
        JobRecipe("training", FINE_TUNES, 3, (1, 2, 4), (3, 7), (3, 5, 6), (0, 12), 4),
        JobRecipe("batch_inference", BATCHES, 6, (1, 2), (2, 6), (2, 3, 4, 5), (0, 16), 5),
        JobRecipe("quantization", QUANTIZATIONS, 3, (1, 2), (1, 3), (4, 5, 6), (2, 18)),
    ),
    fifo_cells=(100, 140),
    optimum_cells=(139, 168),
    gain=(0.42, 0.44),
)

BATCH_BACKLOG = Recipe(
    name="batch-backlog",
    title="The morning after: a backlog of batch inference",
    stands_for=(
        "One node after a weekend outage of the pipeline: embeddings, transcriptions and rescans are queued at "
        "midnight, many of them able to run on fewer GPUs for longer, while a support bot follows office hours "
        "and two fine-tunes are due. What is late is worth less every hour; the queue in order of arrival does "
        "not know what is urgent."
    ),
    services=(ServiceRecipe("support-bot", 9, (0, 1), (2, 4), (10, 15), 3.5, 1),),
    jobs=(
        JobRecipe("training", FINE_TUNES, 2, (2, 4), (4, 8), (5, 6, 7), (0, 8), 3),
        JobRecipe("batch_inference", BATCHES, 9, (1, 2, 4), (2, 6), (1, 2, 3, 5, 8), (0, 6), 6),
        JobRecipe("quantization", QUANTIZATIONS, 2, (1, 2), (1, 3), (4, 6), (2, 16)),
    ),
    fifo_cells=(100, 150),
    optimum_cells=(150, 168),
    gain=(0.246, 0.266),
)

QUANTIZATION_BURST = Recipe(
    name="quantization-burst",
    title="A release day: a burst of quantizations in the afternoon",
    stands_for=(
        "One node on the day a new model family is released: from noon on, many short urgent quantizations and "
        "the evaluations that go with them arrive at once, on top of fine-tunes that were queued in the morning "
        "and a chat assistant whose peak is in the evening. Short and urgent meets long and early."
    ),
    services=(ServiceRecipe("chat-assistant", 9, (0, 1), (3, 4), (18, 21), 2.5, 1),),
    jobs=(
        JobRecipe("training", FINE_TUNES, 3, (2, 4), (4, 9), (2, 3, 4), (0, 10), 3),
        JobRecipe("batch_inference", BATCHES, 4, (1, 2), (2, 5), (3, 4, 5), (0, 15), 5),
        JobRecipe("quantization", QUANTIZATIONS, 7, (1, 2, 4), (1, 4), (5, 6, 7, 8), (9, 16)),
    ),
    fifo_cells=(100, 150),
    optimum_cells=(139, 168),
    gain=(0.37, 0.39),
)

SLACK = Recipe(
    name="slack",
    title="A quiet day: nothing to gain",
    stands_for=(
        "One node on a public holiday: a flat internal service and a handful of small jobs that all start the "
        "moment they are submitted. Order of arrival is already optimal. A good allocator must leave such a day "
        "alone."
    ),
    services=(ServiceRecipe("internal-search", 6, (2, 2), (2, 2), (12, 12), 3.0, 1),),
    jobs=(
        JobRecipe("training", FINE_TUNES, 2, (2,), (3, 6), (4, 6), (0, 14)),
        JobRecipe("batch_inference", BATCHES, 3, (1, 2), (2, 5), (2, 3, 4), (0, 16)),
        JobRecipe("quantization", QUANTIZATIONS, 2, (1,), (1, 3), (5, 6), (4, 18)),
    ),
    fifo_cells=(60, 140),
    optimum_cells=(60, 140),
    gain=(0.0, 0.0),
)

SCALE = Recipe(
    name="scale",
    title="Eight nodes, thirty jobs",
    stands_for=(
        "A cluster of eight nodes that is not short of GPUs but of order: three multi-node training runs, fine- "
        "tunes, batch inference and quantizations beside three services. Three jobs cannot run today under any "
        "policy: two long runs submitted too late to end before midnight, and one that needs more memory than any "
        "GPU here has. All others finish either way, so that utilization cannot differ; what differs is how long "
        "the urgent ones wait."
    ),
    services=(
        ServiceRecipe("chat-assistant", 9, (0, 1), (4, 6), (13, 16), 3.0, 2),
        ServiceRecipe("code-assistant", 8, (0, 0), (2, 3), (10, 12), 2.5, 1),
        ServiceRecipe("search-reranker", 7, (0, 1), (2, 2), (18, 20), 3.0, 1),
    ),
    jobs=(
        JobRecipe("training", ("pretrain-7b", "pretrain-moe", "context-extension"), 3, (32,), (4, 6), (1,), (0, 1)),
        JobRecipe("training", FINE_TUNES, 8, (2, 4), (2, 5), (6, 8, 10), (1, 3), 3),
        JobRecipe("batch_inference", BATCHES, 9, (1, 2), (1, 4), (4, 5, 6), (1, 3), 3),
        JobRecipe("quantization", QUANTIZATIONS, 7, (1, 2), (1, 3), (6, 8, 10), (1, 4)),
        JobRecipe("training", ("rlhf-overnight", "pretrain-restart"), 2, (8, 16), (9, 12), (6, 8), (17, 20)),
        JobRecipe("quantization", ("fp8-llama-405b",), 1, (8,), (4, 4), (5,), (6, 12), gpu_memory_gib=141.0),
    ),
    fifo_cells=(690, 690),
    optimum_cells=(690, 690),
    gain=(0.1585, 0.1595),
    nodes=8,
    finished=27,
)

RECIPES = {
    recipe.name: recipe
    for recipe in (MIXED, TRAINING_HEAVY, INFERENCE_HEAVY, BATCH_BACKLOG, QUANTIZATION_BURST, SLACK, SCALE)
}
