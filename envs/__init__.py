"""The games, their rules and their boards, and the adapter for Gymnasium and PettingZoo environments."""

from .check import NotConforming, check
from .errors import BadParameter, EnvironmentFailed, PacError, UnknownName
from .family import Parameter, TaskFamily
from .fields import Field
from .naming import Names
from .panels import Glyph, Panel
from .registry import families, find
from .slots import next_slot
from .task import Environments, Outcome, Task, allocate, episode_seed

__all__ = [
    "BadParameter",
    "EnvironmentFailed",
    "Environments",
    "Field",
    "Glyph",
    "Names",
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
