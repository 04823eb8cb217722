"""Bit operations in kernels."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _ones(_context: Any, word: Any) -> Any:
    """The number of bits that are set."""

    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), build


def _lowest(_context: Any, word: Any) -> Any:
    """The place of the lowest bit that is set."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return word(word), build


def _highest(_context: Any, word: Any) -> Any:
    """The place of the highest bit that is set."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], context.get_constant(types.boolean, True))
        return builder.sub(context.get_constant(word, word.bitwidth - 1), zeros)

    return word(word), build


ones: Any = intrinsic(_ones)
lowest: Any = intrinsic(_lowest)
highest: Any = intrinsic(_highest)
"""In kernels: the number of set bits of an integer, and the places of the lowest and the highest; it must not be 0."""
