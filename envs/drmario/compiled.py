"""Compiles the rules, and keeps on disk what was compiled until any of their sources changes.

Numba looks at a function's own file only, and would go on using a kernel into which another file's older rules were
built.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])

SOURCES = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


def compiled(function: Function) -> Function:
    """Return `function` as a kernel that releases the GIL, compiled at its first call unless the disk has it."""
    try:
        kernel: Any = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder of this machine can be written to
        kernel = njit(nogil=True)(function)
    stamped = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if stamped:
        stamped._source_stamp = (stamped._source_stamp, SOURCES)  # noqa: SLF001 - numba has no public way to widen it
    return cast("Function", kernel)
