"""The app of `pac-tui compare`: the seeds, those first that differ most, and both policies in lockstep on one."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import ClassVar

import numpy as np
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ...envs import PacError
from ...training.compare.pairing import Pairing
from ...training.compare.seeds import Comparison, Pair
from ...training.telemetry.description import describe
from ..app.app import PacApp
from ..dialogs.dialog import ListDialog
from ..drawing.numbers import readable
from ..drawing.panels import bordered
from ..drawing.plain import Modal
from ..drawing.styles import ACCENT, BRIGHT, FAINT, SOFT, TEXT, Row, fit, styled
from ..drawing.theme import colors_distinguish
from ..drawing.widgets import TextLines
from ..terminal.terminal_app import TerminalApp, run_in_terminal
from ..views.environment_rows import action_name
from .lockstep import PairView, render

TICK, SHARE = 1 / 30, 0.7
"""Seconds between two looks at the clock; the share of them in which steps are made."""
LEAST_RATE, MOST_RATE = 0.25, 256.0
COLUMNS = (("return A", 10), ("B", 10), ("B - A", 10), ("length A", 10), ("B", 7), ("parts at", 10))
ENDS = (("end A", 16), ("end B", 16))


def show_comparison(found: Comparison) -> int:
    """Show the seeds and both policies on this terminal; return the exit code."""
    return run_in_terminal(lambda: CompareApp(found))


class CompareApp(TerminalApp):
    """Lists the seeds; one of them is shown in lockstep."""

    CSS_PATH = PacApp.CSS_PATH
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "exit", "Leave", priority=True)]

    def __init__(self, found: Comparison) -> None:
        super().__init__()
        self._found = found

    def on_mount(self) -> None:
        """Open the list."""
        super().on_mount()
        self.push_screen(SeedList(self._found), lambda _none: self.exit(0))

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
        self.app.push_screen(Lockstep(found, pairing))


class ActionList(ListDialog[int, int]):
    """Lists the legal actions of a decision; the result is the one to take instead."""

    def __init__(self, heading: str, names: Sequence[tuple[int, str, float]]) -> None:
        super().__init__()
        self.heading, self._names = heading, {action: (name, share) for action, name, share in names}

    @property
    def shown(self) -> Sequence[int]:
        """The actions, most likely first."""
        return list(self._names)

    def _key(self, item: int) -> int:
        return item

    def _row(self, item: int, width: int, *, selected: bool) -> Row:
        name, share = self._names[item]
        mark = styled("▌ " if selected else "  ", ACCENT)
        return (mark, styled(fit(name, max(1, width - 10))), styled(f"{share:>7.1%}", SOFT))

    def _take(self, item: int) -> None:
        self.dismiss(item)


class Lockstep(Modal[None]):
    """Both policies on one seed, step by step.

    Args:
        pairing: What is shown; this closes it.
        at: The step that is shown first.
        branch: Whether it is a branch, which other seeds and modes would leave.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back"),
        Binding("space", "play", "Play"),
        *(
            Binding(keys, f"go({by})", "Step", priority=True)
            for keys, by in (("right,n", 1), ("left", -1), ("shift+right,pagedown", 10), ("shift+left,pageup", -10))
        ),
        Binding("home", "begin", "First", priority=True),
        Binding("end,f", "finish", "Last", priority=True),
        Binding("d", "parting(1)", "Next parting"),
        Binding("D", "parting(-1)", "Previous parting"),
        Binding("k", "apart", "Most apart"),
        Binding("w", "follow", "B at A's states"),
        Binding("b", "branch", "Branch"),
        Binding("tab", "next_seed(1)", "Next seed", priority=True),
        Binding("shift+tab", "next_seed(-1)", "Previous seed", priority=True),
        Binding("plus,equals_sign", "scale_rate(2.0)", "Faster"),
        Binding("minus", "scale_rate(0.5)", "Slower"),
    ]

    def __init__(self, found: Comparison, pairing: Pairing, at: int = 0, *, branch: bool = False) -> None:
        super().__init__()
        self.lines, self._found, self._branch = TextLines(), found, branch
        self._goal, self._until, self._played = float(at), "", 0.0
        description = describe(
            found.task,
            run="",
            trainer="",
            backend="",
            device="cpu",
            seed=found.seed,
            version=version("pac-tui"),
            pid=os.getpid(),
        )
        self.view = PairView(pairing, description, at)

    def compose(self) -> ComposeResult:
        """All lines."""
        self.lines.styles.width = self.lines.styles.height = "100%"
        yield self.lines

    def on_mount(self) -> None:
        """Draw, and step when that is due."""
        self.set_interval(TICK, self._tick)
        self.draw()

    def on_unmount(self) -> None:
        """Let go of the policies."""
        super().on_unmount()
        self.view.pairing.close()

    def on_resize(self) -> None:
        """Draw for the size of the terminal."""
        self.draw()

    def draw(self) -> None:
        """Draw all lines."""
        self.lines.show(render(self.view, *self.size, colors=colors_distinguish(self.app)))

    def _set(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self.draw()

    def _tick(self) -> None:
        """Make the steps that are wanted, for a part of the time, so that keys are answered meanwhile."""
        view, pairing = self.view, self.view.pairing
        end = time.perf_counter() + SHARE * TICK
        if view.playing:
            self._played += view.rate * TICK
            self._goal = min(view.at + int(self._played), self._last(view.at + int(self._played)))
            self._played -= int(self._played)
        try:
            while self._waits() and time.perf_counter() < end:
                pairing.step()
        except PacError as error:  # the environment or a policy has failed
            self.notify(str(error), severity="error")
            self.dismiss(None)
            return
        reached = self._reached()
        if (reached, self._waits()) != (view.at, view.waiting):
            self._set(at=reached, waiting=self._waits(), note="")
        if view.playing and pairing.ended and self.view.at >= pairing.length:
            self._set(playing=False)

    def _waits(self) -> bool:
        """Whether steps are wanted that were not made."""
        pairing = self.view.pairing
        if self._until == "parting" and any(at > self.view.at for at in pairing.partings):
            self._goal, self._until = min(at for at in pairing.partings if at > self.view.at), ""
        return not pairing.ended and (bool(self._until) or pairing.length < self._goal)

    def _reached(self) -> int:
        """Return the step to show now: the wanted one, or the present one until that was made."""
        pairing = self.view.pairing
        if self._waits():
            return self.view.at
        if self._until == "apart":
            known = [-math.inf if math.isnan(value) else value for value in pairing.divergences]
            self._goal = int(np.argmax(known))
        elif self._until == "parting":
            self._goal = self.view.at
            self.notify("the actions do not differ from here on")
        self._until = ""
        return int(min(self._goal, pairing.length))

    def _last(self, goal: float) -> float:
        return min(goal, self.view.pairing.length) if self.view.pairing.ended else goal

    def _go_to(self, goal: float, until: str = "") -> None:
        self._goal, self._until = max(0.0, goal), until
        self._set(playing=False)
        self._tick()

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_play(self) -> None:
        """Play, or stop."""
        self._played = 0.0
        self._set(playing=not self.view.playing)

    def action_go(self, by: int) -> None:
        """Go some steps forward or back."""
        self._go_to(self._last(self.view.at + by))

    def action_begin(self) -> None:
        """Show the first state."""
        self._go_to(0)

    def action_finish(self) -> None:
        """Play both to their ends."""
        self._go_to(math.inf)

    def action_parting(self, direction: int) -> None:
        """Go to the next step at which the actions differ, or to the previous one."""
        if direction > 0:
            self._go_to(self.view.at, "parting")
            return
        before = [at for at in self.view.pairing.partings if at < self.view.at]
        self._go_to(before[-1] if before else self.view.at)

    def action_apart(self) -> None:
        """Go to the step of the episode at which the policies are most apart in the same state."""
        self._go_to(self.view.at, "apart")

    def action_scale_rate(self, factor: float) -> None:
        """Play faster or slower."""
        self._set(rate=min(MOST_RATE, max(LEAST_RATE, self.view.rate * factor)))

    def action_follow(self) -> None:
        """Have B be asked about A's states, or play its own game again."""
        pairing = self.view.pairing
        if self._branch:
            self.notify("a branch has two futures; press q to leave it")
            return
        self._open(pairing.env, follow=not pairing.follow, at=self.view.at)

    def action_next_seed(self, by: int) -> None:
        """Show the seed that differs most after this one."""
        if self._branch:
            self.notify("press q to leave the branch")
            return
        envs = [pair.env for pair in self._found.ranked]
        self._open(envs[(envs.index(self.view.pairing.env) + by) % len(envs)], follow=self.view.pairing.follow)

    def _open(self, env: int, *, follow: bool, at: int = 0) -> None:
        found, old = self._found, self.view.pairing
        made = Pairing(found.task, found.policies, found.seed, env, greedy=found.greedy, follow=follow)
        old.close()
        self.view = replace(self.view, pairing=made, at=0, playing=False)
        self._go_to(at)

    def action_branch(self) -> None:
        """Ask for an action that A takes instead, and show both futures."""
        pairing, at = self.view.pairing, self.view.at
        decision = pairing.decisions(at)[0]
        if decision is None or self._branch or decision.probabilities is None:
            reason = "A has ended here" if decision is None else "actions that are several numbers cannot be chosen"
            self.notify("press q to leave the branch first" if self._branch else f"no branch: {reason}")
            return
        shares, own = decision.probabilities, int(decision.actions[decision.seat])
        legal = self._legal(at, decision.seat)
        order = [action for action in np.argsort(-shares, kind="stable").tolist() if legal[action] and action != own]
        names = [(action, action_name(self.view.description, action), float(shares[action])) for action in order]
        self.app.push_screen(ActionList(f"A plays on from step {at:,} with another action", names), self._branched)

    def _legal(self, at: int, seat: int) -> Sequence[bool]:
        task, moment = self._found.task, self.view.pairing.a.steps[at].moment
        if not task.masked or moment is None or seat:
            return [True] * task.num_actions
        bits = np.unpackbits(moment["mask"], count=task.num_actions, bitorder="little")
        legal: list[bool] = (bits > 0).tolist()
        return legal

    def _branched(self, action: int | None) -> None:
        if action is None:
            return
        at = self.view.at
        try:
            made = self.view.pairing.branch(at, np.array(action))
        except PacError as error:
            self.notify(str(error), severity="warning")
            return
        self.app.push_screen(Lockstep(self._found, made, at, branch=True))
