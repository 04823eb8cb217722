"""The trainer `random`: uniformly random legal actions, a baseline for speed and learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..envs.actions import random_actions
from ..envs.fields import Array
from ..envs.native import GOLDEN, compiler, mixed, stream
from ..envs.task import MASK_64
from .trainer import BufferSpec, Context, Envs, Metrics, Trainer

STEPS = 64
ROW_STEPS = 16_384
"""Maximum number of rows times steps per iteration, which limits the memory of the slots."""

ACTIONS = 0x7261_6E64_6F6D
"""Makes these streams differ from all others of the same seed."""

compiled = compiler()


@compiled
def _draw(stream: np.uint64, step: int, bound: int) -> np.int64:
    """Return the number below `bound` of a row at a step. The modulo bias is below 2^-40 for any action space."""
    word = mixed(stream + np.uint64(step + 1) * GOLDEN)
    return np.int64((word >> np.uint64(1)) % np.uint64(bound))


@compiled
def draw_uniform(streams: Array, step: int, numbers: Array) -> None:
    """Fill `numbers` `(rows, n)` with numbers uniform in [0, 1)."""
    count = numbers.shape[1]
    for row in range(len(streams)):
        for place in range(count):
            numbers[row, place] = _draw(streams[row], step * count + place, 1 << 53) * 2.0**-53


@compiled
def draw_actions(streams: Array, step: int, count: int, actions: Array) -> None:
    """Fill `actions` `(rows,)` with numbers below `count`."""
    for row in range(len(actions)):
        actions[row] = _draw(streams[row], step, count)


@compiled
def draw_legal_actions(streams: Array, step: int, bits_in: Array, masks: Array, actions: Array) -> None:
    """Fill `actions` `(rows,)` with one uniformly drawn legal action per row; 0 if none is legal.

    Args:
        streams: `(rows,)` uint64, the random stream of each row.
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
        left = _draw(streams[row], step, total)
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
    """Takes random actions and does not learn. They are a function of seed, environment, seat and step."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._bits_in = np.array([number.bit_count() for number in range(256)], np.int64)
        self._envs: Envs | None = None
        self._actions: list[Array] = []
        self._masks: list[Array] = []
        self._streams = np.zeros(0, np.uint64)
        self._slots = 0
        self._steps = 0
        self._decisions = 0

    def buffer(self, num_envs: int) -> BufferSpec:
        """Return a buffer for some steps."""
        return BufferSpec(max(1, min(STEPS, ROW_STEPS // (num_envs * self._context.task.players))) + 1)

    def attach(self, envs: Envs) -> None:
        """Act in environments from now on."""
        context, players = self._context, self._context.task.players
        rows, first = envs.environments * players, context.ranks.first_env(envs.environments) * players
        seed = np.uint64((context.seed ^ ACTIONS) & MASK_64)
        self._streams = np.array([stream(seed, np.uint64(row)) for row in range(first, first + rows)], np.uint64)
        self._envs, self._slots = envs, envs.order.slots - 1
        self._actions = list(envs.buffer["action"])
        if context.task.masked:
            self._masks = list(envs.buffer["action_mask"])

    def iterate(self) -> Metrics:
        """Step all environments a few times."""
        assert self._envs is not None
        envs, timer = self._envs, self._context.timer
        for slot in range(self._slots):
            self._draw(slot)
            timer.lap("inference")
            envs.advance(slot)
        envs.carry()
        timer.lap("python")
        self._steps += self._slots
        self._decisions += self._slots * len(self._streams)
        return {"decisions": float(self._decisions)}

    def _draw(self, slot: int) -> None:
        """Write the actions of a slot."""
        task, step, actions = self._context.task, self._steps + slot, self._actions[slot]
        if task.action.shape:
            uniform, legal = np.empty((len(actions), task.num_actions)), None
            draw_uniform(self._streams, step, uniform)
            if self._masks:
                bits = np.unpackbits(self._masks[slot], axis=-1, count=task.num_actions, bitorder="little")
                legal = bits.view(np.bool_)
            actions[...] = random_actions(task, uniform, legal)
        elif self._masks:
            draw_legal_actions(self._streams, step, self._bits_in, self._masks[slot], actions)
        else:
            draw_actions(self._streams, step, task.num_actions, actions)

    def probabilities(self, row: int) -> Array | None:
        """Return the same probability for each action that is legal for a row at the last step."""
        task = self._context.task
        if task.action.shape or self._envs is None:
            return None
        legal = np.ones(task.num_actions)
        if self._masks:
            bits = self._masks[self._envs.order.newest][row]
            legal = np.unpackbits(bits, count=task.num_actions, bitorder="little").astype(np.float64)
        shares: Array = legal / max(1.0, legal.sum())
        return shares

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the counters at the end of the last iteration."""
        return {}, {"decisions": self._decisions, "steps": self._steps}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned; version 0.1.0 saved a generator instead of the steps."""
        del tensors
        self._decisions, self._steps = int(data["decisions"]), int(data.get("steps", 0))

    def detach(self) -> None:
        """Let go of the environments."""
        self._actions, self._masks, self._envs = [], [], None
