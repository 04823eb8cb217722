"""Measures how much drawing slows down a training while the app shows its environments.

pac-tui bench drawing --json
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..config import Config
from ..telemetry.blocks import TelemetryReader
from .facts import Progress, Results
from .scaling import training
from .terminal import Screen, rate, wait_until_it_runs
from .turns import compared, portion

NUM_ENVS = 4
STEP = 0.001  # s
SETTLE = 2.0
"""Seconds after the app has connected or left before a window begins."""


class Rendered(gymnasium.Env[NDArray[np.float32], np.int64]):
    """An environment that computes for a millisecond per step, and for some time per picture.

    Args:
        milliseconds: The time that a picture takes.
        render_mode: As Gymnasium's.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}  # type: ignore[misc]
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, milliseconds: float, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self._seconds, self._steps = milliseconds / 1000, 0
        self._seen = np.zeros(4, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self._steps = 0
        return self._seen, {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Compute for a millisecond."""
        _compute(STEP)
        self._steps += 1
        return self._seen, float(action), self._steps == 200, False, {}

    def render(self) -> NDArray[np.uint8]:
        """Compute for as long as a picture takes."""
        _compute(self._seconds)
        return np.full((64, 96, 3), self._steps, np.uint8)


def _compute(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def drawing_cost(
    *,
    milliseconds: Sequence[float] = (0.1, 5.0, 50.0, 400.0),
    seconds: float = 15.0,
    rounds: int = 4,
    progress: Progress,
) -> Results:
    """Train in four environments of one worker, alternately with and without the app, which shows all boards.

    Args:
        milliseconds: The times that a picture takes.
        seconds: Seconds of each window with or without the app.
        rounds: Number of windows of each kind.
        progress: Called with the current measurement.

    Returns:
        For each time of a picture, such as `50ms`: the steps per second with the app and without, and their `ratio`.
    """
    return {
        f"{one:g}ms": _cost(one, seconds, rounds, portion(progress, number, len(milliseconds)))
        for number, one in enumerate(milliseconds)
    }


def _cost(milliseconds: float, seconds: float, rounds: int, progress: Progress) -> Results:
    config = Config(
        task=f"{__name__}:{Rendered.__name__}:milliseconds={milliseconds}",
        trainer="random",
        num_envs=NUM_ENVS,
        workers=1,
        device="cpu",
    )
    windows: dict[str, list[float]] = {"without": [], "with_app": []}
    with training(config) as session:
        reader = TelemetryReader(session.directory)
        wait_until_it_runs(reader)
        for number in range(rounds):
            progress(f"pictures of {milliseconds:g} ms", number / rounds)
            time.sleep(SETTLE)
            windows["without"].append(rate(reader, seconds))
            with _app(session.pid) as screen:
                screen.read_for(SETTLE)
                windows["with_app"].append(rate(reader, seconds, screen))
    return compared(windows, "with_app", "without")


@contextmanager
def _app(pid: int) -> Iterator[Screen]:
    screen = Screen([sys.executable, "-P", "-m", "pac.tui", "attach", str(pid)])
    try:
        screen.wait_for(" running ")
        yield screen
    finally:
        screen.close(keys="qd")
