"""Measures the built-in games with random legal actions in one thread."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import Figures, Progress, summary_of
from ..turns import alternate
from .autochess import decisions_per_second
from .drmario import placements_per_second
from .poker import hands_per_second
from .rates import steps_per_second


def measure_engine(*, repeat: int = 5, seconds: float = 2.0, progress: Progress) -> Figures:
    """Measure each game `repeat` times, in turn; return the summaries of the rates."""
    rates: dict[str, Callable[[], float]] = {
        "placements_per_second": lambda: placements_per_second(seconds),
        "autochess_decisions_per_second": lambda: decisions_per_second("autochess:players=8", seconds)[0],
        "treasure_agent_steps_per_second": lambda: steps_per_second("treasure:agents=8", seconds),
        "holdem_hands_per_second": lambda: hands_per_second("holdem", seconds),
    }
    return {name: summary_of(values) for name, values in alternate(rates, repeat, progress).items()}
