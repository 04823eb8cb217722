"""Frames and steps per second of the Game Boy on one core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from ....envs.gameboy.cartridge import cartridge_of
from ....envs.gameboy.cartridges import DIGESTS, own_bytes
from ....envs.gameboy.console import Console
from ....envs.gameboy.layout import HIDDEN
from ..facts import Figures, Progress, summary_of
from ..turns import alternate
from .rates import median_rate, steps_per_second

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


def measure_gameboy(*, roms: Sequence[Path] = (), repeat: int = 5, seconds: float = 1.0, progress: Progress) -> Figures:
    """Measure each ROM `repeat` times, in turn with PyBoy where it is installed; return the summaries of the rates."""
    files = {name: own_bytes(name) for name in DIGESTS} | {path.stem: path.read_bytes() for path in roms}
    figures: Figures = {}
    for number, (name, data) in enumerate(files.items()):
        progress(name, number / (len(files) + len(DIGESTS)))
        sides: dict[str, Callable[[], float]] = {"frames_per_second": partial(frames_per_second, data, name, seconds)}
        if find_spec("pyboy") is not None:
            sides["pyboy"] = partial(pyboy_frames_per_second, data, seconds)
        summaries = {side: summary_of(rates) for side, rates in alternate(sides, repeat).items()}
        figures[name] = dict(summaries)
        if "pyboy" in summaries:
            figures[name]["ratio"] = summaries["frames_per_second"]["median"] / summaries["pyboy"]["median"]
    for number, name in enumerate(DIGESTS):
        progress(f"steps of {name}", (len(files) + number) / (len(files) + len(DIGESTS)))
        rates = [steps_per_second(f"gameboy:game={name}", seconds) for _ in range(repeat)]
        figures[name]["steps_per_second"] = summary_of(rates)
    return figures
