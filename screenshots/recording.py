"""Records half a minute of `pac-tui watch` with an unchanged script, as an asciicast and a GIF."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from textual.pilot import Pilot
from textual.strip import Strip

from pac.training.telemetry.records import Phase
from pac.training.watching.launching import find_interpreter
from pac.tui.app.app import PacApp
from pac.tui.replay.export import SCREEN
from pac.tui.replay.film_files import write_cast, write_gif
from pac.tui.starting.script_app import ScriptConnection, find_session
from pac.tui.starting.script_process import ScriptProcess
from pac.tui.terminal.raster import drawn
from pac.tui.terminal.svg import lines_of

SCRIPT = '''"""Stable-Baselines3 learns CartPole. Nothing in it is for pac-tui."""

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

torch.set_num_threads(1)
envs = make_vec_env("CartPole-v1", n_envs=4, env_kwargs={"render_mode": "rgb_array"})
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
    """Press keys: boards, curves, a breakpoint, ten steps back, inspect, continue."""
    await pilot.pause(4.0)
    await pilot.press("l")
    await pilot.pause(3.0)
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


async def record(connection: ScriptConnection) -> list[list[Strip]]:
    """Show a watched script and return the screens."""
    app = PacApp(connection)
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
    """Record into the folder named by the first argument: `watch.cast` and `watch.gif`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    if find_spec("stable_baselines3") is None:
        sys.exit("the recorded script needs Stable-Baselines3: pip install stable-baselines3")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "train.py"
        path.write_text(SCRIPT)
        script = ScriptProcess(find_interpreter(sys.executable), [str(path)])
        try:
            limit = time.monotonic() + LIMIT
            while (found := find_session(script.pid, None)) is None:
                if script.poll() is not None or time.monotonic() > limit:
                    script.copy_output()
                    raise TimeoutError("waiting for the script to be watched")
                time.sleep(0.1)
            screens = asyncio.run(record(ScriptConnection(script, found, leaves=True)))
        finally:
            script.kill()
            script.wait(LIMIT)
    write_cast(screens, folder / "watch.cast", rate=RATE, title="pac-tui watch train.py")
    write_gif(map(drawn, screens), folder / "watch.gif", rate=RATE)
    sys.stdout.write(f"{len(screens) / RATE:.0f} s in {folder}/watch.cast and .gif\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
