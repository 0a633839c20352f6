"""What may break a style rule, and how far. The lists only shrink: a test fails where an entry is no longer needed."""

from __future__ import annotations

LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}
ABBREVIATED: dict[str, str] = {}
