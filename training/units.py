"""The words of a trainer: what it counts, and which of its figures tell how good it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Units:
    """What a trainer calls the things that every session counts.

    Attributes:
        environment: One of the N that run side by side.
        env: The same in headings.
        step: What all of them do between two passes of the gate.
        frame: What fps counts.
        fps: Frames per second.
        sps: Steps per second.
        over: What curves run over, where they do not run over time.
        episodes: Whether there are episodes, which end and have a return.
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
        """What curves run over, in this trainer's word."""
        return plural(self.step if self.over == "steps" else self.frame)

    def said(self, sentence: str) -> str:
        """Return a sentence about environments and fps in these words."""
        for word, ours in (("environment", self.environment), ("Environment", self.environment.capitalize())):
            sentence = sentence.replace(word, ours)
        return sentence.replace("fps", self.fps)


STEPPED = Units()
"""The words of whoever learns from environments."""


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
"""The words of a solver whose workers make iterations by the batch."""


def plural(word: str) -> str:
    """Return the plural of a word of `Units`."""
    return f"{word}es" if word.endswith("ch") else f"{word}s"


@dataclass(frozen=True)
class Figure:
    """A figure that tells how good what was learned is.

    Attributes:
        name: Its name among the metrics.
        title: What it is, for people.
        note: What else is said of it where there is room: what it is counted in.
        log: Whether it is drawn on logarithmic axes.
        better: Which values are better; neither of a figure that only tells how far it is.
    """

    name: str
    title: str
    note: str = ""
    log: bool = False
    better: Literal["higher", "lower", "neither"] = "higher"

    def best(self, values: Iterable[float]) -> float | None:
        """Return the best of some values, if there are any and one is better than another."""
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
    """Return the first of a trainer's figures that is among `names`, or the first of all."""
    known = set(names)
    return next((figure for figure in figures if figure.name in known), figures[0])
