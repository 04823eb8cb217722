"""The games, their rules and their looks, and the adapter for anybody's Gymnasium environment."""

from .check import NotConforming, check
from .errors import BadParameter, EnvironmentFailed, PacError, UnknownName
from .registry import families, find
from .task import (
    Environments,
    Field,
    Glyph,
    Outcome,
    Panel,
    Parameter,
    Task,
    TaskFamily,
    allocate,
    episode_seed,
    next_slot,
)

__all__ = [
    "BadParameter",
    "EnvironmentFailed",
    "Environments",
    "Field",
    "Glyph",
    "NotConforming",
    "Outcome",
    "PacError",
    "Panel",
    "Parameter",
    "Task",
    "TaskFamily",
    "UnknownName",
    "allocate",
    "check",
    "episode_seed",
    "families",
    "find",
    "next_slot",
]
