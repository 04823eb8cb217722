"""The trainer `random`: uniformly random legal actions, a baseline for speed and learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..envs.actions import random_actions
from ..envs.fields import Array
from ..envs.native import compiler, draw
from ..envs.task import MASK_64
from .trainer import Context, Envs, Metrics, Trainer

STEPS = 64
ROW_STEPS = 16_384
"""Maximum number of rows times steps per iteration, which limits the memory of the slots."""

compiled = compiler()


@compiled
def _draw(state: Array, bound: int) -> np.int64:
    """Return a number below `bound`. The modulo bias is below 2^-40 for any action space."""
    return np.int64((draw(state, 0) >> np.uint64(1)) % np.uint64(bound))


@compiled
def draw_actions(state: Array, count: int, actions: Array) -> None:
    """Fill `actions` `(rows,)` with numbers below `count`, and advance `state` `(1,)` uint64."""
    for row in range(len(actions)):
        actions[row] = _draw(state, count)


@compiled
def draw_legal_actions(state: Array, bits_in: Array, masks: Array, actions: Array) -> None:
    """Fill `actions` `(rows,)` with one uniformly drawn legal action per row; 0 if none is legal.

    Args:
        state: `(1,)` uint64, advanced.
        bits_in: `(256,)` number of set bits by byte.
        masks: `(rows, bytes)` packed bits, the first action in the lowest bit.
        actions: `(rows,)` int64, written.
    """
    for row in range(len(actions)):
        mask = masks[row]
        total = 0
        for byte in mask:
            total += bits_in[byte]
        actions[row] = 0
        if total == 0:
            continue
        left = _draw(state, total)
        place = 0
        while left >= bits_in[mask[place]]:
            left -= bits_in[mask[place]]
            place += 1
        for bit in range(8):
            if mask[place] >> bit & 1:
                if left == 0:
                    actions[row] = place * 8 + bit
                left -= 1


class RandomPolicy(Trainer):
    """Takes random actions and does not learn."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._state = np.array([context.seed & MASK_64], np.uint64)
        self._kept = self._state.copy()
        self._bits_in = np.array([number.bit_count() for number in range(256)], np.int64)
        self._envs: Envs | None = None
        self._actions: list[Array] = []
        self._masks: list[Array] = []
        self._steps = 0
        self._decisions = 0

    def start(self, num_envs: int) -> None:
        """Make the environments and start an episode in each."""
        rows = num_envs * self._context.task.players
        self._steps = max(1, min(STEPS, ROW_STEPS // rows))
        self._envs = self._context.make_envs(num_envs, self._steps + 1)
        self._actions = list(self._envs.buffer["action"])
        if self._context.task.masked:
            self._masks = list(self._envs.buffer["action_mask"])
        self._envs.start(0)

    def iterate(self) -> Metrics:
        """Step all environments a few times."""
        assert self._envs is not None
        envs, timer = self._envs, self._context.timer
        draw = self._draw_others() if self._context.task.action.shape else self._draw_numbers
        for slot in range(self._steps):
            draw(slot)
            timer.lap("inference")
            envs.advance(slot)
        envs.carry()
        timer.lap("python")
        self._decisions += self._steps * len(self._actions[0])
        self._kept = self._state.copy()
        return {"decisions": float(self._decisions)}

    def _draw_numbers(self, slot: int) -> None:
        if self._masks:
            draw_legal_actions(self._state, self._bits_in, self._masks[slot], self._actions[slot])
        else:
            draw_actions(self._state, self._context.task.num_actions, self._actions[slot])

    def _draw_others(self) -> Callable[[int], None]:
        """Return a function that draws continuous or composite actions for one iteration, seeded by the state."""
        task, generator = self._context.task, np.random.default_rng(_draw(self._state, 1 << 62))

        def draw(slot: int) -> None:
            legal = None
            if self._masks:
                bits = np.unpackbits(self._masks[slot], axis=-1, count=task.num_actions, bitorder="little")
                legal = bits.view(np.bool_)
            self._actions[slot][...] = random_actions(task, generator, len(self._actions[slot]), legal)

        return draw

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the generator's state and the counter at the end of the last iteration."""
        return {"generator": self._kept}, {"decisions": self._decisions}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._state[:] = np.asarray(tensors["generator"])
        self._kept = self._state.copy()
        self._decisions = int(data["decisions"])

    def close(self) -> None:
        """Close the environments."""
        self._actions, self._masks = [], []
        if self._envs is not None:
            self._envs.close()
            self._envs = None
