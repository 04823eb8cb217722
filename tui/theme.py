"""The palette as Textual's own widgets want it: toasts, command palette, prompt."""

from textual.theme import Theme

from .ink import ACCENT, CYAN, GREEN, GROUND, LINE, RAISED, RED, TEXT, YELLOW

THEME = Theme(
    name="pac",
    primary=ACCENT,
    secondary=CYAN,
    accent=ACCENT,
    warning=YELLOW,
    error=RED,
    success=GREEN,
    foreground=TEXT,
    background=GROUND,
    surface=GROUND,
    panel=RAISED,
    boost=LINE,
    dark=True,
)
