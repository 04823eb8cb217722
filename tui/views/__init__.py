"""The views. Each shows one aspect of a session, and requests what it needs."""

from .base import BaseView, ViewUpdate
from .diagnosis import DiagnosisView
from .environment import EnvironmentView
from .learning import LearningView
from .logs import LogView
from .members import MembersView
from .summary import SummaryView
from .timeline import TimelineView
from .timing import TimingView
from .workers import WorkersView

__all__ = [
    "BaseView",
    "DiagnosisView",
    "EnvironmentView",
    "LearningView",
    "LogView",
    "MembersView",
    "SummaryView",
    "TimelineView",
    "TimingView",
    "ViewUpdate",
    "WorkersView",
]
