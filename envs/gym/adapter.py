"""Steps Gymnasium environments and writes what they return into the buffers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ImpossibleState
from ..fields import DECIDES, ZERO_AT_FIRST, Array, Buffers
from ..slots import PerSlot, next_slot
from ..spaces.infos import number_at
from ..task import Task
from .action_reader import action_reader
from .adapted import TERMINATED, TRUNCATED, AdaptedEnvironments
from .spaces import BoxWriter, writer_of
from .states import LENGTH, StateSaver, pack, unpack
from .task import MaskReader, mask_reader
from .wrapping import score_of

log = logging.getLogger(__name__)

ELABORATE = (-1,)
"""A shape that no observation has, for environments whose observations are flattened."""


class GymSlotViews:
    """Views of the environments' part of one slot.

    Args:
        part: The environments' part of the buffer.
        infos: Names of numbers, and of their fields.

    Attributes:
        observations: One array per environment.
        rewards: One number per environment.
        returns: The returns of the current episodes.
        lengths: The lengths of the current episodes.
        infos: Scalars by name, one number per environment each.
        settled: Whether the fields that are the same at every step within an episode are written.
    """

    def __init__(self, part: dict[str, Array], slot: int, infos: Sequence[tuple[str, str]]) -> None:
        self.actions = part["action"][slot]
        self.observations = [part["observation"][slot, index, ...] for index in range(len(self.actions))]
        self.rewards: Any = memoryview(part["reward"][slot])
        self.returns: Any = memoryview(part["episode_return"][slot])
        self.lengths = memoryview(part["episode_length"][slot])
        self.infos: list[tuple[str, Any]] = [(name, memoryview(part[field][slot])) for name, field in infos]
        self.settled = False


class GymEnvironments(AdaptedEnvironments):
    """Environments `lo..hi` of a Gymnasium task.

    The loop over the environments costs every Python environment time, so it uses memory views and views of rows and
    no NumPy scalars.
    """

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        super().__init__(task, lo, hi, buffers, seed)
        self._slots = len(buffers["action"])
        part, infos = self._part, self._infos  # not `self` in what is kept: a buffer goes with its backend
        self._views = PerSlot(lambda slot: GymSlotViews(part, slot, infos))
        self._actions_of = action_reader(self._envs[0].action_space)
        self._writer = writer_of(task.name, self._envs[0].observation_space)
        self._plain = task.observation.shape if isinstance(self._writer, BoxWriter) else ELABORATE
        self._returns = [0.0] * (hi - lo)
        scores = [score_of(env) for env in self._envs]
        self._scores = [score for score in scores if score is not None]
        self._born = [0] * (hi - lo)
        self._mask_of: list[MaskReader | None] = [None] * (hi - lo)
        self._mask_rows = list(self._masks)
        self._beats = memoryview(self._part["heartbeat"][0])
        self._beat = int(self._part["heartbeat"].max())
        self._memories = [StateSaver(env) for env in self._envs] if task.state else []

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked environments, write their observations, and draw on request."""
        self._views[slot].settled = False
        super().reset(mask, slot)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write all other fields into the next slot, and reset ended environments."""
        views = self._views
        target = next_slot(slot, self._slots)
        self._find_late_infos()
        into = views[target]
        known = self._late.keys
        actions = self._actions_of(views[slot].actions)
        observations, rewards, returns, lengths = into.observations, into.rewards, into.returns, into.lengths
        totals, born, beats, scores = self._returns, self._born, self._beats, self._scores
        plain, write = self._plain, self._writer.write
        masks, mask_of, infos = self._mask_rows, self._mask_of if self._task.masked else None, into.infos
        self._beat = beat = self._beat + 1
        ended: list[tuple[int, bool]] = []
        index = 0
        try:
            for index, advance in self._steps:
                observation, reward, terminated, truncated, info = advance(actions[index])
                if getattr(observation, "shape", None) == plain:
                    observations[index][...] = observation
                else:
                    write(observation, observations[index])
                rewards[index] = reward
                returns[index] = totals[index] = scores[index].total if scores else totals[index] + reward
                lengths[index] = beat - born[index]
                beats[index] = beat
                if mask_of:
                    masks[index][...] = mask_of[index](info)  # type: ignore[misc]
                if not known.issuperset(info):
                    self._late.look(info)
                for name, numbers in infos:
                    numbers[index] = number_at(info, name)
                if terminated or truncated:
                    ended.append((index, terminated))
        except (Exception, SystemExit) as error:
            self._fail(error, index, actions[index])
        if not into.settled:
            self._settle(target)
        if ended:
            self._end(ended, target)
        self._finish(target)

    def _find_late_infos(self) -> None:
        before = len(self._infos)
        super()._find_late_infos()
        for name, field in self._infos[before:]:
            for slot, views in self._views.items():
                views.infos.append((name, memoryview(self._part[field][slot])))

    def _settle(self, target: int) -> None:
        part = self._part
        part["active"][target] = DECIDES
        part["frames"][target] = 1
        part["terminated"][target] = part["truncated"][target] = part["outcome"][target] = 0
        self._views[target].settled = True

    def _end(self, ended: list[tuple[int, bool]], target: int) -> None:
        part = self._part
        for index, terminated in ended:
            part["final_observation"][target, index] = part["observation"][target, index]
            part["terminated" if terminated else "truncated"][target, index] = 1
            part["outcome"][target, index] = TERMINATED if terminated else TRUNCATED
            self._draw_last(index, target)
            self._begin(index, target)
        self._views[target].settled = False

    def _begin(self, index: int, slot: int) -> None:
        env = self._envs[index]
        try:
            observation, info = env.reset(seed=self._next_seed(index))
            self._writer.write(observation, self._views[slot].observations[index])
            if self._task.masked:
                self._mask_of[index] = reader = mask_reader(env, info, self._task.num_actions)
                self._masks[index] = reader(info) if reader else True
            self._show_info(index, slot, info)
        except Exception as error:
            self._fail(error, index, None)
        self._returns[index], self._born[index] = 0.0, self._beat

    def save(self, slot: int) -> None:
        """Write the state of every environment into the buffer, zeros if it is not available; `slot` is the newest."""
        part = self._part
        for index, row in enumerate(part["state"][0]):
            row[:] = 0
            try:
                packed = pack(self._whole(index, slot))
            except Exception:
                log.warning("the state of environment %d cannot be saved", self._lo + index + 1, exc_info=True)
                continue
            if LENGTH + len(packed) > len(row):
                log.warning("the state of environment %d has grown to %d bytes", self._lo + index + 1, len(packed))
                continue
            row[:LENGTH] = np.frombuffer(len(packed).to_bytes(LENGTH, "little"), np.uint8)
            row[LENGTH : LENGTH + len(packed)] = np.frombuffer(packed, np.uint8)

    def load(self, slot: int) -> None:
        """Continue from the states in the buffer that are not zeros, and write their observations into `slot`.

        Raises:
            ImpossibleState: A state is damaged, or the environment cannot be in it.
        """
        for index, row in enumerate(self._part["state"][0]):
            size = int.from_bytes(row[:LENGTH].tobytes(), "little")
            if not size:
                continue
            try:
                self._restore(index, slot, unpack(row[LENGTH : LENGTH + size].tobytes()))
            except Exception as error:  # the bytes come from a file, and set_state is code of the environment
                raise ImpossibleState(
                    f"environment {self._lo + index + 1} cannot continue from its saved state "
                    f"({type(error).__name__}: {error}): it was damaged, or another version of the environment saved it"
                ) from error
        self._views[slot].settled = False
        self._finish(slot)

    def _whole(self, index: int, slot: int) -> dict[str, Any]:
        """Return the state of an environment, the adapter's counters, and its observation in `slot`."""
        return {
            "env": self._memories[index].save(),
            "episode": int(self._part["episode"][0, index]),
            "return": self._returns[index],
            "length": self._beat - self._born[index],
            "seen": self._views[slot].observations[index],
            "mask": self._masks[index],
            "info": np.array([numbers[index] for _, numbers in self._views[slot].infos], np.float32),
        }

    def _restore(self, index: int, slot: int, saved: dict[str, Any]) -> None:
        part = self._part
        part["episode"][0, index] = saved["episode"] - 1
        self._begin(index, slot)
        self._memories[index].load(saved["env"])
        for name in ZERO_AT_FIRST:
            part[name][slot, index] = 0
        part["active"][slot, index] = DECIDES
        part["observation"][slot, index] = saved["seen"]
        self._masks[index] = saved["mask"]
        for (_, numbers), value in zip(self._views[slot].infos, saved["info"].tolist(), strict=False):
            numbers[index] = value
        self._returns[index], self._born[index] = saved["return"], self._beat - saved["length"]
        if self._scores:
            self._scores[index].total = saved["return"]
        part["episode_return"][slot, index], part["episode_length"][slot, index] = saved["return"], saved["length"]
