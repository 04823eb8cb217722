"""A game of 64 x 64 pixels: catch ten falling balls with a paddle."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

SIDE, BALL, PADDLE = 64, 4, 12
PACE = 4
"""Pixels per step of the ball and of the paddle."""
BALLS = 10
SKY, BALL_COLOR, PADDLE_COLOR = (20, 20, 40), (240, 160, 40), (60, 160, 240)


class Catching(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """Move the paddle left, not at all or right. A caught ball gives 1; an episode has ten balls, so 10 is the best.

    A ball starts in a random column and falls to the paddle in 14 steps, in which the paddle can reach every column.
    The picture does not show how many balls are left, so the end after ten is a truncation.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.action_space = Discrete(3)
        self.observation_space = Box(0, 255, (SIDE, SIDE, 3), np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin with the paddle in the middle."""
        super().reset(seed=seed, options=options)
        self.paddle, self.balls = (SIDE - PADDLE) // 2, 0
        self._drop()
        return self.render(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Move the paddle and the ball; a ball that reaches the paddle's row is caught or missed."""
        self.paddle = min(max(self.paddle + PACE * (int(action) - 1), 0), SIDE - PADDLE)
        self.y += PACE
        caught = False
        if self.y >= SIDE - 2 * BALL:
            caught = self.paddle - BALL < self.x < self.paddle + PADDLE
            self.balls += 1
            self._drop()
        return self.render(), float(caught), False, self.balls == BALLS, {}

    def render(self) -> NDArray[np.uint8]:  # type: ignore[override]
        """Return the picture."""
        picture = np.full((SIDE, SIDE, 3), SKY, np.uint8)
        picture[SIDE - BALL :, self.paddle : self.paddle + PADDLE] = PADDLE_COLOR
        picture[self.y : self.y + BALL, self.x : self.x + BALL] = BALL_COLOR
        return picture

    def _drop(self) -> None:
        self.x, self.y = int(self.np_random.integers(SIDE - BALL + 1)), 0
