"""The app in which the user plays card and dice games."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key

from ...envs import BadParameter, Task, find
from ...envs.poker.live import Policy, uniform
from ..drawing.numbers import short
from ..drawing.styles import ACCENT, BRIGHT, FAINT, ORANGE, SOFT, Row, fit, styled
from ..drawing.widgets import TextLines
from ..terminal.modes import check_terminal
from ..terminal.progress import progress_bar
from ..terminal.terminal_app import TerminalApp, run_in_terminal
from ..trust import ask
from .match import Match
from .poker_table import KEYS, money, table

AGAINST = ("random", "myself")
MOST_DIGITS = 7
ADVICE = "run it in a terminal"


class CardsApp(TerminalApp):
    """Shows the table, and below it the actions.

    Args:
        against: The opponent's name, for the heading.
    """

    CSS = """
    Screen { background: $background; color: $foreground; layout: vertical; }
    #head, #prompt, #foot { height: 1; }
    #table { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit", "quit", priority=True),
    ]

    def __init__(self, match: Match, against: str) -> None:
        super().__init__()
        self.match = match
        self._against = against
        self._advice = False
        self._typed: str | None = None
        self._error = ""

    def compose(self) -> ComposeResult:
        """The heading, the table, the prompt, the keys."""
        for name in ("head", "table", "prompt", "foot"):
            yield TextLines(id=name)

    def on_mount(self) -> None:
        """Show the first hand."""
        self._draw()

    def on_text_lines_resized(self) -> None:
        """Draw for the new size."""
        self._draw()

    def on_key(self, event: Key) -> None:
        """Handle the game's keys."""
        self._error = ""
        if self._typed is not None:
            self._type(event.key)
        elif event.key in {"enter", "space"} and self.match.hand.over:
            self.match.begin()
        elif event.key == "r" and self.match.hand.raises is not None:
            self._typed = ""
        elif event.key == "h" and not self.match.alone:
            self._advice = not self._advice
        elif event.key in KEYS and not self.match.hand.over:
            self._choose(KEYS.index(event.key))
        self._draw()

    def _choose(self, place: int) -> None:
        actions = self.match.hand.actions
        if place < len(actions):
            self.match.act(actions[place])

    def _type(self, key: str) -> None:
        """Handle a key while the user types a raise, in chips of this street."""
        typed = self._typed or ""
        if key == "escape":
            self._typed = None
        elif key == "backspace":
            self._typed = typed[:-1]
        elif key.isdigit() and len(typed) < MOST_DIGITS:
            self._typed = typed + key
        elif key == "enter":
            self._typed = None
            self._raise(int(typed or 0))

    def _raise(self, chips: int) -> None:
        hand = self.match.hand
        assert hand.raises is not None
        least, most = (limit - hand.before for limit in hand.raises)
        if least <= chips <= most:
            self.match.act(hand.raise_to(chips + hand.before))
        else:
            self._error = f"raise to {least:g} to {most:g} chips on this street, not to {chips}"

    def _draw(self) -> None:
        match = self.match
        width = self.size.width
        score = f"hand {match.hands} · {'seat 1' if match.alone else 'you'} {money(match, match.total)} "
        head = f" {match.task.title} · {self._against}"
        head = fit(head, width - len(score))
        self.query_one("#head", TextLines).show([(styled(head, SOFT, bold=True), styled(score, BRIGHT, bold=True))])
        self.query_one("#table", TextLines).show(table(match, width, advice=self._advice))
        self.query_one("#prompt", TextLines).show([self._prompt()])
        self.query_one("#foot", TextLines).show([(styled(f" {self._keys()}", FAINT),)])

    def _prompt(self) -> Row:
        if self._error:
            return (styled(f" {self._error}", ORANGE),)
        if self._typed is None:
            return ()
        return (
            styled(" raise to ", ACCENT),
            styled(f"{self._typed}▏", BRIGHT),
            styled("  chips on this street: Enter raises", SOFT),
        )

    def _keys(self) -> str:
        hand = self.match.hand
        if self._typed is not None:
            return "0-9 digits   Enter raise   Esc back"
        keys = ["Enter next hand"] if hand.over else [f"1-{KEYS[min(len(hand.actions), len(KEYS)) - 1]} act"]
        keys += ["r raise by number"] * (hand.raises is not None)
        keys += ["h hint"] * (not self.match.alone)
        return "   ".join([*keys, "q quit"])


def play_cards(task: Task, seed: int, opponent: Policy | None, against: str) -> int:
    """Play a card or dice game on this terminal; return the exit code.

    Args:
        task: The game.
        seed: Seed of the deals.
        opponent: The policy of the other seat, or None if the user plays both.
        against: The opponent's name, for the heading.

    Raises:
        NoTerminal: There is no terminal.
    """
    check_terminal(ADVICE)
    return run_in_terminal(lambda: CardsApp(Match(task, seed, opponent), against))


def play_against_run(spec: str, seed: int, name: str, runs_dir: Path, resolver: Mapping[str, Any] | None = None) -> int:
    """Play against the strategy of a run.

    Args:
        spec: The game; its parameters are those of the run.
        seed: Seed of the deals.
        name: The run: its name, its folder, or `latest`.
        runs_dir: The folder of runs.
        resolver: Settings with which the opponent resolves at every decision; None if it does not.

    Raises:
        BadParameter: There is no such run of this game, or a setting is invalid.
        NoTerminal: There is no terminal.
    """
    from ...training.mccfr.playing.opponent import opponent_of, run_for
    from ...training.mccfr.playing.trained import trained

    check_terminal(ADVICE)
    found = trained(run_for(find(spec), name, runs_dir), ask)
    with progress_bar(f"play {found.run}") as report:
        opponent = opponent_of(found, resolver, on_progress=report)
    for sentence in found.skipped:
        sys.stderr.write(f"{sentence}\n")
    against = f"against {found.run} at {short(found.iterations)} it"
    return play_cards(found.task, seed, opponent, against + ("" if resolver is None else ", resolving"))


def play_against(spec: str, seed: int, against: str) -> int:
    """Play against `random`, which takes every action equally often, or `myself`, which is the user in both seats.

    Raises:
        BadParameter: There is no such opponent.
        NoTerminal: There is no terminal.
    """
    if against not in AGAINST:
        raise BadParameter(f"an opponent is one of {', '.join(AGAINST)}, got {against!r}")
    opponent = uniform if against == "random" else None
    return play_cards(find(spec), seed, opponent, f"against {against}")
