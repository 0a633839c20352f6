"""Tests of the planners: kernels against slow versions, horizons against documents, and what the options do."""
