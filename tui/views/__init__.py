"""The views. Each shows one aspect of a session, and requests what it needs."""

from .base import View, ViewUpdate
from .environment import EnvironmentView
from .learning import LearningView
from .logs import LogView
from .summary import SummaryView
from .timing import TimingView
from .workers import WorkersView

__all__ = [
    "EnvironmentView",
    "LearningView",
    "LogView",
    "SummaryView",
    "TimingView",
    "View",
    "ViewUpdate",
    "WorkersView",
]
