"""The app of `pac-tui compare`: the seeds, those first that differ most, and both policies in lockstep on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from ...training.compare.pairing import Pairing
from ...training.compare.seeds import Comparison, Pair
from ..app.app import PacApp
from ..dialogs.dialog import ListDialog
from ..dialogs.lockstep import Lockstep
from ..drawing.numbers import readable
from ..drawing.panels import bordered
from ..drawing.styles import ACCENT, BRIGHT, FAINT, SOFT, TEXT, Row, fit, styled
from ..terminal.terminal_app import TerminalApp, run_in_terminal

COLUMNS = (("return A", 10), ("B", 10), ("B - A", 10), ("length A", 10), ("B", 7), ("parts at", 10))
ENDS = (("end A", 16), ("end B", 16))


def show_comparison(found: Comparison) -> int:
    """Show the seeds and both policies on this terminal; return the exit code."""
    return run_in_terminal(lambda: CompareApp(lambda: SeedList(found)))


def show_pairing(pairing: Pairing, seeds: Sequence[int] = ()) -> int:
    """Show two policies in lockstep on this terminal; return the exit code."""
    return run_in_terminal(lambda: CompareApp(lambda: Lockstep(pairing, seeds=seeds)))


class CompareApp(TerminalApp):
    """Shows a screen: the list of seeds, or two policies in lockstep.

    Args:
        first: Makes the screen, with whose end the app ends.
    """

    CSS_PATH = PacApp.CSS_PATH
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "exit", "Leave", priority=True)]

    def __init__(self, first: Callable[[], Screen[None]]) -> None:
        super().__init__()
        self._first = first

    def on_mount(self) -> None:
        """Open the screen."""
        super().on_mount()
        self.push_screen(self._first(), lambda _none: self.exit(0))

    def action_exit(self) -> None:
        """Leave."""
        self.exit(0)


class SeedList(ListDialog[Pair, None]):
    """Lists the seeds, those first that differ most, over the paired differences."""

    MOST_COLUMNS, FILLS = 10_000, True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave", "Leave")]

    def __init__(self, found: Comparison) -> None:
        super().__init__()
        self.found = found
        one, other = found.policies
        self.heading = f"A {one.label}   B {other.label}   {found.task.spec}"

    @property
    def shown(self) -> Sequence[Pair]:
        """All seeds."""
        return self.found.ranked

    def _key(self, item: Pair) -> int:
        return item.env

    def _note(self, at: int, count: int) -> str:
        return f"{at + 1:,} of {count:,} seeds"

    def _wide(self, width: int) -> bool:
        return width >= 110 and bool(self.found.task.outcomes)

    def _head(self, width: int) -> list[Row]:
        columns = COLUMNS + ENDS * self._wide(width)
        return [(styled("  seed  ", FAINT), *(styled(f"{name:>{wide}}", FAINT) for name, wide in columns))]

    def _row(self, item: Pair, width: int, *, selected: bool) -> Row:
        never = item.parting is None
        texts = [
            *(readable(value) for value in (item.a.returns[0], item.b.returns[0], item.difference)),
            *(f"{side.length:,}" for side in (item.a, item.b)),
            "never" if never else f"{item.parting:,}",
            *([self.found.outcome(item.a), self.found.outcome(item.b)] * self._wide(width)),
        ]
        columns = COLUMNS + ENDS * self._wide(width)
        color = BRIGHT if selected else FAINT if never else TEXT
        cells = (
            styled(f"{fit(text, wide - 1).strip():>{wide}}", color)
            for text, (_, wide) in zip(texts, columns, strict=True)
        )
        mark = styled("▌ " if selected else "  ", ACCENT)
        return (mark, styled(f"{item.env + 1:<6,}", color, bold=selected), *cells)

    def _below(self, _item: Pair | None, width: int) -> list[Row]:
        rows: list[Row] = [
            (styled(f"{'':<9}{'A':>9}{'B':>9}{'B - A':>9}  {'95 % interval':<20}{'d':>7}  B, A win", FAINT),)
        ]
        for name, (a, b, paired) in self.found.figures.items():
            interval = f"{readable(paired.low)} to {readable(paired.high)}"
            numbers = "".join(f"{readable(value):>9}" for value in (a, b, paired.mean))
            shares = f"{paired.better:.0%}, {paired.worse:.0%}"
            sure = paired.low > 0 or paired.high < 0
            text = f"{numbers}  {interval:<20}{readable(paired.effect):>7}  {shares}"
            rows.append((styled(f"{name:<9}", SOFT), styled(text, BRIGHT if sure else TEXT)))
        return bordered("Mean over the seeds", rows, width, len(rows) + 2, "Enter shows a seed, q leaves")

    def _take(self, item: Pair) -> None:
        found = self.found
        pairing = Pairing(found.task, found.policies, found.seed, item.env, greedy=found.greedy)
        self.app.push_screen(Lockstep(pairing, seeds=[pair.env for pair in found.ranked]))
