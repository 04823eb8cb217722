"""Environments of native games: the Python side of their compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import IllegalAction, ImpossibleState
from .fields import Array, Buffers
from .kernel_tables import KernelTable
from .native import ALL_LEGAL
from .registry import find
from .slots import next_slot
from .task import MASK_64, Task, allocate


class KernelPhase(NamedTuple):
    """A kernel that is a part of a step on a GPU, where it runs after the one before it.

    Attributes:
        run: Called with the table, an environment, a number below `threads`, a slot and the next; returns what a step
            of this environment does.
        threads: Threads of an environment.
    """

    run: Callable[[Array, int, int, int, int], int]
    threads: int = 1


class Kernels(NamedTuple):
    """The kernels of a game. Each gets the table of the arrays that it works on, see `KernelTable`.

    Attributes:
        reset: Called with the table, the first environment, a slot, the mask of environments to reset, the run's seed.
        step: Called with the table, first and last environment, a slot and the next; steps and returns `ALL_LEGAL`, or
            steps nothing and returns the first row whose action is illegal.
        show: Called with the table, first and last environment and a slot; writes the observations of the states.
        phases: What a GPU runs instead of `step`, one after the other, with the same result.
    """

    reset: Callable[[Array, int, int, Array, np.uint64], None]
    step: Callable[[Array, int, int, int, int], int]
    show: Callable[[Array, int, int, int], None]
    phases: tuple[KernelPhase, ...] = ()


Limits: TypeAlias = Mapping[tuple[int, int], tuple[int, int]]
"""The lowest and the highest value of words of a state, by (first word, number of words)."""


def are_within(limits: Limits, states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of `(environments, words)` states have all words within the limits, on which kernels rely."""
    found = np.ones(len(states), np.bool_)
    for (first, count), (low, high) in limits.items():
        words = states[:, first : first + count]
        found &= ((words >= low) & (words <= high)).all(axis=1)
    return found


class NativeEnvironments:
    """Environments `lo..hi` of a native game.

    Args:
        lo: First environment.
        hi: One past the last.
        buffers: The arrays of the task's fields, for all environments.
        seed: The run's seed.
        game: The task's game.

    Attributes:
        kernels: The kernels of the task.
        packed: The table of the game's arrays.
        table: The numbers that kernels get.
    """

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int, *, game: NativeGame) -> None:
        self._slots, rows = buffers["action"].shape[:2]
        if not 0 <= lo < hi <= rows // task.players:
            raise ValueError(f"expected 0 <= lo < hi <= {rows // task.players} environments, got {lo} and {hi}")
        self.lo, self.hi = lo, hi
        self._possible, self.kernels = game.possible, game.kernels(task)
        self._views = game.views_of(task, buffers)
        self.packed = game.table.pack(self._views)
        self.table = self.packed.words
        self._task, self._buffers, self._seed = task, buffers, np.uint64(seed & MASK_64)
        buffers["episode"][0, lo:hi] = buffers["state"][0, lo:hi, game.episodes].astype(np.int64) - 1

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked environments, `(hi - lo,)`, and write their observations to `slot`."""
        if mask.shape != (self.hi - self.lo,):
            raise ValueError(f"expected a mask of shape {(self.hi - self.lo,)}, got {mask.shape}")
        self._check(slot)
        self.kernels.reset(self.table, self.lo, slot, mask, self._seed)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write all other fields into the next slot, and reset ended environments.

        Raises:
            IllegalAction: An action is out of range or masked; no environment was stepped.
        """
        self._check(slot)
        wrong = self.kernels.step(self.table, self.lo, self.hi, slot, next_slot(slot, self._slots))
        if wrong != ALL_LEGAL:
            raise self.complaint(wrong, int(self._buffers["action"][slot, wrong]))

    def show(self, slot: int) -> None:
        """Write observations, masks, numbers and boards into `slot`."""
        self._check(slot)
        self.kernels.show(self.table, self.lo, self.hi, slot)

    def restore(self, slot: int) -> None:
        """Continue from states that were written into the buffer, and write their observations into `slot`.

        Raises:
            ImpossibleState: The game cannot be in one of the states.
        """
        self.check_states(self._buffers["state"][0, self.lo : self.hi])
        self.show(slot)

    def check_states(self, states: Array) -> None:
        """Check states `(hi - lo, *stored_shape)`.

        Raises:
            ImpossibleState: The game cannot be in one of them.
        """
        possible = self._possible(self._views, states.view(np.int64))
        if not possible.all():
            env = self.lo + int(possible.argmin())
            raise ImpossibleState(
                f"{self._task.name} cannot be in the state that was given for environment {env}: "
                "the file was changed, or another version wrote it"
            )

    def close(self) -> None:
        """Release the buffers."""
        del self.packed, self.table, self._views, self._buffers

    def _check(self, slot: int) -> None:
        """Raise an error for a slot outside of the buffer: kernels write to addresses."""
        if not 0 <= slot < self._slots:
            raise IndexError(f"expected a slot from 0 to {self._slots - 1}, got {slot}")

    def complaint(self, row: int, action: int) -> IllegalAction:
        """Return the error about the illegal action of a row."""
        task = self._task
        env, seat = divmod(row, task.players)
        who = f"environment {env}" + (f", seat {seat}" if task.players > 1 else "")
        if not 0 <= action < task.num_actions:
            return IllegalAction(f"{who} expects an action from 0 to {task.num_actions - 1}, got {action}")
        name = f" ({task.action_names[action]})" if task.action_names else ""
        return IllegalAction(
            f"{who} expects an action that its action_mask allows, got {action}{name}; "
            "mask the policy's output before choosing"
        )


@dataclass(frozen=True)
class NativeGame:
    """A native game: what differs between them. It is the `factory` of its tasks, which makes `NativeEnvironments`.

    Attributes:
        table: The table of the game's arrays.
        views_of: Returns the arrays of a task's buffers.
        episodes: The word of a state that counts started episodes. New environments over used buffers continue it.
        possible: Given the arrays, returns which of `(environments, words)` int64 states the game can be in, as far as
            its kernels rely on it; they do not check it again.
        specs: Tasks that have, together, all kernels of the game.
    """

    table: KernelTable[Any]
    views_of: Callable[[Task, Buffers], Any]
    episodes: int
    kernels: Callable[[Task], Kernels]
    possible: Callable[[Any, NDArray[np.int64]], NDArray[np.bool_]]
    specs: tuple[str, ...]

    def __call__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> NativeEnvironments:
        """Return environments `lo..hi` of a task; the arguments are those of `NativeEnvironments`."""
        return NativeEnvironments(task, lo, hi, buffers, seed, game=self)

    def compile_all(self) -> None:
        """Compile every kernel of the game, or load it from the cache on disk."""
        for spec in self.specs:
            task = find(spec)
            buffers = allocate(task, 1, 2)
            envs = self(task, 0, 1, buffers, 0)
            envs.reset(np.ones(1, np.bool_), 0)
            if task.masked:
                buffers["action"][0, 0] = np.unpackbits(buffers["action_mask"][0, 0], bitorder="little").argmax()
            envs.step(0)
            envs.show(0)
