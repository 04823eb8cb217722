"""The views: each shows one side of a session, and says what it looks at."""

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
