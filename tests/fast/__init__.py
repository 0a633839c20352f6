"""Tests of `fast`, its kernels and its incremental form."""
