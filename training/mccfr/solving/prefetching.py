"""Prefetches memory that a kernel will write: the core takes the cache line over before the kernel needs it."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

TO_WRITE, KEEP, DATA = 1, 3, 1
"""Arguments of `llvm.prefetch`: for writing, keep in all cache levels, data cache."""


def _prefetch(_context: Any, array: Any, place: Any) -> Any:
    """Prefetch the cache line of an array's element."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        at = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]])  # type: ignore[no-untyped-call]
        word, flag = cgutils.voidptr_t, ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [word], ir.FunctionType(ir.VoidType(), [word, flag, flag, flag])
        )
        builder.call(fetch, [builder.bitcast(at, word), flag(TO_WRITE), flag(KEEP), flag(DATA)])
        return context.get_dummy_value()

    return types.void(array, place), build


prefetch: Any = intrinsic(_prefetch)
