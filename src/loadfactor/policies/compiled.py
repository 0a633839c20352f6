"""How kernels are compiled: by numba, into a cache beside the source, with no more around them than their callers need.

A kernel that only other kernels call gets no entry for Python and none for C: compiled once for itself and again in
every kernel that it is linked into, these entries took more than a quarter of the compile time. It is compiled into its
caller, because to hand over a dozen arrays takes longer than many of them work. A kernel that makes no
array does not count references either: numba counts every array argument up and down with every call, by atomic
instructions, which took more than half of the time of a search of small functions. Which of them make arrays is
declared here by the decorator; numba refuses to compile one that is declared wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])
_CACHED: dict[str, Any] = {"cache": True, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_CACHED, "no_cpython_wrapper": True, "forceinline": True}
_COUNTED: dict[str, Any] = {"_nrt": True}
_UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""Stated for every kernel, because one that says nothing takes it from its caller."""


def kernel(function: Function) -> Function:
    """Compile a function that Python calls and that makes no array."""
    compiled: Function = njit(**_CACHED, **_UNCOUNTED)(function)
    return compiled


def inner(function: Function) -> Function:
    """Compile a function that only compiled functions call and that makes no array."""
    compiled: Function = njit(**_INNER, **_UNCOUNTED)(function)
    return compiled


def making_kernel(function: Function) -> Function:
    """Compile a function that Python calls and that makes arrays."""
    compiled: Function = njit(**_CACHED, **_COUNTED)(function)
    return compiled


def making_inner(function: Function) -> Function:
    """Compile a function that only compiled functions call and that makes arrays."""
    compiled: Function = njit(**_INNER, **_COUNTED)(function)
    return compiled
