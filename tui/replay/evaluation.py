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
from ..dialogs.dialog import SELECT, InputDialog, first_shown
from ..dialogs.episode_rows import TABLE, EpisodeRow, chosen, columns_of, heading, line, marks_of
from ..dialogs.prompt import KeyedInput
from ..drawing.numbers import alike
from ..drawing.panels import FRAME
from ..drawing.styles import FAINT, RED, SOFT, TONES, Row, styled
from ..drawing.theme import apply_theme
from ..terminal.terminal_app import TerminalApp
from ..views.figures import hint, wrapped
from .episode_session import EpisodeConnection, EpisodeSession
from .replay import ReplayApp

MOST_COLUMNS, MARGIN = 118, 3
FILTER = "filter, such as: best, return>10, length<=5, env=3, truncated"
LEFT_OUT = "age"
"""The column of the list of a session that an evaluation does not have."""


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


class EvaluationDialog(InputDialog[EpisodeRow | None]):
    """Lists episodes; the result is the one to replay.

    Args:
        found: The evaluation.
        selected: The number of the episode that is selected at first.
        error: Why an episode was not replayed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close"),
        *SELECT,
        Binding("left", "sort(-1)", "Sort", priority=True),
        Binding("right", "sort(1)", "Sort", priority=True),
    ]

    def __init__(self, found: EvaluatedRun, selected: int = 0, error: str = "") -> None:
        super().__init__(KeyedInput({"space"}, max_length=100, placeholder=FILTER, select_on_focus=False))
        self._found, self._rows, self._error = found, rows_of_evaluation(found), error
        self._column, self._ascending, self._selected = "return", False, selected

    @property
    def shown(self) -> list[EpisodeRow]:
        """The episodes that match the filter, sorted."""
        return chosen(self._rows, self.line.value.lower().split(), self._column, ascending=self._ascending)

    def _at(self, shown: list[EpisodeRow]) -> int:
        numbers = [row.number for row in shown]
        return numbers.index(self._selected) if self._selected in numbers else 0

    def action_select(self, by: int) -> None:
        """Select another episode."""
        if shown := self.shown:
            self._selected = shown[min(len(shown) - 1, max(0, self._at(shown) + by))].number
        self.draw()

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        names = [name for name, *_ in TABLE if name != LEFT_OUT]
        self._column = names[(names.index(self._column) + by) % len(names)]
        self.draw()

    def on_keyed_input_pressed(self) -> None:
        """Reverse the order."""
        self._ascending = not self._ascending
        self.draw()

    def on_input_changed(self) -> None:
        """Show the episodes that match the filter."""
        self.draw()

    def on_input_submitted(self) -> None:
        """Replay the selected episode."""
        if shown := self.shown:
            self.dismiss(shown[self._at(shown)])

    def draw(self) -> None:
        """Draw the table, scrolled to the selected episode."""
        inner, shown = max(1, min(MOST_COLUMNS, self.size.width) - FRAME), self.shown
        foot: list[Row] = [(styled(text, RED),) for text in wrapped(self._error, inner)] if self._error else []
        room, at = max(1, self.size.height - MARGIN - 3 - len(foot)), self._at(shown)
        first = first_shown(at, room, len(shown))
        columns = [column for column in columns_of(inner) if column[0] != LEFT_OUT]
        colors = {outcome.name: TONES[outcome.tone] for outcome in self._found.task.outcomes}
        returns = alike(row.gained for row in shown)
        rows: list[Row] = [
            heading(columns, self._column, ascending=self._ascending),
            *(
                line(row, columns, 0.0, colors, returns, selected=row is shown[at])
                for row in shown[first : first + room]
            ),
        ]
        if not shown:
            rows = hint("no episode matches the filter", inner)
        place = f"{at + 1:,} of {len(shown):,}" if shown else ""
        keys = "  Enter replays  ←→ sort  Space reverses  Esc leaves"
        title = f"Episodes of {self._found.report['run']}"
        self.frame(title, [*rows, *foot], inner + FRAME, (styled(place, SOFT), styled(keys, FAINT)))


class EvaluationApp(TerminalApp):
    """Shows the list.

    Attributes:
        replay: The episode to replay, if the user has chosen one.
    """

    CSS_PATH = PacApp.CSS_PATH
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "exit", "Leave", priority=True)]

    def __init__(self, found: EvaluatedRun, selected: int = 0, error: str = "") -> None:
        super().__init__()
        apply_theme(self)
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
