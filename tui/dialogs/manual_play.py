"""The dialog to play an environment by hand: an input for actions, and keys for buttons."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import ClassVar

from textual.binding import BindingType
from textual.widgets import Input

from ...training.telemetry.description import Description
from ...training.telemetry.snapshot import Snapshot
from ..drawing.numbers import decimal, percent
from ..drawing.styles import CYAN, ORANGE, SOFT, Row, fit, styled
from ..views.environment_rows import action_name, seat_of
from .dialog import SessionDialog
from .prompt import KeyedInput

BUTTONS = {"left": ("left",), "right": ("right",), "up": ("up", "a"), "down": ("down",), "space": ("nothing", "noop")}
LIKELY = 4


class ManualPlay(SessionDialog):
    """Sends the user's actions. Each is one step of all environments; the policy plays the others.

    Args:
        command: Sends a command.
        env: The environment that the user plays, from 0.
        seat: The seat in it, from 0.
        snapshot: The newest snapshot.
    """

    SENDS = frozenset({"act", "step", "pause"})
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "End")]

    def __init__(self, command: Callable[..., None], env: int, seat: int, snapshot: Snapshot) -> None:
        self._env, self._seat = env, seat
        self._about = snapshot.description
        self._keys = {key: action for key in BUTTONS if (action := button(self._about, key)) is not None}
        several = self._about.choices or self._about.bounds
        what = f"{len(several)} number{'s' * (len(several) > 1)}" if several else "an action's name or number"
        hint = f"{what}; Enter alone: the policy's action"
        line = KeyedInput({"p", *self._keys}, max_length=200, placeholder=hint, select_on_focus=False)
        super().__init__(command, snapshot, line)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the action in the input; if it is empty, let the policy act."""
        text, self.error = event.value.strip(), ""
        self.line.value = ""
        if not text:
            self.command("step", count=1)
        elif (action := action_of(self._about, text)) is None:
            self.refused("act", f"unknown action {text!r}")
        else:
            self._act(action)

    def on_keyed_input_pressed(self, event: KeyedInput.Pressed) -> None:
        """Take the action of a button, or close the dialog."""
        self.error = ""
        if event.key == "p":
            self.dismiss()
        else:
            self._act(self._keys[event.key])

    def _act(self, action: float | list[float]) -> None:
        self.command("act", env=self._env, seat=self._seat, action=action)

    def draw(self) -> None:
        """Draw the most probable actions and the buttons, or the error."""
        self.lines.show([self._row(max(1, self.size.width))])

    def _row(self, width: int) -> Row:
        seat = f", {seat_of(self.snapshot)}" if self._about.players > 1 else ""
        head = f" you play Env {self._env + 1}{seat} "
        buttons = "  ".join(f"{key}: {action_name(self._about, action)}" for key, action in self._keys.items())
        text = "   ".join(filter(None, (self._likely(), buttons, "Esc ends")))
        shown, color = (self.error, ORANGE) if self.error else (text, SOFT)
        return (styled(head, CYAN, bold=True), styled(fit(shown, max(0, width - len(head))), color))

    def _likely(self) -> str:
        """The most probable actions, or the means of continuous ones."""
        policy = self.snapshot.policy
        if policy is not None and policy.means:
            return "mean: " + " ".join(decimal(mean) for mean in policy.means)
        if policy is None or not policy.actions:
            return ""
        if self._about.choices:
            return "likely: " + " ".join(str(int(action)) for action in policy.actions)
        pairs = list(zip(policy.actions, policy.probabilities, strict=True))[:LIKELY]
        return "likely: " + ", ".join(f"{action_name(self._about, at)} ({percent(100 * p)})" for at, p in pairs)


def button(about: Description, key: str) -> int | None:
    """Return the action with one of a key's names; None if there is none."""
    names = [name.lower() for name in about.action_names]
    return next((names.index(name) for name in BUTTONS[key] if name in names), None)


def action_of(about: Description, text: str) -> int | list[float] | None:
    """Return the action that a text names: by name, by number, or by its place in the grid, `0 2 5` or `left 2,5`.

    For actions of several components or continuous numbers, the text contains all of them.
    """
    if about.choices or about.bounds:
        return _numbers(text)
    names = [name.lower() for name in about.action_names]
    if text.lower() in names:
        return names.index(text.lower())
    numbers = text.replace(",", " ").split()
    if len(numbers) > 1 and numbers[0].lower() in about.action_planes:
        numbers[0] = str(about.action_planes.index(numbers[0].lower()))
    if not all(number.isdecimal() for number in numbers):
        return None
    place, shape = [int(number) for number in numbers], about.action_shape
    if len(place) == 1:
        return place[0]
    if len(place) != len(shape) or any(at >= length for at, length in zip(place, shape, strict=True)):
        return None
    return sum(at * prod(shape[axis + 1 :]) for axis, at in enumerate(place))


def _numbers(text: str) -> list[float] | None:
    """Return the numbers in a text; None if it contains anything else."""
    try:
        return [float(number) for number in text.replace(",", " ").split()]
    except ValueError:
        return None
