"""The dialog of settings: theme, characters, colors, refresh rates and the diagnosis, which change at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.binding import BindingType

from ...envs import PacError
from ..drawing.styles import ACCENT, BRIGHT, FAINT, GREEN, RED, SOFT, YELLOW, Row, fit, styled
from ..drawing.theme import NO_COLOR
from ..preferences import Preferences, Rates, Tolerances, are_kept, path, preferences
from ..preferences_file import keep
from ..views.number_rows import wrapped
from .dialog import ListDialog

LABEL = 20
LIMITS = (0.0, 0.5, 1.0, 2.0, 4.0)
RATES = (0.5, 1.0, 2.0, 4.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0)


class Setting(NamedTuple):
    """A line of the dialog.

    Attributes:
        name: Its name in the file, in a section or not.
        label: Its name in the dialog.
        about: What it means.
    """

    name: tuple[str, ...]
    label: str
    values: Sequence[Any]
    about: str
    unit: str = ""

    @property
    def value(self) -> Any:
        """What it is now."""
        found: Any = preferences()
        for name in self.name:
            found = getattr(found, name)
        return found

    def changed(self, by: int) -> Preferences:
        """Return the preferences with the next value, or with the one before if `by` is negative."""
        value = self.value
        at = min(range(len(self.values)), key=lambda index: _distance(self.values[index], value))
        after: Any = self.values[(at + by) % len(self.values)]
        if isinstance(value, float):
            after = self.values[min(len(self.values) - 1, max(0, at + by))]
        for depth in range(len(self.name) - 1, -1, -1):
            parent: Any = preferences()
            for name in self.name[:depth]:
                parent = getattr(parent, name)
            after = parent.model_copy(update={self.name[depth]: after})
        found: Preferences = after
        return found


def _distance(one: Any, other: Any) -> float:
    return abs(one - other) if isinstance(other, float) else float(one != other)


def _settings() -> list[Setting]:
    about = {name: field.description or "" for name, field in Preferences.model_fields.items()}
    return [
        Setting(("theme",), "theme", ("dark", "light", "colorblind"), about["theme"]),
        Setting(("characters",), "characters", ("auto", "unicode", "ascii"), about["characters"]),
        Setting(("color",), "colors", (True, False), about["color"]),
        *(
            Setting(("rates", name), f"rate: {name}", RATES, f"Hz. {field.description}", " Hz")
            for name, field in Rates.model_fields.items()
        ),
        Setting(("pictures",), "pictures", ("auto", "kitty", "sixel", "off"), about["pictures"]),
        Setting(("signal",), "signal", ("off", "bell", "desktop"), about["signal"]),
        *(
            Setting(
                ("findings", name),
                f"diagnosis: {name}",
                LIMITS,
                f"{field.description} 2 x tolerates twice as much.",
                " x",
            )
            for name, field in Tolerances.model_fields.items()
            if field.annotation is float
        ),
    ]


class SettingsDialog(ListDialog[Setting, None]):
    """Changes the preferences, and keeps them in their file on request.

    Args:
        change: Uses other preferences at once.
    """

    heading = "Settings"
    MOST_COLUMNS, WRAPS = 62, True
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,comma", "dismiss", "Close"),
        ("left", "change(-1)", "Value before"),
        ("right,space", "change(1)", "Next value"),
        ("s,ctrl+s", "keep", "Save"),
    ]

    def __init__(self, change: Callable[[Preferences], None]) -> None:
        super().__init__()
        self._change = change
        self._settings = _settings()

    @property
    def shown(self) -> list[Setting]:
        """All settings."""
        return self._settings

    def _key(self, item: Setting) -> tuple[str, ...]:
        return item.name

    def _take(self, _item: Setting) -> None:
        self.dismiss(None)

    def action_change(self, by: int) -> None:
        """Change the selected setting."""
        self.error = ""
        if self.item is not None:
            self._change(self.item.changed(by))
        self.draw()

    def action_keep(self) -> None:
        """Write the changes into the file."""
        try:
            keep()
            self.error = ""
        except PacError as error:
            self.error = str(error)
        self.draw()

    def _foot(self, item: Setting | None, width: int, _room: int) -> list[Row]:
        about = item.about if item is not None else ""
        if NO_COLOR and item is not None and item.name == ("color",):
            about = "Colors are off because the variable NO_COLOR is set."
        return [(), *((styled(line, SOFT),) for line in wrapped(about, width)), (), *self._state(width)]

    def _note(self, _at: int, _count: int) -> str:
        return "← → change   s saves   Esc closes"

    def _row(self, item: Setting, _width: int, *, selected: bool) -> Row:
        value = item.value
        text = {True: "on", False: "off"}.get(value) if isinstance(value, bool) else str(value)
        if isinstance(value, float):
            text = f"{value:g}{item.unit}" if value else "muted"
        return (
            styled("▌ " if selected else "  ", ACCENT),
            styled(fit(item.label, LABEL), BRIGHT if selected else SOFT, bold=selected),
            styled("< " if selected else "  ", FAINT),
            styled(str(text), BRIGHT, bold=selected),
            styled(" >" if selected else "", FAINT),
        )

    def _state(self, width: int) -> list[Row]:
        if self.error:
            return [(styled(line, RED),) for line in wrapped(self.error, width)]
        text = f"no unsaved changes in {path()}" if are_kept() else f"not saved: s writes the changes into {path()}"
        return [(styled(line, GREEN if are_kept() else YELLOW),) for line in wrapped(text, width)]
