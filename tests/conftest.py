"""Settings of the whole test suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A shared machine is slow at times; the same examples everywhere make a failure reproducible.
settings.register_profile(
    "loadfactor", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("loadfactor")
