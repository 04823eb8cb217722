"""Messages between threads, widgets and the app."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from textual.message import Message

from ..envs import PacError
from ..envs.fields import Array
from ..training.past.episode import Episode
from ..training.telemetry.snapshot import Snapshot
from .connections.session_group import SeenSession
from .curve_options import Overlay


@dataclass
class SnapshotTaken(Message):
    """A new snapshot of the session. It replaces one that was not handled yet.

    Attributes:
        members: All sessions, if several are shown.
        selected: The index of the session among them.
    """

    snapshot: Snapshot
    members: tuple[SeenSession, ...] = ()
    selected: int = 0

    def can_replace(self, message: Message) -> bool:
        """Return whether this message replaces an older one."""
        return isinstance(message, SnapshotTaken)


@dataclass
class PictureTaken(Message):
    """A new picture of an environment in large. It replaces one that was not handled yet."""

    env: int
    pixels: Array
    selected: int = 0

    def can_replace(self, message: Message) -> bool:
        """Return whether this message replaces an older one."""
        return isinstance(message, PictureTaken)


@dataclass
class SessionLost(Message):
    """The session could not start, or its process has died; with its index if several are shown."""

    error: PacError
    selected: int = 0


@dataclass
class EpisodeKept(Message):
    """An episode was written to a file, to be replayed."""

    episode: Episode
    path: Path


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
class CurvePointed(Message):
    """A place on a curve was clicked."""

    x: float


@dataclass
class CurvesZoomed(Message):
    """The wheel was turned on a curve, to show a range that is wider by a factor, around a place."""

    factor: float
    around: float


@dataclass
class RunsRead(Message):
    """Curves of other runs were read; with those that cannot be read, and the reasons."""

    runs: tuple[Overlay, ...]
    failed: tuple[tuple[Overlay, str], ...]


@dataclass
class MemberChosen(Message):
    """The name of a session was clicked; None is all of them."""

    index: int | None


@dataclass
class ViewChosen(Message):
    """A view's name was clicked."""

    view: str
