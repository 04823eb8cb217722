"""Records half a minute of the debugger with a watched script, as an asciicast and a GIF."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot
from textual.strip import Strip

from ..training.runs.sessions import ConnectedSession, FoundSession, sessions
from ..training.telemetry.records import Phase
from .app import PacApp
from .connection import SessionConnection
from .replay.export import SCREEN, write_cast, write_gif
from .svg import lines_of

SCRIPT = '''"""Stable-Baselines3 learns CartPole. One line is for pac-tui."""

import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from pac.training import watch

envs = DummyVecEnv([lambda: gym.make("CartPole-v1", render_mode="rgb_array")] * 4)
envs = watch(envs)
PPO("MlpPolicy", envs, n_steps=128, device="cpu", seed=3).learn(10_000_000)
'''
RATE = 6.0
"""Screens per second."""
LIMIT = 120.0
LEARNED = 30.0
"""Mean return at which episodes are long enough to go back in time."""
WINDOW = 3.0
"""Seconds until speeds are known and every board was drawn."""
CONDITION = "env 1: length > 18"
SLOW = 5.0
"""Steps per second while one environment is shown."""


class ScreenRecorder:
    """Stores an app's screen `RATE` times a second."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self._pilot = pilot
        self.screens: list[list[Strip]] = []

    async def run(self) -> None:
        """Store screens until canceled."""
        due = time.monotonic()
        while True:
            seen = lines_of(self._pilot.app.screen)
            whole = len(seen) == SCREEN[1]  # a dialog has no lines before its layout
            self.screens.append(seen if whole else self.screens[-1])
            due += 1 / RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition.

    Raises:
        TimeoutError: It did not become true.
    """
    limit = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > limit:
            raise TimeoutError(f"waiting for {what}")
        await asyncio.sleep(0.05)


async def play(pilot: Pilot[int], app: PacApp) -> None:
    """Press keys: watch, set a breakpoint, go back ten steps, inspect, continue."""
    await pilot.pause(4.0)
    await pilot.press("1")
    await pilot.pause(2.0)
    app.training.send("speed", sps=SLOW * app.state.num_envs)
    await pilot.press("b")
    await pilot.pause(1.0)
    for letter in CONDITION:
        await pilot.press({" ": "space", ":": "colon", ">": "greater_than_sign"}.get(letter, letter))
        await pilot.pause(0.05)
    await pilot.pause(0.6)
    await pilot.press("enter")
    await pilot.pause(1.0)
    await pilot.press("escape")
    await until(lambda: app.state.phase is Phase.PAUSED, "the breakpoint")
    await pilot.pause(2.5)
    for _ in range(10):
        await pilot.press("left")
        await pilot.pause(0.35)
    await pilot.press("i")
    await pilot.pause(4.0)
    await pilot.press("i", "end")
    await pilot.pause(0.8)
    await pilot.press("m", "space")
    await pilot.pause(4.0)


async def record(found: FoundSession) -> list[list[Strip]]:
    """Attach to a session and return the screens."""
    app = PacApp(SessionConnection(lambda: ConnectedSession(found), "elsewhere"))
    async with app.run_test(size=SCREEN) as pilot:
        await until(
            lambda: app.state.snapshot is not None and app.state.snapshot.state["return_mean"] > LEARNED, "it to learn"
        )
        await pilot.pause(WINDOW)
        recorder = ScreenRecorder(pilot)
        task = asyncio.create_task(recorder.run())
        try:
            await play(pilot, app)
        finally:
            task.cancel()
        await pilot.press("q", "d")
    return recorder.screens


def main() -> int:
    """Record into the folder named by the first argument: `debugger.cast` and `debugger.gif`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("screenshots")
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "cartpole.py"
        script.write_text(SCRIPT)
        process = subprocess.Popen(
            [sys.executable, str(script)],
            cwd=place,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
        )
        try:
            limit = time.monotonic() + LIMIT
            while not (found := [each for each in sessions() if each.pid == process.pid]):
                if process.poll() is not None or time.monotonic() > limit:
                    raise TimeoutError("waiting for the script to be watched")
                time.sleep(0.1)
            screens = asyncio.run(record(found[0]))
        finally:
            process.kill()
            process.wait()
    write_cast(screens, folder / "debugger.cast", rate=RATE, title="pac-tui")
    write_gif(screens, folder / "debugger.gif", rate=RATE)
    sys.stdout.write(f"{len(screens) / RATE:.0f} s in {folder}/debugger.cast and .gif\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
