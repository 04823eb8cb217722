"""Prepares Atari games for learning, as is usual since Mnih et al. (2015)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from ..errors import BadParameter
from ..fields import Array
from ..native import kernel

PRESSED = 8
"""Frames for which FIRE is pressed: games ignore a press at random in a quarter of the frames ("sticky actions")."""


class AtariGame(gymnasium.Wrapper[Array, Any, Array, Any]):
    """Grey pictures of `size` x `size` pixels, one per `frame_skip` frames; no OpenCV is needed.

    A picture has the larger of the last two frames' pixels, because sprites flicker. An episode begins with up to
    `noop_max` frames without an action. Where a game waits for the button FIRE, at its beginning or after a lost life,
    it is pressed. A lost life is told in `info["life_lost"]`: for learners it is an end, but the episode is the game.
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
        self._lives = 0
        self.observation_space = Box(0, 255, (size, size), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode: frames without an action, and FIRE."""
        frame, info = self.env.reset(seed=seed, options=options)
        noops = int(self.env.unwrapped.np_random.integers(self._noops + 1))
        for action in (*[0] * noops, *[1] * PRESSED * self._fires):
            frame, _, terminated, truncated, info = self.env.step(action)
            if terminated or truncated:
                frame, info = self.env.reset(options=options)
        self._lives = self._ale.lives()
        return self._seen(frame, frame), {**info, "life_lost": False}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Repeat an action for some frames."""
        unseen = max(self._skip - 2, 0)
        total = float(sum(self._ale.act(self._codes[action], 1.0) for _ in range(unseen)))
        frame = before = None
        for _ in range(self._skip - unseen):
            before = frame
            frame, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        assert frame is not None
        lives = self._ale.lives()
        lost, self._lives = lives < self._lives, lives
        seen = self._seen(frame if before is None else before, frame)
        if lost and self._fires and not (terminated or truncated):
            total += float(sum(self._ale.act(self._codes[1], 1.0) for _ in range(PRESSED - 1)))
            _, reward, terminated, truncated, info = self.env.step(1)
            total += float(reward)
        return seen, total, terminated, truncated, {**info, "life_lost": lost}

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
