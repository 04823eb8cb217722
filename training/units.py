"""The words of a trainer for what it counts, and its measures of success."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Units:
    """A trainer's words for the things that every session counts.

    Attributes:
        environment: One of the N that run in parallel.
        env: Short form, for headings.
        step: One step of all environments.
        frame: The unit that fps counts.
        fps: Unit of frames per second.
        sps: Unit of steps per second.
        over: The horizontal axis of curves, if it is not time.
    """

    environment: str = "environment"
    env: str = "env"
    step: str = "step"
    frame: str = "frame"
    fps: str = "fps"
    sps: str = "sps"
    over: Literal["steps", "frames"] = "steps"
    episodes: bool = True

    @property
    def counted(self) -> str:
        """The horizontal axis of curves, in the trainer's word."""
        return plural(self.step if self.over == "steps" else self.frame)

    def translate(self, sentence: str) -> str:
        """Return a sentence about environments and fps in the trainer's words."""
        for word, ours in (("environment", self.environment), ("Environment", self.environment.capitalize())):
            sentence = sentence.replace(word, ours)
        return sentence.replace("fps", self.fps)


STEPPED = Units()
"""Units of trainers that step environments."""


SOLVED = Units(
    environment="worker",
    env="worker",
    step="batch",
    frame="iteration",
    fps="it/s",
    sps="batches/s",
    over="frames",
    episodes=False,
)
"""Units of a solver whose workers run batches of iterations."""


def plural(word: str) -> str:
    """Return the plural of a word of `Units`."""
    return f"{word}es" if word.endswith("ch") else f"{word}s"


@dataclass(frozen=True)
class Figure:
    """A measure of success.

    Attributes:
        name: Name of the metric.
        title: Name for people.
        note: Its unit or a remark, shown if there is room.
        log: Whether its axis is logarithmic.
        better: Which values are better; neither for a figure that only shows progress.
    """

    name: str
    title: str
    note: str = ""
    log: bool = False
    better: Literal["higher", "lower", "neither"] = "higher"

    def best(self, values: Iterable[float]) -> float | None:
        """Return the best value; None without values or if neither direction is better."""
        if self.better == "neither":
            return None
        return (min if self.better == "lower" else max)(values, default=None)


RETURN = Figure("return_mean", "Return", "mean of 100")
LENGTH = Figure("length_mean", "Length", "mean of 100", better="neither")

NASH_CONV = Figure("nash_conv", "NashConv", "chips per hand, twice the exploitability", log=True, better="lower")
REGRET = Figure("regret", "Regret", "chips per hand, all information sets together", log=True, better="lower")
UTILITY = Figure("utility", "Utility", "of player 1, chips per hand", better="neither")
INFORMATION_SETS = Figure("information_sets", "Information sets", "visited", better="neither")


def first_of(figures: tuple[Figure, ...], names: Iterable[str]) -> Figure:
    """Return the first of a trainer's figures that is in `names`, or else its first figure."""
    known = set(names)
    return next((figure for figure in figures if figure.name in known), figures[0])
