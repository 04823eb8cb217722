"""What dialogs share: a panel of rows, over an input or not; and the list, of which one item is selected."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.widgets import Input

from ...training.telemetry.snapshot import Snapshot
from ..drawing.panels import BORDER, bordered
from ..drawing.plain import Modal
from ..drawing.styles import ACCENT, RED, Row, styled
from ..drawing.widgets import TextLines
from ..views.number_rows import hint, wrapped

Item = TypeVar("Item")
Result = TypeVar("Result")
LEAST_ITEMS = 3
"""Rows that the items of a list have at least; what is below them is cut."""
END = 1_000_000
"""Rows that Home and End go at most."""


class PanelDialog(Modal[Result]):
    """A panel of rows. A subclass draws them in `draw`.

    Attributes:
        SENDS: The commands whose refusals are shown in the dialog.
        error: The last refusal.
    """

    SENDS: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, line: Input | None = None) -> None:
        super().__init__()
        self.lines, self.line, self.error = TextLines(), line, ""

    def compose(self) -> ComposeResult:
        """The panel and the input."""
        with Vertical():
            yield self.lines
            if self.line is not None:
                yield self.line

    def on_resize(self) -> None:
        """Draw for the size of the terminal."""
        self.draw()

    def draw(self) -> None:
        """Draw the rows."""
        raise NotImplementedError

    def show_bordered(
        self, title: str, rows: Sequence[Row], width: int, note: str | Row = "", below: Sequence[Row] = ()
    ) -> None:
        """Show rows in a border of their height, at most that of the screen; and others below the border."""
        height = min(len(rows) + 2, self.size.height - (self.line is not None) - len(below))
        self.lines.styles.width, self.lines.styles.height = width, height + len(below)
        if self.line is not None:
            self.line.styles.width = width
        self.lines.show([*bordered(title, rows, width, height, note), *below])

    def show(self, snapshot: Snapshot) -> None:
        """Take a new snapshot. Most dialogs show nothing of it."""

    def refused(self, _command: str, text: str) -> None:
        """Show why the session refused a command."""
        self.error = text
        self.draw()

    @property
    def text(self) -> str:
        """The text in the input."""
        return self.line.value if self.line is not None else ""

    def action_leave(self) -> None:
        """Clear the input; if it is empty, close."""
        if self.line is not None and self.text:
            self.line.value = ""
        else:
            self.dismiss(None)


class SessionDialog(PanelDialog[None]):
    """A panel over an input that stays open while the session runs.

    A subclass takes the input in `on_input_submitted`.

    Args:
        command: Sends a command.
        snapshot: The newest snapshot.
    """

    line: Input

    def __init__(self, command: Callable[..., None], snapshot: Snapshot, line: Input) -> None:
        super().__init__(line)
        self.command, self.snapshot = command, snapshot

    def show(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.draw()


class ListDialog(PanelDialog[Result], Generic[Item, Result]):
    """Items in rows, one of which is selected; the input filters them. A subclass says what the items are.

    Keys and clicks select an item; Enter, or a click on the selected item, takes it.

    Attributes:
        heading: Title of the border.
        MOST_COLUMNS: Width in a wide terminal.
        FILLS: Whether the list takes the whole height, however few items there are.
        WRAPS: Whether the first item comes after the last one.
        NO_ITEMS: Sentence if there are no items.
        selected: The key of the selected item; None as long as that is the first one.
    """

    heading: str
    MOST_COLUMNS: ClassVar[int] = 118
    FILLS: ClassVar[bool] = False
    WRAPS: ClassVar[bool] = False
    NO_ITEMS: ClassVar[str] = "none"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close"),
        Binding("enter", "take", "Take"),
        *(
            Binding(key, f"select({by})", "Select", priority=True)
            for key, by in (("up", -1), ("down", 1), ("pageup", -10), ("pagedown", 10), ("home", -END), ("end", END))
        ),
    ]

    def __init__(self, line: Input | None = None) -> None:
        super().__init__(line)
        self.selected: Hashable = None
        self._place = 0
        self._drawn: dict[int, Item] = {}

    @property
    def shown(self) -> Sequence[Item]:
        """The items that match the filter."""
        raise NotImplementedError

    def _key(self, item: Item) -> Hashable:
        """Return what identifies an item as long as the dialog is open."""
        raise NotImplementedError

    def _row(self, item: Item, width: int, *, selected: bool) -> Row:
        """Return the row of an item."""
        raise NotImplementedError

    def _take(self, item: Item) -> None:
        """Do what Enter does; nothing where Enter takes the text in the input."""

    def _group(self, _item: Item) -> str:
        """Return the heading over an item and those that follow; an empty text for none."""
        return ""

    def _head(self, _width: int) -> list[Row]:
        """Return the rows over the items."""
        return []

    def _foot(self, _item: Item | None, width: int, _room: int) -> list[Row]:
        """Return the rows under the items: what is known of the selected one.

        Args:
            _item: The selected item, if there is any.
            width: Columns of text.
            _room: Rows for this if all items are to be shown.
        """
        return [(styled(line, RED),) for line in wrapped(self.error, width)] if self.error else []

    def _below(self, _item: Item | None, _width: int) -> list[Row]:
        """Return the rows below the border."""
        return []

    def _empty(self, width: int) -> list[Row]:
        """Return the rows that are shown if there are no items."""
        return hint(self.NO_ITEMS, width)

    def _note(self, at: int, count: int) -> str | Row:
        """Return the note in the border, for the index of the selected item and the number of items."""
        return f"{at + 1:,} of {count:,}" if count else ""

    @property
    def words(self) -> list[str]:
        """The words of the filter."""
        return self.text.lower().split()

    def at(self, shown: Sequence[Item]) -> int:
        """Return the index of the selected item; if it is gone, of the one in its place."""
        place = max(0, min(self._place, len(shown) - 1))
        return next((at for at, item in enumerate(shown) if self._key(item) == self.selected), place)

    @property
    def item(self) -> Item | None:
        """The selected item, if there is any."""
        shown = self.shown
        return shown[self.at(shown)] if shown else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Home and End to a text in the input."""
        if action == "select" and self.text and parameters[0] in {-END, END}:
            return False
        return super().check_action(action, parameters)

    def select_first(self) -> None:
        """Select the first item, and draw."""
        self.selected, self._place = None, 0
        self.draw()

    def action_select(self, by: int) -> None:
        """Select another item."""
        if shown := self.shown:
            there = self.at(shown) + by
            self._place = there % len(shown) if self.WRAPS and abs(by) == 1 else min(len(shown) - 1, max(0, there))
            self.selected = self._key(shown[self._place])
        self.error = ""
        self.draw()

    def action_take(self) -> None:
        """Take the selected item."""
        if (item := self.item) is not None:
            self._take(item)

    def on_click(self, event: Click) -> None:
        """Select the item that was clicked, or take it if it is selected."""
        here = self.lines.region
        item = self._drawn.get(event.screen_y - here.y) if here.contains(event.screen_x, event.screen_y) else None
        if item is None:
            return
        if self.item is not None and self._key(self.item) == self._key(item):
            self._take(item)
        else:
            self.selected = self._key(item)
            self.action_select(0)

    def on_input_changed(self, _event: Input.Changed) -> None:
        """Show the items that match the filter."""
        self.error, self._place = "", 0
        self.draw()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Take the selected item."""
        self.action_take()

    def draw(self) -> None:
        """Draw the items, scrolled to the selected one."""
        width = max(1, min(self.MOST_COLUMNS, self.size.width))
        inner, shown = max(1, width - BORDER), self.shown
        at = self.at(shown)
        item = shown[at] if shown else None
        lines = self._lines_of(shown)
        head, below = self._head(inner) if shown else [], self._below(item, width)
        tall = self.size.height - 2 - (self.line is not None) - len(below) - len(head)
        nothing = [] if shown else self._empty(inner)
        foot = self._foot(item, inner, max(0, tall - len(lines) - len(nothing)))
        room = max(1, min(tall, max(LEAST_ITEMS, tall - len(foot))))
        first = max(0, min(lines.index(at) - room // 2, len(lines) - room)) if shown else 0
        rows, self._drawn = [*head, *nothing], {}
        for line in lines[first : first + room]:
            if isinstance(line, str):
                rows.append((styled(line, ACCENT, bold=True),) if line else ())
            else:
                self._drawn[len(rows) + 1] = shown[line]
                rows.append(self._row(shown[line], inner, selected=line == at))
        if self.FILLS:
            rows += [()] * (len(head) + room - len(rows))
        self.show_bordered(self.heading, [*rows, *foot], width, self._note(at, len(shown)), below)

    def _lines_of(self, shown: Sequence[Item]) -> list[int | str]:
        """The indices of the items, with their headings between them."""
        lines: list[int | str] = []
        group = ""
        for index, item in enumerate(shown):
            if (name := self._group(item)) != group:
                group = name
                lines += [*([""] if lines else []), name]
            lines.append(index)
        return lines
