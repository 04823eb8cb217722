"""Measures frames and steps per second of the Game Boy on one core, and steps per second of many on two cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from pac.backends.factory import make
from pac.envs.gameboy.cartridge import DIGESTS, own_bytes
from pac.envs.gameboy.games import find_game
from pac.envs.gameboy.layout import HIDDEN
from pac.envs.registry import find
from pac.training.bench.backends.rates import SLOTS, random_stepper
from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.games.engine import play_rate
from pac.training.bench.measured_process import measured_cores
from pac.training.bench.turns import alternate, compared, rate_of

from .gameboy_frames import FRAMES, LONGEST, compare_frames, emulate, emulate_pyboy, played_per_second

MANY = 64
"""Environments that are stepped at once."""
LONG_STEPS = """
title: Catch in long steps
start: [{frames: 20}]
frames: 24
press: 8
actions: ["", right, left]
steps: 120
values: [{name: score, address: 0xC002, reward: 1}]
ends: [{outcome: over, address: 0xC004, equals: 1}]
"""


def measure_gameboy(
    *, roms: Sequence[Path] = (), repeat: int = 5, seconds: float = 1.0, frames: int = FRAMES, progress: Progress
) -> Results:
    """Measure each ROM `repeat` times, in turn with PyBoy where it is installed, and compare `frames` of both.

    Returns:
        The summaries of the rates, and how many frames differ. With PyBoy and `roms`, the median of their ratios is
        `games/ratio`.
    """
    files = {name: own_bytes(name) for name in DIGESTS} | {path.stem: path.read_bytes() for path in roms}
    results: Results = {}
    for number, (name, data) in enumerate(files.items()):
        progress(name, number / (len(files) + len(DIGESTS)))
        sides: dict[str, Callable[[], float]] = {
            "frames_per_second": partial(played_per_second, partial(emulate, data, name, LONGEST, HIDDEN), seconds)
        }
        if find_spec("pyboy") is not None:
            sides["pyboy"] = partial(played_per_second, partial(emulate_pyboy, data, LONGEST), seconds)
        summaries = {side: summary_of(rates) for side, rates in alternate(sides, repeat).items()}
        results[name] = dict(summaries)
        if "pyboy" in summaries:
            results[name]["ratio"] = summaries["frames_per_second"]["median"] / summaries["pyboy"]["median"]
            results[name]["compared_frames"] = frames
            results[name]["differing_frames"] = compare_frames(data, name, frames).differ
    if ratios := [results[path.stem]["ratio"] for path in roms if "ratio" in results[path.stem]]:
        results["games"] = {"count": len(ratios), "ratio": median(ratios)}
    for number, name in enumerate(DIGESTS):
        progress(f"steps of {name}", (len(files) + number) / (len(files) + len(DIGESTS)))
        rates = [play_rate(f"gameboy:game={name}", seconds) for _ in range(repeat)]
        results[name]["steps_per_second"] = summary_of(rates)
    if find_spec("pyboy") is not None:
        progress("many environments", 0.99)
        results["steps"] = async_ratio(repeat, seconds)
    return results


def async_ratio(rounds: int, seconds: float) -> Results:
    """Compare `shm` with PyBoy in Gymnasium's AsyncVectorEnv, in turn on the same two cores with random actions.

    A step is 24 frames of the cartridge `catch`, of which the last one is drawn and packed.
    """
    from gymnasium.vector import AsyncVectorEnv

    from .pyboy_env import PyBoyEnv

    cores, before = measured_cores(), os.sched_getaffinity(0)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        os.sched_setaffinity(0, cores)
        stack.callback(os.sched_setaffinity, 0, before)
        rom = Path(folder) / "catch.gb"
        rom.write_bytes(own_bytes("catch"))
        rom.with_suffix(".yaml").write_text(LONG_STEPS)
        make_peer = partial(PyBoyEnv, rom.read_bytes(), find_game("", str(rom)))
        peer = stack.enter_context(closing(AsyncVectorEnv([make_peer] * MANY, context="fork")))
        peer.reset(seed=0)
        task = find(f"gameboy:rom={rom}")
        envs = stack.enter_context(closing(make(task, MANY, "shm", workers=len(cores), slots=SLOTS)))
        envs.start()
        step, actions = random_stepper(envs), np.random.default_rng(0).integers(task.num_actions, size=(64, MANY))
        turns = cycle(actions)

        def step_peer() -> int:
            peer.step(next(turns))
            return MANY

        sides = {"shm": partial(rate_of, step, seconds), "async": partial(rate_of, step_peer, seconds)}
        rates = alternate(sides, 1 + rounds)
    rates = {side: found[1:] for side, found in rates.items()}  # the first ones warm up
    return {"num_envs": MANY, "cores": len(cores), **compared(rates, "shm", "async")}
