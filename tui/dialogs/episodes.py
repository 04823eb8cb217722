"""The dialog of episodes: a table of the last ones of all environments, sorted and filtered, and their replay."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...training.telemetry.snapshot import Snapshot
from ..drawing.numbers import alike
from ..drawing.panels import FRAME
from ..drawing.styles import FAINT, RED, SOFT, TONES, Row, styled
from ..views.figures import hint, wrapped
from .dialog import SELECT, Dialog, first_shown
from .episode_rows import TABLE, EpisodeRow, chosen, columns_of, heading, line, rows_of
from .prompt import KeyedInput

MOST_COLUMNS, MARGIN = 118, 3
FILTER = "filter, such as: best, return>10, length<=5, env=3, truncated"


class EpisodesDialog(Dialog):
    """Lists the episodes that have ended. Enter replays the selected one.

    Args:
        replay: Has the selected episode replayed.
        snapshot: The newest snapshot.
    """

    SENDS = frozenset({"keep_episode"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close"),
        *SELECT,
        Binding("left", "sort(-1)", "Sort", priority=True),
        Binding("right", "sort(1)", "Sort", priority=True),
    ]

    def __init__(self, replay: Callable[[EpisodeRow], None], snapshot: Snapshot) -> None:
        line = KeyedInput({"space"}, max_length=100, placeholder=FILTER, select_on_focus=False)
        super().__init__(lambda *_: None, snapshot, line)
        self._replay = replay
        self._rows: list[EpisodeRow] = []
        self._column, self._ascending = TABLE[0][0], False
        self._selected: int | None = None
        self.show(snapshot)

    def show(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        if snapshot.episodes is not None:
            self._rows = rows_of(snapshot.episodes, snapshot.description)
        self.snapshot = snapshot
        if self.is_mounted:
            self.draw()

    @property
    def shown(self) -> list[EpisodeRow]:
        """The episodes that match the filter, sorted."""
        return chosen(self._rows, self.line.value.lower().split(), self._column, ascending=self._ascending)

    def _at(self, shown: list[EpisodeRow]) -> int:
        numbers = [row.number for row in shown]
        return numbers.index(self._selected) if self._selected in numbers else 0

    def action_select(self, by: int) -> None:
        """Select another episode."""
        shown = self.shown
        if shown:
            self._selected = shown[min(len(shown) - 1, max(0, self._at(shown) + by))].number
        self.error = ""
        self.draw()

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        names = [name for name, _ in columns_of(self._inner)]
        self._column = names[(names.index(self._column) + by) % len(names)] if self._column in names else names[0]
        self._selected = None
        self.draw()

    def on_keyed_input_pressed(self) -> None:
        """Reverse the order."""
        self._ascending, self._selected = not self._ascending, None
        self.draw()

    def on_input_changed(self) -> None:
        """Show the episodes that match the filter."""
        self.error = ""
        self.draw()

    def on_input_submitted(self) -> None:
        """Replay the selected episode."""
        shown = self.shown
        if shown and self.snapshot.description.watched:
            self.refused("keep_episode", "the environments of a watched script cannot be replayed")
        elif shown:
            row = shown[self._at(shown)]
            self._selected, self.error = row.number, ""
            self._replay(row)

    @property
    def _inner(self) -> int:
        """Columns within the frame."""
        return max(1, min(MOST_COLUMNS, self.size.width) - FRAME)

    def draw(self) -> None:
        """Draw the table, scrolled to the selected episode."""
        inner, shown = self._inner, self.shown
        foot: list[Row] = [(styled(text, RED),) for text in wrapped(self.error, inner)] if self.error else []
        room = max(1, self.size.height - MARGIN - 3 - len(foot))
        at = self._at(shown)
        first = first_shown(at, room, len(shown))
        columns, now = columns_of(inner), time.time()
        colors = {name: TONES[tone] for name, tone in self.snapshot.description.outcomes}
        returns = alike(row.gained for row in shown)
        rows: list[Row] = [
            heading(columns, self._column, ascending=self._ascending),
            *(
                line(row, columns, now, colors, returns, selected=row is shown[at])
                for row in shown[first : first + room]
            ),
        ]
        if not shown:
            rows = hint("no episode matches the filter" if self._rows else "no episode has ended yet", inner)
        place = f"{at + 1:,} of {len(shown):,}" if shown else ""
        keys = "  Enter replays  ←→ sort  Space reverses  Esc closes"
        note = (styled(place, SOFT), styled(keys, FAINT))
        self.frame("Episodes", [*rows, *foot], inner + FRAME, note)
