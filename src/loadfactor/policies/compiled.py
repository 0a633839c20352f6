"""How kernels are compiled: by numba, into a cache beside the source, with no more around them than their callers need.

A kernel that only other kernels call gets no entry for Python and none for C: compiled once for itself and again in
every kernel that it is linked into, these entries took more than a quarter of the compile time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])
_CACHED: dict[str, Any] = {"cache": True, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_CACHED, "no_cpython_wrapper": True}


def kernel(function: Function) -> Function:
    """Compile a function that Python calls."""
    compiled: Function = njit(**_CACHED)(function)
    return compiled


def inner(function: Function) -> Function:
    """Compile a function that only compiled functions call."""
    compiled: Function = njit(**_INNER)(function)
    return compiled
