"""Writes observations, a word at a time.

The bits of an observation are those of its planes, one after the other, each row by row. A row of a plane of the state
is one word, so what an agent sees of it is one shift and one mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ..fields import Array
from ..native import compiled, inlined
from ..simulated import in_python_or
from .cells import NO_BITS, ONE, agent_at, flip
from .layout import COLUMN, ROW, STEPS, TIMES, Bytes
from .views import Scene

ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
BYTE = np.uint64(8)


def _write_word(_context: Any, array: Any, at: Any, word: Any) -> Any:

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]
        place = builder.bitcast(builder.gep(data, [arguments[1]]), arguments[2].type.as_pointer())
        builder.store(arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(array, at, word), build


def _write_word_in_python(array: Bytes, at: int, word: np.uint64) -> None:
    array[at : at + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


write_word = in_python_or(_write_word_in_python, intrinsic(_write_word))
"""Writes 8 bytes, from any byte on."""


@inlined
def times_seen(left: int) -> int:
    """Return how many of the planes of the time left are 1."""
    count = 0
    while count < TIMES and left >= 2 << count:
        count += 1
    return count


@inlined
def write_rest(out: Bytes, at: int, word: np.uint64, filled: int, ones: int) -> None:
    """Write a word of which `filled` bits are known and what follows it: `ones` bits of 1, then zeros to the end."""
    end = filled + ones
    rest = word | (ALL_BITS << np.uint64(filled))
    while at + 8 <= out.shape[0]:
        write_word(out, at, rest if end >= 64 else masked(rest, end))
        end, rest, at = max(0, end - 64), ALL_BITS, at + 8
    rest = rest if end >= 64 else masked(rest, end)
    while at < out.shape[0]:
        out[at] = np.uint8(rest & np.uint64(255))
        rest, at = rest >> BYTE, at + 1


@inlined
def masked(word: np.uint64, count: int) -> np.uint64:
    """Return the lowest `count` bits of a word, fewer than 64."""
    return word & ((ONE << np.uint64(count)) - ONE)


@inlined
def observe(s: Scene, agent: int, out: Bytes) -> None:
    """Write what an agent sees: the border, each kind of resource, the other agents, and the time left."""
    me, agents = agent_at(agent), s.g.kinds
    row, column = s.game[me + ROW], s.game[me + COLUMN]
    side = 2 * s.g.sight + 1
    shift, mask = np.uint64(column), (ONE << np.uint64(side)) - ONE
    word, filled, at = NO_BITS, 0, 0
    flip(s, agents, row, column)
    for plane in range(-1, agents + 1):
        first = row if plane < 0 else s.g.planes + plane * s.g.lines + row
        for line in range(first, first + side):
            bits = ((s.border[line] if plane < 0 else s.words[line]) >> shift) & mask
            word |= bits << np.uint64(filled)
            filled += side
            if filled >= 64:
                write_word(out, at, word)
                at += 8
                filled -= 64
                word = bits >> np.uint64(side - filled)
    flip(s, agents, row, column)
    write_rest(out, at, word, filled, times_seen(s.g.turns - s.game[STEPS]) * side * side)


@compiled
def observe_seats(s: Scene, out: Array, first: int) -> None:
    """Write the observations of the policy's agents into rows from `first` on."""
    for seat in range(s.g.players):
        observe(s, seat, out[first + seat])
