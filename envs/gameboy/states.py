"""Checks which states are possible, as far as kernels rely on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Limits, are_within
from . import layout as at

LATEST = 1 << 56
"""The latest time; a console reaches it after centuries."""
TIMES = (at.CLOCK, at.NEXT, at.TIMER_AT, at.RELOADED, at.DMA_END, at.LCD_BEGIN, at.LCD_FIRST, at.DMA_BEGIN)
FUTURE = (at.RELOAD, at.SERIAL_END, at.LCD_NEXT, at.TIMER_NEXT, at.STOP, at.DMA_AT, at.DRAW_AT, at.OPEN_UNTIL)
SWITCHES = (at.INTERRUPTS_ON, at.HALTED, at.REPEATS, at.LOCKED, at.STAT_LEVEL, at.WINDOW_MET, at.RAM_ON, at.BANK_MODE)
BYTES = (at.BUTTONS, at.WINDOW_LINE, at.LATCH)


def possible(stages: int, steps: int, states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of `(environments, words)` states are possible.

    The banks that are mapped follow from the cartridge's registers, and are found again when a state is restored.
    """
    limits: Limits = {
        **{(word, 1): (-LATEST, LATEST) for word in (*TIMES, at.DIVIDER, at.CLOCK_ZERO, at.CLOCK_HELD)},
        **{(word, 1): (-LATEST, at.FAR) for word in FUTURE},
        **{(word, 1): (0, 1) for word in SWITCHES},
        **{(word, 1): (0, 0xFF) for word in BYTES},
        **{(word, 1): (0, 0xFFFF) for word in (at.PC, at.SP, at.BANK_LOW, at.BANK_HIGH)},
        **{(word, 1): (0, 1 << 62) for word in (at.EPISODES, at.FRAMES, at.SENT)},
        (at.ENABLING, 1): (0, 2),
        (at.DMA_COPIED, 1): (0, 160),
        (at.STEPS, 1): (0, steps),
        (at.STAGE, 1): (0, max(stages - 1, 0)),
        (at.DISTANCE, 2): (0, at.FARTHEST),
    }
    clock = states[:, at.CLOCK]
    behind = np.abs(states[:, [at.TIMER_AT, at.LCD_NEXT]].clip(-LATEST, LATEST) - clock[:, None]).max(axis=1)
    on_time: NDArray[np.bool_] = (behind < at.FRAME_CYCLES * 4) | (states[:, at.LCD_NEXT] >= LATEST)
    return are_within(limits, states) & on_time
