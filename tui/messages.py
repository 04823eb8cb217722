"""What the parts of the app tell each other."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from ..envs import PacError
from ..training.telemetry.snapshot import Snapshot


@dataclass
class SnapshotTaken(Message):
    """The newest look at the session; one that was not handled yet gives way to the next."""

    snapshot: Snapshot

    def can_replace(self, message: Message) -> bool:
        """A newer one replaces one that waits."""
        return isinstance(message, SnapshotTaken)


@dataclass
class SessionLost(Message):
    """The session could not begin, or has gone without a word."""

    error: PacError


@dataclass
class Refused(Message):
    """A command was not carried out."""

    command: str
    error: PacError


@dataclass
class EnvironmentOpened(Message):
    """A board was chosen to be seen large."""

    env: int


@dataclass
class ViewChosen(Message):
    """A view's name was clicked."""

    view: str
