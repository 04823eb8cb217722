"""The list of episodes: a table, sorted and filtered; the dialog shows those of a session, and has one replayed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...training.telemetry.snapshot import Snapshot
from ..drawing.numbers import alike
from ..drawing.styles import FAINT, SOFT, TONES, Row, styled
from ..views.number_rows import hint
from .dialog import ListDialog
from .episode_rows import EpisodeRow, chosen, columns_of, heading, line, rows_of
from .prompt import KeyedInput

FILTER = "filter, such as: best, return>10, length<=5, env=3, truncated"


class EpisodeList(ListDialog[EpisodeRow, EpisodeRow | None]):
    """Lists episodes that have ended.

    Args:
        outcomes: Name and tone of each outcome.

    Attributes:
        LEFT_OUT: Columns that the table does not have.
        COLUMN: The column by which it is sorted at first, the highest values first.
    """

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()
    COLUMN: ClassVar[str] = "age"
    NO_ITEMS = "no episode matches the filter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "sort(-1)", "Sort", priority=True),
        Binding("right", "sort(1)", "Sort", priority=True),
    ]

    def __init__(self, outcomes: Iterable[tuple[str, str]]) -> None:
        super().__init__(KeyedInput({"space"}, max_length=100, placeholder=FILTER, select_on_focus=False))
        self._colors: Mapping[str, str] = {name: TONES[tone] for name, tone in outcomes}
        self._column, self._ascending = self.COLUMN, False
        self.rows: Sequence[EpisodeRow] = ()
        self._columns: list[tuple[str, int]] = []
        self._returns = alike(())

    @property
    def shown(self) -> list[EpisodeRow]:
        """The episodes that match the filter, sorted."""
        return chosen(self.rows, self.words, self._column, ascending=self._ascending)

    def _key(self, item: EpisodeRow) -> int:
        return item.number

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        names = [name for name, _ in self._columns]
        if names:
            self._column = names[(names.index(self._column) + by) % len(names)] if self._column in names else names[0]
        self.select_first()

    def on_keyed_input_pressed(self) -> None:
        """Reverse the order."""
        self._ascending = not self._ascending
        self.select_first()

    def draw(self) -> None:
        """Draw the table, with the same number of decimals in all returns."""
        self._returns = alike(row.gained for row in self.rows)
        super().draw()

    def _head(self, width: int) -> list[Row]:
        self._columns = [column for column in columns_of(width) if column[0] not in self.LEFT_OUT]
        return [heading(self._columns, self._column, ascending=self._ascending)]

    def _row(self, item: EpisodeRow, _width: int, *, selected: bool) -> Row:
        return line(item, self._columns, time.time(), self._colors, self._returns, selected=selected)

    def _note(self, at: int, count: int) -> Row:
        keys = "  Enter replays  ←→ sort  Space reverses  Esc closes"
        return (styled(str(super()._note(at, count)), SOFT), styled(keys, FAINT))


class EpisodesDialog(EpisodeList):
    """Lists the last episodes of a session. Enter replays the selected one.

    Args:
        snapshot: The newest snapshot.
    """

    heading = "Episodes"
    SENDS = frozenset({"keep_episode"})

    def __init__(self, replay: Callable[[EpisodeRow], None], snapshot: Snapshot) -> None:
        super().__init__(snapshot.description.outcomes)
        self._replay = replay
        self.show(snapshot)

    def show(self, snapshot: Snapshot) -> None:
        if snapshot.episodes is not None:
            self.rows = rows_of(snapshot.episodes, snapshot.description)
        self._watched = snapshot.description.watched
        if self.is_mounted:
            self.draw()

    def _empty(self, width: int) -> list[Row]:
        return super()._empty(width) if self.rows else hint("no episode has ended yet", width)

    def _take(self, item: EpisodeRow) -> None:
        if self._watched:
            self.refused("keep_episode", "the environments of a watched script cannot be replayed")
        else:
            self.selected, self.error = item.number, ""
            self._replay(item)
