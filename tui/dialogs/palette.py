"""All commands by group: searched by name, executed, and given other keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from ...envs import PacError
from ..drawing.panels import FRAME
from ..drawing.styles import ACCENT, BRIGHT, FAINT, RED, SOFT, TEXT, YELLOW, Row, fit, styled
from ..keys import GROUPS, Key, owner_of, rebound, swapped, table
from ..preferences import Preferences, are_kept, path, preferences
from ..preferences_file import keep
from ..views.figures import wrapped
from .dialog import SELECT, InputDialog, first_shown
from .key_prompt import KeyPrompt

MOST_COLUMNS, MARGIN, KEY = 100, 4, 11


@dataclass(frozen=True)
class PaletteCommands:
    """What the palette needs of the app.

    Attributes:
        title_of: Returns what a command does.
        unavailable: Returns why a command cannot be executed; an empty text if it can.
        change: Uses other preferences at once.
    """

    title_of: Callable[[str], str]
    unavailable: Callable[[str], str]
    change: Callable[[Preferences], None]


class CommandPalette(InputDialog[str | None]):
    """Lists the commands; the result is the one to execute.

    Args:
        commands: What the commands are.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close"),
        *SELECT,
        Binding("f2", "rebind", "Another key", priority=True),
        Binding("ctrl+s", "keep", "Save", priority=True),
    ]

    def __init__(self, commands: PaletteCommands) -> None:
        super().__init__(Input(placeholder="type to search: group, name, key", select_on_focus=False))
        self._commands = commands
        self._at = 0
        self._message, self._failed = "", False
        self._refused: tuple[str, str] | None = None

    def on_input_changed(self) -> None:
        """Show the commands that match."""
        self._at = 0
        self.draw()

    def on_input_submitted(self) -> None:
        """Execute the selected command."""
        if found := self.shown:
            self.dismiss(found[self._at].id)

    def action_select(self, by: int) -> None:
        """Select another command."""
        self._at = min(len(self.shown) - 1, max(0, self._at + by))
        self._message = ""
        self.draw()

    @property
    def shown(self) -> list[Key]:
        """The commands that contain every word of the search, by group; without a search, not each number."""
        words = self.line.value.lower().split()
        keys = [key for key in table().values() if all(word in self._text(key) for word in words)]
        keys = [key for key in keys if words or not key.id.removeprefix("env.").isdigit()]
        return sorted(keys, key=lambda key: GROUPS.index(key.group))

    def _text(self, key: Key) -> str:
        """The text that is searched."""
        return f"{key.group} {self._commands.title_of(key.id)} {key.shown} {key.id}".lower()

    def action_rebind(self) -> None:
        """Ask for another key of the selected command."""
        if found := self.shown:
            key = found[self._at]
            prompt = KeyPrompt(f'new key of "{self._commands.title_of(key.id)}"')
            self.app.push_screen(prompt, lambda pressed: self._rebind(key, pressed))

    def _rebind(self, key: Key, pressed: str | None) -> None:
        """Give a command another key. If another command has it, offer to swap the keys."""
        other = owner_of(pressed) if pressed else None
        self._failed = False
        if pressed is None or other == key:
            self._message = ""
        elif other is None:
            self._use(rebound(key.id, pressed))
            self._message = f"{self._commands.title_of(key.id)}: {table()[key.id].shown}"
        elif self._refused == (key.id, pressed):
            self._use(swapped(key.id, other.id))
            self._message = f"{self._commands.title_of(other.id)}: {table()[other.id].shown}"
        else:
            self._failed, self._refused = True, (key.id, pressed)
            title = self._commands.title_of(other.id)
            again = f"F2 and {other.shown} again swap the two keys."
            self._message = f'{other.shown} is the key of "{title}". {again}'
        self.draw()

    def _use(self, keys: dict[str, str]) -> None:
        self._refused = None
        self._commands.change(preferences().model_copy(update={"keys": keys}))

    def action_keep(self) -> None:
        """Write the changes into the preferences file."""
        try:
            self._message, self._failed = f"saved in {keep()}", False
        except PacError as error:
            self._message, self._failed = str(error), True
        self.draw()

    def draw(self) -> None:
        """Draw the list, scrolled to the selected command, over the whole height."""
        width = max(1, min(MOST_COLUMNS, self.size.width))
        inner, found = max(1, width - FRAME), self.shown
        foot = self._foot(found, inner)
        room = max(1, self.size.height - MARGIN - len(foot))
        rows, at = self._rows(found, inner)
        first = first_shown(at, room, len(rows))
        body = [*rows[first : first + room], *(() for _ in range(room - len(rows)))]
        note = f"{self._at + 1} of {len(found)}" if found else ""
        self.frame("Commands", [*body, *foot], width, note)

    def _rows(self, found: list[Key], width: int) -> tuple[list[Row], int]:
        """The groups with their commands, and the number of the selected row."""
        if not found:
            return [(styled("no command matches", FAINT),)], 0
        rows: list[Row] = []
        at, group = 0, ""
        for index, key in enumerate(found):
            if key.group != group:
                group = key.group
                rows += [*([()] if rows else []), (styled(group, ACCENT, bold=True),)]
            at = len(rows) if index == self._at else at
            rows.append(self._row(key, width, selected=index == self._at))
        return rows, at

    def _row(self, key: Key, width: int, *, selected: bool) -> Row:
        grey = bool(self._commands.unavailable(key.id))
        title = fit(self._commands.title_of(key.id), max(0, width - KEY - 2))
        return (
            styled("▌ " if selected else "  ", ACCENT),
            styled(title, FAINT if grey else BRIGHT if selected else TEXT, bold=selected and not grey),
            styled(f"{fit(key.shown, min(len(key.shown), KEY)):>{KEY}}", FAINT if grey else BRIGHT),
        )

    def _foot(self, found: list[Key], width: int) -> list[Row]:
        """What happened, or what the selected command needs; and the keys of this dialog."""
        reason = self._commands.unavailable(found[self._at].id) if found else ""
        text, color = self._message, RED if self._failed else SOFT
        if not text and reason:
            text, color = f"Unavailable (grey): {reason}", YELLOW
        lines: list[Row] = [(styled(line, color),) for line in wrapped(text, width)]
        if not are_kept():
            lines += [(styled(line, YELLOW),) for line in wrapped(f"Ctrl+S saves the changes in {path()}", width)]
        offer = "Enter runs it, F2 changes its key, Esc closes"
        return [(), *lines, *((styled(line, FAINT),) for line in wrapped(offer, width))]
