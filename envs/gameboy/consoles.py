"""Consoles alone, with a thread of a GPU per console, to compare how their states lie in memory.

They follow each other, as in the buffer; or those of a warp are interleaved, so that threads that use the same word of
their states use consecutive memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from ..cuda import Kernel, cuda
from .bus import press
from .compiled import inlined
from .layout import CLOCK, FRAME_BYTES, FRAME_CYCLES, HALF, STOP, TILE, WORDS, Machine, TiledMachine
from .lines import clear_frame
from .memory import BYTES, set_word, word
from .processor import run

LANES = 1 << TILE
"""Consoles whose states are interleaved."""


@inlined
def run_frame(m: Any, buttons: int) -> None:
    """Run a frame with some buttons pressed, and draw it."""
    press(m, buttons)
    clear_frame(m)
    set_word(m, STOP, word(m, CLOCK) + FRAME_CYCLES)
    run(m)


@inlined
def plain(states: int, index: int, cartridge: Any, out: int) -> Machine:
    """Return a console whose state is one of an array."""
    rom, tables, mapper, rom_mask, ram_bytes, size = cartridge
    return Machine(states + index * size, rom, tables, mapper, rom_mask, ram_bytes, 0x8000, out, HALF)


@inlined
def tiled(states: int, index: int, cartridge: Any, out: int) -> TiledMachine:
    """Return a console whose state is one of an interleaved array."""
    rom, tables, mapper, rom_mask, ram_bytes, size = cartridge
    first, lane = states + (index >> TILE) * (size << TILE), index & (LANES - 1)
    words, rest = first + 8 * lane, first + (BYTES << TILE) + lane
    return TiledMachine(words, rest, rom, tables, mapper, rom_mask, ram_bytes, 0x8000, out, HALF)


def console_kernel(*, interleaved: bool) -> Kernel:
    """Return the kernel that runs some frames of many consoles with the same cartridge.

    Its arguments are the address of the states; of the cartridge the addresses of the ROM and the tables, its kind, the
    number of its ROM banks - 1, the bytes of its RAM and of a state; the address of the frames `(consoles,
    FRAME_BYTES)`; the number of consoles, and of frames. The buttons depend on the number of the console.
    """
    machine_at: Any = tiled if interleaved else plain

    def run_consoles(states: int, cartridge: Any, out: int, consoles: int, frames: int) -> None:
        index = cuda.grid(1)
        if index < consoles:
            m = machine_at(states, index, cartridge, out + index * FRAME_BYTES)
            for frame in range(frames):
                run_frame(m, 1 << ((frame + index) // 4 % 4))

    number = types.int64
    facts = types.UniTuple(number, 6)  # type: ignore[no-untyped-call]
    return Kernel(run_consoles, types.void(number, facts, number, number, number))


def interleave(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return states `(consoles, words)` with those of each warp interleaved, in as many words; whole warps only."""
    warps = states.reshape(-1, LANES, states.shape[1])
    words = warps[:, :, :WORDS].transpose(0, 2, 1).reshape(len(warps), -1)
    rest = np.ascontiguousarray(warps[:, :, WORDS:]).view(np.uint8).transpose(0, 2, 1)
    rest = np.ascontiguousarray(rest).reshape(len(warps), -1).view(np.int64)
    return np.concatenate([words, rest], axis=1)
