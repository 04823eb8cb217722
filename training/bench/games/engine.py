"""Measures the built-in games with random legal actions in one thread."""

from __future__ import annotations

from functools import partial

from ..facts import Figures, Progress, summary_of
from ..turns import alternate
from .rates import play_rate


def measure_engine(*, repeat: int = 5, seconds: float = 2.0, progress: Progress) -> Figures:
    """Measure each game `repeat` times, in turn; return the summaries of the rates."""
    rates = {
        "placements_per_second": partial(play_rate, "drmario", seconds),
        "autochess_decisions_per_second": partial(play_rate, "autochess:players=8", seconds),
        "treasure_agent_steps_per_second": partial(play_rate, "treasure:agents=8", seconds),
        "holdem_hands_per_second": partial(play_rate, "holdem", seconds, episodes=True),
    }
    return {name: summary_of(values) for name, values in alternate(rates, repeat, progress).items()}
