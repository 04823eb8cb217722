"""The views. Each shows one aspect of a session, and requests what it needs."""

from .base import BaseView, ViewUpdate
from .environment import EnvironmentView
from .learning import LearningView
from .logs import LogView
from .summary import SummaryView
from .timing import TimingView
from .workers import WorkersView

__all__ = [
    "BaseView",
    "EnvironmentView",
    "LearningView",
    "LogView",
    "SummaryView",
    "TimingView",
    "ViewUpdate",
    "WorkersView",
]
