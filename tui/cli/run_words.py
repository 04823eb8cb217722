"""Keys and values of runs as text."""

from __future__ import annotations

from typing import Any

from ...training.units import STEPPED, Units, plural

OF_EPISODES = frozenset({"episodes", "return_mean", "length_mean"})


def label_of(key: str, units: Units) -> str:
    """Return the trainer's word for a key; empty if the trainer does not count it."""
    if units is STEPPED:
        return key
    words = {
        "num_envs": plural(units.environment),
        "steps": plural(units.step),
        "frames": plural(units.frame),
        "iterations": "",  # already shown as frames
        "fps": units.fps,
        "sps": units.sps,
    }
    return "" if key in OF_EPISODES and not units.episodes else words.get(key, key)


def shown_value(value: Any) -> str:
    """Return a value as text."""
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if type(value) is int else "" if value is None else str(value)
