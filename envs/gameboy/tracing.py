"""The last instructions that led to a state: the last frame runs again, and instructions are noted.

An interrupt counts as the first instruction of its handler.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..fields import Array
from ..native import compiled
from ..task import Task
from .console import Console
from .inspector import draw_instruction
from .layout import CLOCK, ENABLING, FRAME_CYCLES, HALTED, HIDDEN, IN_TIME, INTERRUPTS_ON, PC, STOP, STUCK, Machine
from .looks import LAST_LINES, looks
from .memory import set_word, word
from .processor import pending, run
from .starts import played

NOTHING = -1
"""Instead of an address, where there was no instruction."""


@compiled
def next_address(m: Machine) -> int:
    """Return the address of the instruction that runs next, or `NOTHING` if the processor waits."""
    found = pending(m)
    if found and (word(m, INTERRUPTS_ON) or word(m, ENABLING) == 1):
        address = 0x40
        while not found & 1:
            found >>= 1
            address += 8
        return address
    return word(m, PC) if found or not word(m, HALTED) else NOTHING


@compiled
def run_traced(m: Machine, until: int, last: Array) -> int:
    """Run as `run` does, to a time, and note the addresses of the last instructions, the newest one at the end."""
    why = IN_TIME
    while why == IN_TIME and word(m, CLOCK) < until:
        address = next_address(m)
        if address != NOTHING:
            for index in range(last.shape[0] - 1):
                last[index] = last[index + 1]
            last[-1] = address
        set_word(m, STOP, word(m, CLOCK) + 1)
        why = run(m)
    return why


def no_instructions() -> NDArray[np.int64]:
    """Return what `run_traced` notes before any instruction, `(LAST_LINES,)`."""
    return np.full(LAST_LINES, NOTHING, np.int64)


def draw_last(console: Console, last: NDArray[np.int64], code: Array) -> None:
    """Draw the noted instructions in the first lines of the board of code, with the banks that are mapped now."""
    texts = looks()
    for line, address in enumerate(last.tolist()):
        code[line] = ord(" ")
        if address != NOTHING:
            draw_instruction(console.machine, texts, address, code[line])


def trace_step(task: Task, before: Array, actions: Array, boards: Mapping[str, Array]) -> None:
    """Draw the last instructions of a step into the board of code of the state after it; see `Task.trace`."""
    found = played(task.values["rom"], task.values["game"])
    game, console, last = found.game, Console(found.cartridge, HIDDEN), no_instructions()
    console.load(before)
    for frame in range(game.frames):
        if frame in {0, game.press}:
            console.press(game.actions[int(actions[0])] if frame == 0 else 0)
        if frame == game.frames - 1:
            run_traced(console.machine, console.clock + FRAME_CYCLES, last)
        elif console.run_frames(1) == STUCK:
            break
    draw_last(console, last, boards["code"])
