"""The largest documents that loadfactor accepts: declared once, cited by every message that refuses more.

The sizes leave room around the largest clusters that we plan for (10,000 GPUs, a week in ten-minute steps); the numbers
keep every sum of the objective far inside what a 64-bit float and the 64-bit integers of the exact model hold exactly.
"""

from __future__ import annotations

from loadfactor.units import BYTES_PER_MEBIBYTE

MAX_DOCUMENT_BYTES = 64 * BYTES_PER_MEBIBYTE
MAX_DOCUMENT_NODES = 5_000_000
MAX_DOCUMENT_DEPTH = 50
MAX_NODES = 20_000
MAX_GPUS = 65_536
MAX_STEPS = 10_080
MAX_CELLS = 16_000_000
MAX_JOBS = 50_000
MAX_SERVICES = 1_000
MAX_UNAVAILABLE = 20_000
MAX_PRIORITY = 1_000_000.0
MAX_PENALTY = 1_000_000.0
MAX_DURATION_STEPS = 1_000_000
MAX_WORK_GPU_STEPS = 1_000_000_000
MAX_STEP_MINUTES = 10_080.0
MAX_MEMORY_GIB = 100_000.0
MAX_TEXT = 200
MAX_REASON = 10_000
