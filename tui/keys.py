"""Every key in one table: bindings, footer, help and command palette are made of it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True)
class Key:
    """A thing that a person can do.

    Attributes:
        id: Its name, for keymaps.
        keys: Textual's names of its keys.
        shown: The keys as people write them.
        action: What it calls.
        title: What it does, as a command.
        hint: One word for the footer, if it stands there.
        priority: Whether it comes before the focused widget's own keys.
    """

    id: str
    keys: str
    shown: str
    action: str
    title: str
    hint: str = ""
    priority: bool = False


VIEWS, PLAY, SCALE, OTHER = "Views", "Playing", "Environments", "Everything else"

KEYS: tuple[Key, ...] = (
    Key("view.next", "tab", "Tab", "turn(1)", "Next view: summary, environment 1 to N", "view", priority=True),
    Key("view.previous", "shift+tab", "Shift+Tab", "turn(-1)", "Previous view", priority=True),
    Key("view.summary", "0", "0", "summary", "Summary of all environments"),
    Key("view.timing", "t", "t", "view('timing')", "Timing: where a step's time goes", "timing"),
    Key("view.learning", "l", "l", "view('learning')", "Learning curves", "learning"),
    Key("view.workers", "w", "w", "view('workers')", "Workers and events", "workers"),
    Key("page.next", "pagedown", "PgDn", "page(1)", "Next page of boards, curves or workers"),
    Key("page.previous", "pageup", "PgUp", "page(-1)", "Previous page"),
    Key("axis", "x", "x", "axis", "Curves over steps or over wall time"),
    Key("env.number", "e", "e", "ask_env", "Type an environment's number"),
    Key("pause", "space", "Space", "pause", "Pause or resume", "pause"),
    Key("step", "n", "n", "step", "One step of every environment", "step"),
    Key("steps", "N", "N", "ask_steps", "Type a number of steps"),
    Key("episode", "f", "f", "episode", "To the end of the shown environment's episode"),
    Key("faster", "plus,equals_sign", "+", "speed(2.0)", "Twice as fast"),
    Key("slower", "minus", "-", "speed(0.5)", "Half as fast"),
    Key("unlimited", "m", "m", "unlimited", "No speed limit"),
    Key("envs.fewer", "left_square_bracket", "[", "resize(-1)", "Restart with one environment fewer"),
    Key("envs.more", "right_square_bracket", "]", "resize(1)", "Restart with one environment more"),
    Key("envs.half", "left_curly_bracket", "{", "scale(0.5)", "Restart with half the environments"),
    Key("envs.double", "right_curly_bracket", "}", "scale(2.0)", "Restart with twice the environments"),
    Key("envs.number", "number_sign", "#", "ask_envs", "Type a number of environments"),
    Key("baseline", "B", "B", "baseline", "Measure the baseline: fps of one environment", "baseline"),
    Key("screenshot", "s", "s", "picture", "Save a picture of the screen"),
    Key("help", "question_mark", "?", "help", "All keys", "help"),
    Key("palette", "ctrl+p", "Ctrl+P", "command_palette", "All commands by name"),
    Key("quit", "q", "q", "stop", "Stop the session and quit", "quit"),
)
QUIET: tuple[Key, ...] = (
    *(Key(f"env.{k}", str(k), str(k), f"environment({k})", f"Environment {k}") for k in range(1, 10)),
    Key("select.left", "left", "←", "move(-1, 0)", "Select the board on the left"),
    Key("select.right", "right", "→", "move(1, 0)", "Select the board on the right"),
    Key("select.up", "up", "↑", "move(0, -1)", "Select the board above"),
    Key("select.down", "down", "↓", "move(0, 1)", "Select the board below"),
    Key("accept", "enter", "Enter", "accept", "Open the selected board, or restart now"),
    Key("interrupt", "ctrl+c,ctrl+q", "Ctrl+C", "stop", "Stop the session and quit", priority=True),
    Key("cancel", "escape", "Esc", "cancel", "Cancel a restart, or back to the summary"),
)
HELP: dict[str, tuple[tuple[str, str], ...]] = {
    VIEWS: (
        ("Tab Shift+Tab", "next, previous view"),
        ("0 1-9 e", "summary, environment"),
        ("t l w", "time, learning, workers"),
        ("PgDn PgUp", "pages"),
        ("x", "over steps, over time"),
        ("← → ↑ ↓", "select a board"),
        ("Enter", "open it; restart now"),
        ("Esc", "back; no restart"),
    ),
    PLAY: (
        ("Space", "pause, resume"),
        ("n N", "one step, many steps"),
        ("f", "to the episode's end"),
        ("+ - m", "faster, slower, no limit"),
    ),
    SCALE: (
        ("[ ]", "one fewer, one more"),
        ("{ }", "half, twice as many"),
        ("#", "type how many"),
        ("B", "measure the baseline"),
    ),
    OTHER: (
        ("s", "picture of the screen"),
        ("?", "this help"),
        ("Ctrl+P", "all commands by name"),
        ("q Ctrl+C", "stop and quit"),
    ),
}
"""What the help says, by heading: keys, and what they do."""


def bindings() -> list[BindingType]:
    """Return the keys as Textual wants them."""
    return [
        Binding(key.keys, key.action, key.title, id=key.id, show=bool(key.hint), priority=key.priority)
        for key in (*KEYS, *QUIET)
    ]
