"""Prepares Atari games for learning, as is usual since Mnih et al. (2015)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding

from ..errors import BadParameter
from ..fields import Array
from ..native import kernel

PRESSED = 8
"""Frames for which FIRE is pressed: with sticky actions, a press is ignored at random in a quarter of the frames."""
REPEATS = "repeat_action_probability"


class AtariGame(gymnasium.Wrapper[Array, Any, Array, Any]):
    """Grey pictures of `size` x `size` pixels, one per `frame_skip` frames; no OpenCV is needed.

    A picture has the larger of the last two frames' pixels, because sprites flicker. An episode begins with up to
    `noop_max` frames without an action. Where a game waits for the button FIRE, at its beginning or after a lost life,
    it is pressed. A lost life is told in `info["life_lost"]`: for learners it is an end, but the episode is the game.

    The emulator loads the game again for each seed, which takes as long as 200 random steps. So every episode begins
    with the same state of it, and all that is random is drawn here: how many frames pass without an action, and in
    which frames the emulator would have repeated the action before ("sticky actions").
    """

    def __init__(
        self,
        env: gymnasium.Env[Array, Any],
        *,
        frame_skip: int = 4,
        size: int = 84,
        noop_max: int = 30,
        fire: bool = True,
        life_loss: bool = True,
    ) -> None:
        super().__init__(env)
        shape = env.observation_space.shape or ()
        if not hasattr(env.unwrapped, "ale") or getattr(env.unwrapped, "_frameskip", 0) != 1 or len(shape) != 2:
            raise BadParameter(
                "AtariGame is for Atari games with frameskip=1 and obs_type=grayscale, which they have unless other "
                "values are given"
            )
        game: Any = env.unwrapped
        self._ale, self._skip, self._noops = game.ale, frame_skip, noop_max
        self._fires = fire and game.get_action_meanings()[1:2] == ["FIRE"]
        if life_loss:
            self.value_ends = "life_lost"
        self._rows, self._columns = _weights(shape[0], size), _weights(shape[1], size)
        self._codes = game._action_set  # noqa: SLF001 - the frames that nobody sees need no step of the environment
        self._lives = self._last = 0
        self._start: Any = None  # the emulator's state at the beginning of every episode
        self._repeats = float(self._ale.getFloat(REPEATS))
        self._ale.setFloat(REPEATS, 0.0)  # from the next loading on
        self.observation_space = Box(0, 255, (size, size), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode: frames without an action, and FIRE."""
        self._begin(options)
        if seed is not None:
            self.env.unwrapped.np_random = seeding.np_random(seed)[0]
        noops = int(self.env.unwrapped.np_random.integers(1, max(1, self._noops) + 1))
        for action in (*[0] * noops, *[1] * PRESSED * self._fires):
            frame, _, terminated, truncated, info = self._frame(action)
            if terminated or truncated:
                self._begin(options)
        self._lives = self._ale.lives()
        return self._seen(frame, frame), {**info, "life_lost": False}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Repeat an action for some frames."""
        unseen = max(self._skip - 2, 0)
        total = self._unseen(action, unseen)
        frame = before = None
        for _ in range(self._skip - unseen):
            before = frame
            frame, reward, terminated, truncated, info = self._frame(action)
            total += float(reward)
            if terminated or truncated:
                break
        assert frame is not None
        lives = self._ale.lives()
        lost, self._lives = lives < self._lives, lives
        seen = self._seen(frame if before is None else before, frame)
        if lost and self._fires and not (terminated or truncated):
            total += self._unseen(1, PRESSED - 1)
            _, reward, terminated, truncated, info = self._frame(1)
            total += float(reward)
        return seen, total, terminated, truncated, {**info, "life_lost": lost}

    def _begin(self, options: dict[str, Any] | None) -> None:
        """Begin an episode in the emulator, before its first frame."""
        self.env.reset(seed=None if self._start is not None else 0, options=options)
        if self._start is None:
            self._start = self._ale.cloneState(include_rng=True)
        self._ale.restoreState(self._start)
        self._last = 0

    def _taken(self, action: Any) -> Any:
        """Return the action of the next frame: the given one, or at random that of the frame before."""
        if not self._repeats or self.env.unwrapped.np_random.random() >= self._repeats:
            self._last = action
        return self._last

    def _frame(self, action: Any) -> tuple[Array, Any, bool, bool, dict[str, Any]]:
        return self.env.step(self._taken(action))

    def _unseen(self, action: Any, count: int) -> float:
        """Return the reward of some frames that nobody sees."""
        return float(sum(self._ale.act(self._codes[self._taken(action)], 1.0) for _ in range(count)))

    def _seen(self, before: Array, frame: Array) -> Array:
        seen = np.empty(self.observation_space.shape or (), np.uint8)
        reduce_picture(before, frame, self._rows, self._columns, seen)
        return seen


def _weights(length: int, parts: int) -> Array:
    """Return the share of each pixel of a side in each of some equal parts, as `(parts, most pixels of a part)`.

    Part i begins in pixel `i * length // parts`.
    """
    edges = np.linspace(0, length, parts + 1)
    first = np.arange(parts) * length // parts
    pixels = first[:, None] + np.arange(int(np.ceil(length / parts)) + 1)
    covered = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    shares: Array = (covered.clip(0) * parts / length).astype(np.float32)
    return shares


@kernel
def reduce_picture(before: Array, frame: Array, rows: Array, columns: Array, seen: Array) -> None:
    """Write the larger of two pictures' pixels, reduced by averaging areas, into `seen`."""
    height, width = frame.shape
    size, line = len(seen), np.empty(width, np.float32)
    for row in range(size):
        first = row * height // size
        line[:] = np.float32(0)
        for at in range(rows.shape[1]):
            share = rows[row, at]
            if share > np.float32(0):
                for column in range(width):
                    line[column] += share * np.float32(max(before[first + at, column], frame[first + at, column]))
        for column in range(size):
            start, total = column * width // size, np.float32(0.5)
            for at in range(columns.shape[1]):
                share = columns[column, at]
                if share > np.float32(0):
                    total += share * line[start + at]
            seen[row, column] = np.uint8(total)
