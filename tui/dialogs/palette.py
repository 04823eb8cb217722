"""All commands by group: searched by name, executed, and given other keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from ...envs import PacError
from ..drawing.styles import ACCENT, BRIGHT, FAINT, RED, SOFT, TEXT, YELLOW, Row, fit, styled
from ..keys import GROUPS, Key, owner_of, rebound, swapped, table
from ..preferences import Preferences, are_kept, path, preferences
from ..preferences_file import keep
from ..views.number_rows import wrapped
from .dialog import ListDialog
from .prompt import KeyPrompt

KEY = 11


@dataclass(frozen=True)
class PaletteCommands:
    """What the palette needs of the app.

    Attributes:
        unavailable: Returns why a command cannot be executed; an empty text if it can.
        change: Uses other preferences at once.
    """

    title_of: Callable[[str], str]
    unavailable: Callable[[str], str]
    change: Callable[[Preferences], None]


class CommandPalette(ListDialog[Key, str | None]):
    """Lists the commands; the result is the one to execute."""

    heading, NO_ITEMS = "Commands", "no command matches"
    MOST_COLUMNS, FILLS = 100, True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "rebind", "Another key", priority=True),
        Binding("ctrl+s", "keep", "Save", priority=True),
    ]

    def __init__(self, commands: PaletteCommands) -> None:
        super().__init__(Input(placeholder="type to search: group, name, key", select_on_focus=False))
        self._commands = commands
        self._message, self._failed = "", False
        self._refused: tuple[str, str] | None = None

    def _key(self, item: Key) -> str:
        return item.id

    def _group(self, item: Key) -> str:
        return item.group

    def _take(self, item: Key) -> None:
        self.dismiss(item.id)

    def action_select(self, by: int) -> None:
        self._message = ""
        super().action_select(by)

    @property
    def shown(self) -> list[Key]:
        """The commands that contain every word of the search, by group; without a search, not each number."""
        words = self.words
        keys = [key for key in table().values() if all(word in self._searched(key) for word in words)]
        keys = [key for key in keys if words or not key.id.removeprefix("env.").isdigit()]
        return sorted(keys, key=lambda key: GROUPS.index(key.group))

    def _searched(self, key: Key) -> str:
        return f"{key.group} {self._commands.title_of(key.id)} {key.shown} {key.id}".lower()

    def action_rebind(self) -> None:
        """Ask for another key of the selected command."""
        if (key := self.item) is not None:
            prompt = KeyPrompt(f'new key of "{self._commands.title_of(key.id)}"')
            self.app.push_screen(prompt, partial(self._rebind, key))

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

    def _row(self, item: Key, width: int, *, selected: bool) -> Row:
        grey = bool(self._commands.unavailable(item.id))
        title = fit(self._commands.title_of(item.id), max(0, width - KEY - 2))
        return (
            styled("▌ " if selected else "  ", ACCENT),
            styled(title, FAINT if grey else BRIGHT if selected else TEXT, bold=selected and not grey),
            styled(f"{fit(item.shown, min(len(item.shown), KEY)):>{KEY}}", FAINT if grey else BRIGHT),
        )

    def _foot(self, item: Key | None, width: int, _room: int) -> list[Row]:
        reason = self._commands.unavailable(item.id) if item is not None else ""
        text, color = self._message, RED if self._failed else SOFT
        if not text and reason:
            text, color = f"Unavailable (grey): {reason}", YELLOW
        lines: list[Row] = [(styled(line, color),) for line in wrapped(text, width)]
        if not are_kept():
            lines += [(styled(line, YELLOW),) for line in wrapped(f"Ctrl+S saves the changes in {path()}", width)]
        offer = "Enter runs it, F2 changes its key, Esc closes"
        return [(), *lines, *((styled(line, FAINT),) for line in wrapped(offer, width))]
