"""Frames and steps per second of the Game Boy on one core: `python -m pac.training.bench.games.gameboy [ROM ...]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np

from ....envs.gameboy.cartridge import cartridge_of
from ....envs.gameboy.cartridges import DIGESTS, own_bytes
from ....envs.gameboy.console import Console
from ....envs.gameboy.layout import HIDDEN
from ....envs.registry import find
from ....envs.task import allocate
from ..facts import Figures, Progress, summary_of
from .rates import median_rate

ENVIRONMENTS = 32
STEPS = 16
FRAMES = 200
WARM_UP = 300
"""Frames before the measurement, in which a game shows its title."""


def frames_per_second(data: bytes, name: str, seconds: float) -> float:
    """Return frames per second of a ROM that are not drawn, without input."""
    console = Console(cartridge_of(data, name), HIDDEN)
    console.run_frames(WARM_UP)

    def work() -> int:
        console.run_frames(FRAMES)
        return FRAMES

    return median_rate(work, seconds)


def pyboy_frames_per_second(data: bytes, seconds: float) -> float:
    """Return the same of PyBoy, which must be installed."""
    made = import_module("pyboy").PyBoy(BytesIO(data), window="null", sound_emulated=False, log_level="CRITICAL")
    made.set_emulation_speed(0)
    made.tick(WARM_UP, False, False)

    def work() -> int:
        made.tick(FRAMES, False, False)
        return FRAMES

    return median_rate(work, seconds)


def steps_per_second(spec: str, seconds: float) -> float:
    """Return steps per second of one thread with random actions, with observations written into a rollout."""
    task = find(spec)
    buffers = allocate(task, ENVIRONMENTS, STEPS + 1)
    environments = task.make(0, ENVIRONMENTS, buffers, 0)
    environments.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    actions = buffers["action"]
    actions[...] = np.random.default_rng(0).integers(task.num_actions, size=actions.shape)

    def work() -> int:
        for slot in range(STEPS):
            environments.step(slot)
        return STEPS * ENVIRONMENTS

    return median_rate(work, seconds)


def measure_gameboy(*, roms: Sequence[Path] = (), repeat: int = 5, seconds: float = 1.0, progress: Progress) -> Figures:
    """Measure each ROM `repeat` times, in turn with PyBoy where it is installed; return the summaries of the rates."""
    files = {name: own_bytes(name) for name in DIGESTS} | {path.stem: path.read_bytes() for path in roms}
    figures: Figures = {}
    for number, (name, data) in enumerate(files.items()):
        progress(name, number / (len(files) + len(DIGESTS)))
        ours, theirs = [], []
        for _ in range(repeat):
            ours.append(frames_per_second(data, name, seconds))
            if find_spec("pyboy") is not None:
                theirs.append(pyboy_frames_per_second(data, seconds))
        figures[name] = {"frames_per_second": summary_of(ours)}
        if theirs:
            figures[name] |= {
                "pyboy": summary_of(theirs),
                "ratio": summary_of(ours)["median"] / summary_of(theirs)["median"],
            }
    for number, name in enumerate(DIGESTS):
        progress(f"steps of {name}", (len(files) + number) / (len(files) + len(DIGESTS)))
        rates = [steps_per_second(f"gameboy:game={name}", seconds) for _ in range(repeat)]
        figures[name]["steps_per_second"] = summary_of(rates)
    return figures


def main() -> None:
    """Print the figures."""
    found = measure_gameboy(roms=[Path(name) for name in sys.argv[1:]], progress=lambda *_: None)
    for name, figures in found.items():
        for what, figure in figures.items():
            value = figure["median"] if isinstance(figure, dict) else figure
            sys.stdout.write(f"{name} {what}: {value:,.2f}\n")


if __name__ == "__main__":
    main()
