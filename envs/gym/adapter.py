"""Steps Gymnasium environments in place: what they return is written into the buffers."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..errors import EnvironmentFailed
from ..task import Array, Buffers, Task, episode_seed, next_slot
from .picture import shrink
from .task import MaskReader, check_observation, create, masks_of

log = logging.getLogger(__name__)

LOOKED_AT = b"\x01"
SEED_BITS = 0x7FFF_FFFF
"""Environments may hand their seed on to generators that take 31 bits."""
TERMINATED = 1
TRUNCATED = 2


class Slot:
    """Views of the environments' part of one slot, made once, so that a step slices nothing.

    Attributes:
        actions: To read.
        observations: One array per environment.
        rewards: One number per environment, as are the next two.
        returns: Of the running episodes.
        lengths: Of the running episodes.
        settled: Whether everything that is the same at every step without an end stands there already.
    """

    def __init__(self, part: dict[str, Array], slot: int) -> None:
        self.actions = memoryview(part["action"][slot])
        self.observations = [part["observation"][slot, index, ...] for index in range(len(self.actions))]
        self.rewards: Any = memoryview(part["reward"][slot])
        self.returns: Any = memoryview(part["episode_return"][slot])
        self.lengths = memoryview(part["episode_length"][slot])
        self.settled = False


class GymEnvironments:
    """Environments `lo..hi` of a Gymnasium task.

    The loop over the environments is what every Python environment pays, so it touches memory views and views of rows,
    never a NumPy scalar.
    """

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self._task, self._lo, self._seed = task, lo, seed
        self._part: dict[str, Array] = {name: array[:, lo:hi] for name, array in buffers.items()}
        self._views = [Slot(self._part, slot) for slot in range(len(buffers["action"]))]
        self._envs: list[gymnasium.Env[Any, Any]] = []
        self._make(hi - lo)
        self._steps = list(enumerate(env.step for env in self._envs))
        self._start = int(getattr(self._envs[0].action_space, "start", 0))
        self._returns = [0.0] * (hi - lo)
        self._born = [0] * (hi - lo)
        self._masked = task.masked
        self._masks = np.ones((hi - lo, task.num_actions), np.bool_)
        self._mask_of: list[MaskReader | None] = [None] * (hi - lo)
        self._beats = memoryview(self._part["heartbeat"][0])
        self._beat = int(self._part["heartbeat"].max())
        self._looked = memoryview(self._part["looked_at"][0])
        self._drawn = task.panels[0].field

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked ones and write their first observations into `slot`."""
        for index in np.flatnonzero(mask).tolist():
            self._begin(index, slot)
        for name in ("reward", "terminated", "truncated", "outcome", "frames", "episode_return", "episode_length"):
            self._part[name][slot, mask] = 0
        self._part["active"][slot, mask] = 1
        self._views[slot].settled = False
        self._finish(slot)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write everything else into the next slot, auto-reset what ended."""
        views = self._views
        target = next_slot(slot, len(views))
        into = views[target]
        actions = views[slot].actions.tolist()
        if self._start:
            actions = [action + self._start for action in actions]
        observations, rewards, returns, lengths = into.observations, into.rewards, into.returns, into.lengths
        totals, born, beats = self._returns, self._born, self._beats
        masks, mask_of = self._masks, self._mask_of if self._masked else None
        self._beat = beat = self._beat + 1
        ended: list[tuple[int, bool]] = []
        index = 0
        try:
            for index, advance in self._steps:
                observation, reward, terminated, truncated, info = advance(actions[index])
                observations[index][...] = observation
                rewards[index] = reward
                returns[index] = totals[index] = totals[index] + reward  # type: ignore[operator]
                lengths[index] = beat - born[index]
                beats[index] = beat
                if mask_of:
                    masks[index] = mask_of[index](info)  # type: ignore[misc]
                if terminated or truncated:
                    ended.append((index, terminated))
        except Exception as error:
            self._fail(error, index, actions[index])
        if not into.settled:
            self._settle(target)
        if ended:
            self._end(ended, target)
        self._finish(target)

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()

    def _make(self, count: int) -> None:
        index = 0
        try:
            for index in range(count):  # noqa: B007
                self._envs.append(create(self._task.name, self._task.values))
        except Exception as error:
            self.close()
            self._fail(error, index, None)

    def _settle(self, target: int) -> None:
        part = self._part
        part["active"][target] = part["frames"][target] = 1
        part["terminated"][target] = part["truncated"][target] = part["outcome"][target] = 0
        self._views[target].settled = True

    def _end(self, ended: list[tuple[int, bool]], target: int) -> None:
        part = self._part
        for index, terminated in ended:
            part["final_observation"][target, index] = part["observation"][target, index]
            part["terminated" if terminated else "truncated"][target, index] = 1
            part["outcome"][target, index] = TERMINATED if terminated else TRUNCATED
            self._begin(index, target)
        self._views[target].settled = False

    def _begin(self, index: int, slot: int) -> None:
        env, lo = self._envs[index], self._lo
        episodes = self._part["episode"][0]
        episodes[index] += 1
        seed = episode_seed(self._seed, lo + index, int(episodes[index])) & SEED_BITS
        try:
            observation, info = env.reset(seed=seed)
            check_observation(observation, self._task.observation, self._task.name)
            self._views[slot].observations[index][...] = observation
            if self._masked:
                self._mask_of[index] = reader = masks_of(env, info)
                self._masks[index] = reader(info) if reader else True
        except Exception as error:
            self._fail(error, index, None)
        self._returns[index], self._born[index] = 0.0, self._beat

    def _finish(self, slot: int) -> None:
        """Pack the masks and draw what is looked at."""
        if self._masked:
            self._part["action_mask"][slot] = np.packbits(self._masks, axis=1, bitorder="little")
        if LOOKED_AT in self._looked.tobytes():
            for index in np.flatnonzero(self._looked).tolist():
                self._draw(index, slot)

    def _draw(self, index: int, slot: int) -> None:
        board = self._part[self._drawn][0, index]
        if self._drawn == "bars":
            board[...] = self._part["observation"][slot, index].reshape(-1)[: len(board)]
            return
        try:
            board[...] = shrink(np.asarray(self._envs[index].render()), board.shape[:2])
        except Exception:
            # A picture is not worth a training: the environment goes on without one.
            log.warning("environment %d cannot be drawn", self._lo + index, exc_info=True)
            self._looked[index] = 0

    def _fail(self, error: Exception, index: int, action: int | None) -> NoReturn:
        number = self._lo + index
        text = f"environment {number} of {self._task.name} raised {type(error).__name__}: {error}"
        raise EnvironmentFailed(text, number, action) from error
