"""Messages between threads, widgets and the app."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from ..envs import PacError
from ..training.telemetry.snapshot import Snapshot


@dataclass
class SnapshotTaken(Message):
    """A new snapshot of the session. It replaces one that was not handled yet."""

    snapshot: Snapshot

    def can_replace(self, message: Message) -> bool:
        """Return whether this message replaces an older one."""
        return isinstance(message, SnapshotTaken)


@dataclass
class SessionLost(Message):
    """The session could not start, or its process has died."""

    error: PacError


@dataclass
class Refused(Message):
    """The session refused a command."""

    command: str
    error: PacError


@dataclass
class EnvironmentOpened(Message):
    """A board was clicked, to show its environment."""

    env: int


@dataclass
class ViewChosen(Message):
    """A view's name was clicked."""

    view: str
