"""The dialog of the trainer's settings that can be changed while it trains: a list, and an input for a new value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual.widgets import Input

from ...envs import PacError
from ...training.settings import setting_text
from ...training.telemetry.snapshot import Snapshot
from ...training.trainers import trainer_kind
from ..drawing.styles import ACCENT, BRIGHT, FAINT, SOFT, TEXT, YELLOW, Row, fit, styled
from ..views.number_rows import hint
from .dialog import ListDialog

VALUE = 24
SHOWN_CHANGES = 3


class LiveSetting(NamedTuple):
    """A setting, its present value, and the value that was requested and is not used yet; empty without one."""

    name: str
    value: str
    wanted: str


class LiveSettingsDialog(ListDialog[LiveSetting, None]):
    """Lists the settings with their present values. Enter requests the value in the input for the selected one.

    Args:
        command: Sends a command.
        snapshot: The newest snapshot.
    """

    MOST_COLUMNS = 76
    SENDS = frozenset({"set"})
    line: Input

    def __init__(self, command: Callable[..., None], snapshot: Snapshot) -> None:
        super().__init__(Input(placeholder="new value, Enter applies it", max_length=200, select_on_focus=False))
        self.heading = f"Settings of {snapshot.description.trainer}"
        self._command, self._snapshot = command, snapshot
        self._wanted: dict[str, tuple[str, int]] = {}
        self._sent = "", ""

    def show(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        self._snapshot = snapshot
        self._wanted = {
            name: (text, count) for name, (text, count) in self._wanted.items() if self._changes_of(name) == count
        }
        self.draw()

    def _changes_of(self, name: str) -> int:
        return sum(change.name == name for change in self._snapshot.changes)

    @property
    def shown(self) -> list[LiveSetting]:
        """The settings that can be changed."""
        about = self._snapshot.description
        now = {name: setting_text(about.settings.get(name)) for name in about.live}
        now |= {change.name: change.after for change in self._snapshot.changes if change.name in now}
        return [LiveSetting(name, value, self._wanted.get(name, ("", 0))[0]) for name, value in now.items()]

    def _key(self, item: LiveSetting) -> str:
        return item.name

    def refused(self, command: str, text: str) -> None:
        """Show why the session refused, and put the refused value back into the input."""
        name, value = self._sent
        self._wanted.pop(name, None)
        if not self.line.value:
            self.line.value = value
            self.line.cursor_position = len(value)
        super().refused(command, text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Request the value for the selected setting."""
        item, text = self.item, event.value.strip()
        if item is not None and text:
            self._sent, self.error = (item.name, text), ""
            self._wanted[item.name] = text, self._changes_of(item.name)
            self._command("set", name=item.name, text=text)
            self.line.value = ""
        self.draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter nothing by a value, and leave what was wrong with the last one to be read."""
        event.prevent_default()

    def _foot(self, item: LiveSetting | None, width: int, room: int) -> list[Row]:
        refused = super()._foot(item, width, room)
        if refused or item is None:
            return refused
        rows = [(), *hint(_meaning(self._snapshot.description.trainer, item.name), width)]
        own = [change for change in self._snapshot.changes if change.name == item.name][-SHOWN_CHANGES:]
        texts = [f"at step {change.steps:,}: {change.before} -> {change.after}" for change in own]
        rows += [(styled(fit(text, width), SOFT),) for text in texts]
        return rows if len(rows) <= room else []

    def _note(self, _at: int, _count: int) -> str:
        return "↑↓ select   Esc closes"

    def _row(self, item: LiveSetting, width: int, *, selected: bool) -> Row:
        label = max(1, min(24, width - 2 - VALUE))
        then = f" {item.wanted}, next iteration" if item.wanted else ""
        return (
            styled("▌" if selected else " ", ACCENT),
            styled(f"{fit(item.name, label):<{label}}", BRIGHT if selected else TEXT),
            styled(f" {fit(item.value, VALUE)}", SOFT if item.wanted else BRIGHT),
            styled(fit(then, max(0, width - label - len(fit(item.value, VALUE)) - 2)), YELLOW if then else FAINT),
        )


def _meaning(trainer: str, name: str) -> str:
    """Return the description of a setting; empty if the trainer is not installed here."""
    try:
        return str(trainer_kind(trainer).settings_class.model_fields[name].description or "")
    except (PacError, KeyError):
        return ""
