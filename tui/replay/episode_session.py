"""A recorded episode in place of a session: it is paused at its last step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from ...training.past.episode import Episode, episode_moments
from ...training.runs.sessions import ForeignSession
from ...training.session.control import CommandRefused
from ...training.telemetry.blocks import TelemetryReader, TelemetryWriter
from ...training.telemetry.description import describe
from ...training.telemetry.moments import Moment, RecentSteps
from ...training.telemetry.records import Phase
from ...training.telemetry.snapshot import Snapshot, ViewRequest, take_snapshot
from ..app.past import snapshot_at
from ..connections.connection import SessionConnection
from ..views.environment_rows import REPLAY

NOT_KNOWN = ("baseline", "baseline_when", "progress", "limit", "return_mean", "length_mean")


class EpisodeSession(ForeignSession):
    """An episode that looks to the app like a session.

    Attributes:
        length: Number of steps.
        path: Its file.
        directory: The folder of its file.
        pid: This process.
        episode: The episode.
        name: Its name.
    """

    def __init__(self, episode: Episode, path: Path) -> None:
        self.length = episode.length
        self.path, self.directory, self.pid = path, path.parent, os.getpid()
        self.episode, self.name, self._seats = episode, path.stem, {0: episode_moments(episode)}
        self._blank = _blank(episode, path.stem)
        newest = snapshot_at(self._blank, self.moment(self.length))
        boards = {name: board[None] for name, board in newest.focus_boards.items()}
        self._newest = replace(newest, boards=boards, focus=0)

    def moment(self, step: int, seat: int = 0) -> Moment:
        """Return the moment after a step, for one seat."""
        moment = Moment.read(self._of(seat)[step : step + 1].reshape(()), self._blank.description)
        assert moment is not None
        return moment

    def snapshot(self, look: ViewRequest) -> Snapshot:
        """Return the newest snapshot, with the requested moment."""
        played = self._of(look.seat)
        actions = played["action"][1:].reshape(self.length, -1)[:, 0].astype("f4")
        actions[played["acted"][1:] == 0] = UNKNOWN
        line = RecentSteps(self.length, played["end"][1:], played["reward"][1:], played["value"][1:], actions=actions)
        return replace(
            self._newest, seat=look.seat, line=line, moment=self.moment(max(0, self.length - look.back), look.seat)
        )

    def _of(self, seat: int) -> Array:
        """Return a seat's moments; the episode is played once for each."""
        if seat not in self._seats:
            self._seats[seat] = episode_moments(self.episode, seat)
        return self._seats[seat]


def _blank(episode: Episode, name: str) -> Snapshot:
    """Return the snapshot of a paused session of one environment, with unknown values."""
    description = describe(
        episode.task,
        run=name,
        trainer=f"episode {episode.number + 1:,} of environment {episode.env + 1}",
        backend=REPLAY,
        device=episode.run,
        seed=episode.seed,
        version=version("pac-tui"),
        pid=os.getpid(),
    )
    description = replace(description, begins_at_once=False, state_files=False)  # nothing follows the episode
    with tempfile.TemporaryDirectory() as folder:
        writer = TelemetryWriter(description, 1, 1, Path(folder))
        with writer.write("state") as state:
            state["phase"], state["num_envs"], state["steps"] = Phase.PAUSED, 1, episode.length
            for field in NOT_KNOWN:
                state[field] = UNKNOWN
        for block in ("terms", "last_terms", "last_returns"):
            with writer.write(block) as values:
                values[...] = UNKNOWN
        return take_snapshot(TelemetryReader(Path(folder)), ViewRequest())


class EpisodeConnection(SessionConnection):
    """Connects the app to a recorded episode in place of a session."""

    def __init__(self, start: Callable[[], EpisodeSession]) -> None:
        super().__init__(start, "thread")
        self._shown: tuple[ViewRequest, Snapshot] | None = None

    def take(self, look: ViewRequest) -> Snapshot:
        """Return the snapshot for `look`; the same object as before for the same request."""
        if self._shown is None or self._shown[0] != look:
            self._shown = look, cast("EpisodeSession", self.wait()).snapshot(look)
        return self._shown[1]

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Accept the command that announces a request, and the one that asks for the file.

        Raises:
            CommandRefused: It is any other command.
        """
        if command == "keep_past":
            session = cast("EpisodeSession", self.wait())
            return {"path": str(session.path.resolve()), "at": max(0, session.length - arguments["back"])}
        if command != "look":
            raise CommandRefused("a recorded episode cannot be changed: Space plays it, the arrow keys step")
        return {}
