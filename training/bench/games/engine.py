"""Measures the built-in games with random legal actions in one thread."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import Figures, Progress, summary_of
from .autochess import decisions_per_second
from .drmario import placements_per_second
from .gridworld import EIGHT, agent_steps_per_second
from .poker import hands_per_second


def measure_engine(*, repeat: int = 5, seconds: float = 2.0, progress: Progress) -> Figures:
    """Measure each game `repeat` times, in turn; return the summaries of the rates."""
    rates: dict[str, Callable[[], float]] = {
        "placements_per_second": lambda: placements_per_second(seconds),
        "autochess_decisions_per_second": lambda: decisions_per_second("autochess:players=8", seconds)[0],
        "treasure_agent_steps_per_second": lambda: agent_steps_per_second(EIGHT, seconds),
        "holdem_hands_per_second": lambda: hands_per_second("holdem", seconds),
    }
    found: dict[str, list[float]] = {name: [] for name in rates}
    for number in range(repeat):
        progress("random legal actions", number / repeat)
        for name, rate in rates.items():
            found[name].append(rate())
    return {name: summary_of(values) for name, values in found.items()}
