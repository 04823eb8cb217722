"""Base class of the adapters: creates, resets and draws environments, and reports their errors."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import EnvironmentFailed
from ..fields import DECIDES, ZERO_AT_FIRST, Array, Buffers
from ..processes import StartedProcesses
from ..spaces.drawing import BUDGET, MODE_OF, Turns
from ..spaces.infos import LateInfos, number_at
from ..stamps import EnvStamps, Steps
from ..task import LARGE, LARGE_OF, LAST, LAST_DRAWN, LIMITED, LIMITED_LARGE, Task, episode_seed
from .board import draw
from .making import create

log = logging.getLogger(__name__)

SEED_BITS = 0x7FFF_FFFF
"""Environments may pass their seed to generators that take 31 bits."""
RESULT_OF_RESET = "from reset: observation and info, which is a dict"
RESULT_OF_STEP = "from step: observation, reward, which is a number, terminated, truncated, and info, which is a dict"
TERMINATED = 1
TRUNCATED = 2


class AdaptedEnvironments:
    """Environments `lo..hi` of a Gymnasium or PettingZoo task."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self._task, self._lo, self._seed = task, lo, seed
        rows = {"seat": slice(lo * task.players, hi * task.players), "env": slice(lo, hi), "all": slice(None)}
        self._part: dict[str, Array] = {item.name: buffers[item.name][:, rows[item.per]] for item in task.fields}
        self._infos = [(item.name, item.name) for item in task.info]  # names of numbers, and of their fields
        self._late = LateInfos(task, self._part)
        self._envs: list[Any] = []
        self._started = StartedProcesses()
        self._make(hi - lo)
        self._steps: Steps = list(enumerate(env.step for env in self._envs))
        # Whole bytes of bits, so that all masks are packed as one.
        bits = np.zeros((len(self._part["reward"][0]), -(-task.num_actions // 8) * 8), np.bool_)
        self._bits = bits.reshape(-1)
        self._masks = bits[:, : task.num_actions]
        self._masks[:] = True
        self._packed = [slot.reshape(-1) for slot in self._part["action_mask"]] if task.masked else []
        self._looked = memoryview(self._part["looked_at"][0])
        self._unasked, self._turns = bytes(hi - lo), Turns()
        self._board = self._part[task.panels[0].field][0]
        self._last_drawn: Any = memoryview(self._part[LAST_DRAWN][0])
        self._last_board = self._part[LAST + task.panels[0].field][0]

    @abstractmethod
    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write all other fields into the next slot, and reset ended environments."""

    def step_timed(self, slot: int, stamps: EnvStamps) -> None:
        """Step as `step` does, and note when each environment began and ended."""
        plain, self._steps = self._steps, stamps.timed(self._steps)
        try:
            self.step(slot)
        finally:
            self._steps = plain

    @abstractmethod
    def _begin(self, index: int, slot: int) -> None:
        """Begin the next episode of one environment and write its first observations into `slot`."""

    def _show_info(self, row: int, slot: int, info: Mapping[str, Any]) -> None:
        """Write the task's scalars at the start of an episode, unless the slot has those of the ended one."""
        part = self._part
        if not self._late.keys.issuperset(info):
            self._late.look(info)
        if not part["terminated"][slot, row] and not part["truncated"][slot, row]:
            for name, field in self._infos:
                part[field][slot, row] = number_at(info, name)

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked environments, write their observations, and draw on request."""
        players = self._task.players
        self._find_late_infos()
        rows = np.repeat(mask, players)
        for name in ZERO_AT_FIRST:
            part = self._part[name][slot]
            part[rows if len(part) == len(rows) else mask] = 0
        self._part["active"][slot, rows] = DECIDES
        for index in np.flatnonzero(mask).tolist():
            self._begin(index, slot)
        self._finish(slot, 0.0 if mask.any() else math.inf)  # without a mask, between two steps: see `redraw`

    def _find_late_infos(self) -> None:
        """Read the numbers whose names have been assigned since the last call, too."""
        if self._task.late:
            self._infos += self._late.exchange()

    def close(self) -> None:
        """Close the environments, and end the processes that they started when they were made."""
        try:
            for env in self._envs:
                env.close()
        finally:
            self._started.end()

    def _make(self, count: int) -> None:
        index, task = 0, self._task
        mode = MODE_OF.get(task.panels[0].field)
        try:
            with self._started:
                for index in range(count):  # noqa: B007
                    self._envs.append(create(task.name, task.values, mode, task.wrappers))
        except Exception as error:
            self.close()
            self._fail(error, index, None)

    def _next_seed(self, index: int) -> int:
        """Increment the number of the episode; return its seed."""
        episodes = self._part["episode"][0]
        episodes[index] += 1
        return episode_seed(self._seed, self._lo + index, int(episodes[index])) & SEED_BITS

    def _finish(self, slot: int, spare: float = 0.0) -> None:
        """Pack the masks, and draw the environments whose boards are requested; the training waits `spare` s anyway."""
        if self._task.masked:
            self._packed[slot][...] = np.packbits(self._bits, bitorder="little")
        asked = self._looked.tobytes()
        if asked != self._unasked:
            self._draw_asked(asked, slot, spare)

    def _draw_asked(self, asked: bytes, slot: int, spare: float) -> None:
        for index, wanted in enumerate(asked):
            if 0 < wanted < LIMITED:
                self._looked[index] = 0
                self._draw(index, slot, self._board)
        if max(asked) >= LIMITED and BUDGET.allows(spare):
            limited = [index for index, wanted in enumerate(asked) if wanted >= LIMITED]
            for index in self._turns.choose(limited, spare):
                self._looked[index] = 0
                self._draw(index, slot, self._board, large=asked[index] == LIMITED_LARGE)

    def _draw_last(self, index: int, slot: int) -> None:
        """Draw the last state of an episode if that is requested; `slot` still has its observation."""
        if self._last_drawn[index] and self._draw(index, slot, self._last_board):
            self._last_drawn[index] = int(self._part["episode"][0, index]) + 1

    def _draw(self, index: int, slot: int, boards: Array, *, large: bool = False) -> bool:
        """Draw an environment into its row of `boards`, and in large; return whether that succeeded."""
        seen = self._part["observation"][slot, index * self._task.players]
        picture = self._part[LARGE][0, 0] if large and self._task.large else None
        try:
            draw(self._task, self._envs[index].render, seen, boards[index], picture)
        except Exception:
            # A failed drawing must not end a training.
            log.warning("environment %d cannot be drawn", self._lo + index + 1, exc_info=True)
            return False
        if picture is not None:
            self._part[LARGE_OF][0] = self._lo + index + 1
        return True

    def _fail(self, error: BaseException, index: int, action: Any) -> NoReturn:
        number = self._lo + index
        text = f"environment {number + 1} of {self._task.name} raised {type(error).__name__}: {error}"
        if is_of_caller(error):
            must = RESULT_OF_RESET if action is None else RESULT_OF_STEP
            text = f"environment {number + 1} of {self._task.name} must return {must} ({type(error).__name__}: {error})"
        raise EnvironmentFailed(text, number, _plain(action)) from error


def is_of_caller(error: BaseException) -> bool:
    """Whether the function that has caught an error raised it itself, as it got something of another form."""
    traceback = error.__traceback__
    return isinstance(error, TypeError | ValueError) and traceback is not None and traceback.tb_next is None


def _plain(action: Any) -> Any:
    """Return an action with lists in place of tuples and arrays."""
    if isinstance(action, Mapping):
        return {str(name): _plain(part) for name, part in action.items()}
    if isinstance(action, tuple):
        return [_plain(part) for part in action]
    return None if action is None else np.asarray(action).tolist()
