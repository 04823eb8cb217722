"""The episodes of an evaluation as a list, best first; the selected one is replayed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType

from ...envs import PacError
from ...training.past.rebuilding import rebuilt
from ...training.playing import EvaluatedRun
from ..app.app import PacApp
from ..dialogs.episode_rows import EpisodeRow, chosen, marks_of
from ..dialogs.episodes import EpisodeList
from ..terminal.terminal_app import TerminalApp
from .episode_session import EpisodeConnection, EpisodeSession
from .replay import ReplayApp


def rows_of_evaluation(found: EvaluatedRun) -> list[EpisodeRow]:
    """Return the episodes of an evaluation, best first, with the best, the worst and the median one marked."""
    returns = np.array([episode.returns[0] for episode in found.played])
    marks = marks_of(returns)
    rows = [
        EpisodeRow(
            number=index + 1,
            env=episode.env,
            episode=episode.number,
            gained=episode.returns[0],
            length=episode.length,
            end="truncated" if episode.truncated else "terminated",
            outcome=found.task.outcomes[episode.outcome - 1].name if episode.outcome else "",
            when=0.0,
            run_seed=found.seed,
            mark=marks.get(index, ""),
        )
        for index, episode in enumerate(found.played)
    ]
    return chosen(rows, (), "return", ascending=False)


def show_evaluation(found: EvaluatedRun) -> int | None:
    """List the episodes, and replay those that the user selects; return the exit code of the last app."""
    selected, error = 0, ""
    while True:
        app = EvaluationApp(found, selected, error)
        app.run()
        if app.replay is None:
            return app.return_code
        selected, error = app.replay.number, ""
        steps = found.played[selected - 1].steps
        assert steps is not None
        try:
            episode = rebuilt(found.task, found.seed, steps.env, steps, str(found.report["run"]))
        except PacError as failure:
            error = f"the episode cannot be replayed: {failure}"
            continue
        session = EpisodeSession(episode, Path(f"env{steps.env + 1}-episode{steps.episode + 1}"))
        replay = ReplayApp(EpisodeConnection(partial(_itself, session)))
        replay.run()
        if replay.return_code:
            return replay.return_code


def _itself(session: EpisodeSession) -> EpisodeSession:
    return session


class EvaluationDialog(EpisodeList):
    """Lists episodes, best first; the result is the one to replay.

    Args:
        selected: The number of the episode that is selected at first; 0 for the best one.
        error: Why an episode was not replayed.
    """

    LEFT_OUT, COLUMN = frozenset({"age"}), "return"

    def __init__(self, found: EvaluatedRun, selected: int = 0, error: str = "") -> None:
        super().__init__((outcome.name, outcome.tone) for outcome in found.task.outcomes)
        self.heading = f"Episodes of {found.report['run']}"
        self.rows, self.selected, self.error = rows_of_evaluation(found), selected or None, error

    def _take(self, item: EpisodeRow) -> None:
        self.dismiss(item)


class EvaluationApp(TerminalApp):
    """Shows the list.

    Attributes:
        replay: The episode to replay, if the user has chosen one.
    """

    CSS_PATH = PacApp.CSS_PATH
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "exit", "Leave", priority=True)]

    def __init__(self, found: EvaluatedRun, selected: int = 0, error: str = "") -> None:
        super().__init__()
        self.replay: EpisodeRow | None = None
        self._dialog = partial(EvaluationDialog, found, selected, error)

    def on_mount(self) -> None:
        """Open the list."""
        super().on_mount()
        self.push_screen(self._dialog(), self._chosen)

    def _chosen(self, row: EpisodeRow | None) -> None:
        self.replay = row
        self.exit(0)

    def action_exit(self) -> None:
        """Leave."""
        self.exit(0)
