"""Steps environments `lo..hi` of the buffers: the Python side of the compiled kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..registry import find
from ..task import Buffers, Task, allocate, next_slot
from .actions import legal_count
from .errors import IllegalAction
from .kernels import ALL_LEGAL, Views, reset_envs, show_envs, step_frames, step_placements
from .layout import BUTTONS, EPISODES, LONGEST_FALL, SCRATCH, SPEEDS
from .task import TASKS


class Bottles:
    """Environments `lo..hi` of `drmario` or `drmario-frames`."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self.lo, self.hi = lo, hi
        self._seed = np.uint64(seed)
        self._level, self._speed = int(task.values["level"]), SPEEDS.index(task.values["speed"])
        self._by_frame = not task.masked
        self._step = step_frames if self._by_frame else step_placements
        self._slots: int = buffers["action"].shape[0]
        self._views = _views(buffers, self._by_frame)
        buffers["episode"][0, lo:hi] = self._views.words[lo:hi, EPISODES].astype(np.int64) - 1

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked ones, `(hi - lo,)`, and write their first observations into `slot`."""
        reset_envs(self._views, self.lo, slot, mask, self._seed, self._level, self._speed, self._by_frame)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write everything else into the next slot, auto-reset what ended.

        Raises:
            IllegalAction: An action is out of range or masked; then nothing was stepped.
        """
        wrong = self._step(self._views, self.lo, self.hi, slot, next_slot(slot, self._slots))
        if wrong != ALL_LEGAL:
            raise self._complaint(wrong, slot)

    def show(self, slot: int) -> None:
        """Write observations, masks and boards of states that were restored from outside into `slot`."""
        show_envs(self._views, self.lo, self.hi, slot, self._by_frame)

    def close(self) -> None:
        """Release the views of the buffers."""
        del self._views

    def _complaint(self, env: int, slot: int) -> IllegalAction:
        action = int(self._views.action[slot, env])
        if self._by_frame:
            return IllegalAction(f"environment {env} expects an action from 0 to {len(BUTTONS) - 1}, got {action}")
        legal = legal_count(self._views.words[env])
        return IllegalAction(
            f"environment {env} expects one of the {legal} placements that its action_mask allows, got {action}; "
            "mask the policy's output before choosing"
        )


def _views(buffers: Buffers, by_frame: bool) -> Views:
    """The buffers as the kernels see them: words of 64 bits, untimed fields without their first axis."""
    state = buffers["state"][0]
    observation = buffers["observation"].view(np.uint64)
    return Views(
        action=buffers["action"],
        mask=observation if by_frame else buffers["action_mask"].view(np.uint64),
        observation=observation,
        final=buffers["final_observation"].view(np.uint64),
        reward=buffers["reward"],
        terms=buffers["reward_terms"],
        terminated=buffers["terminated"],
        truncated=buffers["truncated"],
        active=buffers["active"],
        returns=buffers["episode_return"],
        length=buffers["episode_length"],
        frames=buffers["frames"],
        outcome=buffers["outcome"],
        viruses=buffers["viruses"],
        cleared=buffers["cleared"],
        pills=buffers["pills"],
        score=buffers["score"],
        speed_ups=buffers["speed_ups"],
        level=buffers["level"],
        episode=buffers["episode"][0],
        heartbeat=buffers["heartbeat"][0],
        bottle=buffers["bottle"][0].view(np.uint64)[..., 0],
        cells=buffers["bottle"][0].reshape(-1, 128),
        preview=buffers["preview"][0, :, 0],
        words=state,
        ints=state.view(np.int32),
        reals=state.view(np.float32),
        scratch=np.zeros(SCRATCH, np.uint64),
        path=np.zeros(LONGEST_FALL, np.uint8),
    )


def compile_all() -> None:
    """Compile every kernel, or load it from the disk's cache, so that workers need not."""
    for family in TASKS:
        task = find(family.name)
        buffers = allocate(task, 1, 2)
        envs = Bottles(task, 0, 1, buffers, 0)
        envs.reset(np.ones(1, np.bool_), 0)
        if task.masked:
            buffers["action"][0, 0] = np.unpackbits(buffers["action_mask"][0, 0], bitorder="little").argmax()
        envs.step(0)
        envs.show(0)
