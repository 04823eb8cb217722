"""Two policies in lockstep on one seed or recording, and the choice of the action with which a branch begins."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType

from ...envs import BadParameter, PacError
from ...training.compare.pairing import HUMAN, RECORDED, Pairing
from ...training.telemetry.description import Description, describe
from ..drawing.plain import Modal
from ..drawing.styles import ACCENT, SOFT, Row, fit, styled
from ..drawing.theme import colors_distinguish
from ..drawing.widgets import TextLines
from ..views.environment_rows import action_name
from ..views.lockstep import PairView, render
from .dialog import ListDialog
from .manual_play import BUTTONS, button

TICK, SHARE = 1 / 30, 0.7
"""Seconds between two looks at the clock; the share of them in which steps are made."""
SAMPLED = -1
"""In a list of actions: the one that is drawn."""
LEAST_RATE, MOST_RATE = 0.25, 256.0


class ActionList(ListDialog[int, int]):
    """Lists the legal actions of a decision; the result is the one to take instead.

    Args:
        names: The name and the probability of each action; that of `SAMPLED` is to draw one.
    """

    def __init__(self, heading: str, names: Mapping[int, tuple[str, str]]) -> None:
        super().__init__()
        self.heading, self._names = heading, names

    @property
    def shown(self) -> Sequence[int]:
        """The actions, most likely first."""
        return list(self._names)

    def _key(self, item: int) -> int:
        return item

    def _row(self, item: int, width: int, *, selected: bool) -> Row:
        name, share = self._names[item]
        mark = styled("▌ " if selected else "  ", ACCENT)
        return (mark, styled(fit(name, max(1, width - 10))), styled(f"{share:>7}", SOFT))

    def _take(self, item: int) -> None:
        self.dismiss(item)


def choose_branch(app: App[Any], pairing: Pairing, at: int) -> None:
    """Ask for the action that the branch takes at a step, and show both futures; `pairing` is there.

    Raises:
        BadParameter: There is no action to choose.
    """
    decision, own = pairing.b.steps[-1].decision, pairing.a.steps[-1].decision
    if decision is None or own is None or pairing.length != at:
        raise BadParameter("no branch: the episode has ended here")
    if pairing.task.action.shape:
        raise BadParameter("no branch: actions that are several numbers cannot be chosen")
    taken = int(own.actions[own.seat]) if at < (pairing.a.limit or math.inf) else SAMPLED
    legal = decision.legal if decision.legal is not None else np.ones(pairing.task.num_actions, np.bool_)
    shares = decision.probabilities if decision.probabilities is not None else legal / legal.sum()
    order = [action for action in np.argsort(-shares, kind="stable").tolist() if legal[action] and action != taken]
    about = described(pairing)
    names = {action: (action_name(about, action), f"{shares[action]:.1%}") for action in order}
    names[SAMPLED] = ("draw one of all, by these probabilities", "")

    def chosen(action: int | None) -> None:
        if action is None:
            pairing.close()
            return
        if action == SAMPLED:
            action = int(np.random.default_rng().choice(len(shares), p=shares / shares.sum()))
        pairing.part(np.array(action))
        app.push_screen(Lockstep(pairing, at, branch=True))

    instead = f" instead of {action_name(about, taken)}" if taken != SAMPLED else ""
    app.push_screen(ActionList(f"Step {at:,}: take another action{instead}", names), chosen)


def described(pairing: Pairing) -> Description:
    """Return the description of what is played."""
    return describe(
        pairing.task,
        run="",
        trainer="",
        backend="",
        device="cpu",
        seed=pairing.seed,
        version=version("pac-tui"),
        pid=os.getpid(),
    )


class Lockstep(Modal[None]):
    """Both policies on one seed, step by step.

    Args:
        pairing: What is shown; this closes it.
        at: The step that is shown first.
        branch: Whether it is a branch, which other seeds and modes would leave.
        seeds: The numbers of the environments that Tab shows, in their order.
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
        Binding("k,enter", "apart", "Most apart"),
        Binding("w", "follow", "B at A's states"),
        Binding("b", "branch", "Branch"),
        Binding("tab", "next_seed(1)", "Next seed", priority=True),
        Binding("shift+tab", "next_seed(-1)", "Previous seed", priority=True),
        Binding("plus,equals_sign", "scale_rate(2.0)", "Faster"),
        Binding("minus", "scale_rate(0.5)", "Slower"),
    ]

    def __init__(self, pairing: Pairing, at: int = 0, *, branch: bool = False, seeds: Sequence[int] = ()) -> None:
        super().__init__()
        self.lines, self._branch, self._seeds = TextLines(), branch, seeds
        self._goal, self._until, self._played, self._apart = float(at), "", 0.0, -1
        self.view = PairView(pairing, described(pairing), at)
        if any(side.policy.trainer == HUMAN for side in (pairing.a, pairing.b)):
            self._bind_person()

    def _bind_person(self) -> None:
        """Bind the keys with which a person plays, in place of those that look."""
        about, texts = self.view.description, []
        for key in BUTTONS:
            if (action := button(about, key)) is not None:
                self._bindings.key_to_bindings.pop(key, None)
                self._bindings.bind(key, f"choose({action})", priority=True)
                texts.append(f"{key}: {action_name(about, action)}")
        self._bindings.bind("a", "choose_named")
        self.view = replace(self.view, turn="  ".join([" your turn", *texts, "a: choose", "PgUp: look back"]))

    def action_choose(self, action: int) -> None:
        """Take an action as the person who plays, at the newest step."""
        pairing = self.view.pairing
        if not pairing.waits:
            self.notify("the episode has ended: Tab plays the next seed" if pairing.ended else "not yet")
            return
        person = next(side for side in (pairing.a, pairing.b) if side.policy.trainer == HUMAN)
        decision = person.steps[-1].decision
        if decision is not None and decision.legal is not None and not decision.legal[action]:
            self.notify("this action is not legal here", severity="warning")
            return
        try:
            pairing.choose(np.array(action))
        except PacError as error:
            self.notify(str(error), severity="error")
        self._go_to(pairing.length)

    def action_choose_named(self) -> None:
        """Ask the person who plays for an action."""
        pairing = self.view.pairing
        legal = next((it.legal for it in pairing.decisions(pairing.length) if it is not None), None)
        names = {
            action: (action_name(self.view.description, action), "")
            for action in range(pairing.task.num_actions)
            if legal is None or legal[action]
        }

        def chosen(action: int | None) -> None:
            if action is not None:
                self.action_choose(action)

        if pairing.waits:
            self.app.push_screen(ActionList("Your action", names), chosen)

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
            known = pairing.length
            while pairing.a.limit is not None and not pairing.ended and time.perf_counter() < end:
                pairing.step()  # what was recorded, and a branch of it, are seen whole
        except PacError as error:  # the environment or a policy has failed
            self.notify(str(error), severity="error")
            self.dismiss(None)
            return
        reached = self._reached()
        if (reached, self._waits()) != (view.at, view.waiting) or pairing.length > known:
            self._set(at=reached, waiting=self._waits(), note="")
        if view.playing and pairing.ended and self.view.at >= pairing.length:
            self._set(playing=False)

    def _waits(self) -> bool:
        """Whether steps are wanted that were not made."""
        pairing = self.view.pairing
        if self._until == "parting" and any(at > self.view.at for at in pairing.partings):
            self._goal, self._until = min(at for at in pairing.partings if at > self.view.at), ""
        return not pairing.ended and not pairing.waits and (bool(self._until) or pairing.length < self._goal)

    def _reached(self) -> int:
        """Return the step to show now: the wanted one, or the present one until that was made."""
        pairing = self.view.pairing
        if self._waits():
            return self.view.at
        if self._until == "apart":
            most = pairing.apart or [self.view.at]
            again = self.view.at == self._apart and self.view.at in most
            self._apart = most[(most.index(self.view.at) + 1) % len(most) if again else 0]
            self._goal = self._apart
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
        """Go to the step of the episode at which the policies are most apart in the same state; then to the next."""
        self._go_to(self.view.at, "apart")

    def action_scale_rate(self, factor: float) -> None:
        """Play faster or slower."""
        self._set(rate=min(MOST_RATE, max(LEAST_RATE, self.view.rate * factor)))

    def action_follow(self) -> None:
        """Have B be asked about A's states, or play its own game again."""
        pairing = self.view.pairing
        if self._branch or self.view.turn:
            self.notify("a branch has two futures; press q to leave it" if self._branch else "a person plays")
            return
        self._open(pairing.env, follow=not pairing.follow, at=self.view.at)

    def action_next_seed(self, by: int) -> None:
        """Show the seed that differs most after this one."""
        if self._branch or not self._seeds:
            self.notify("press q to leave the branch" if self._branch else "there is only this episode")
            return
        here = self._seeds.index(self.view.pairing.env)
        self._open(self._seeds[(here + by) % len(self._seeds)], follow=self.view.pairing.follow)

    def _open(self, env: int, *, follow: bool, at: int = 0) -> None:
        old = self.view.pairing
        made = old.again(env=env, follow=follow)
        old.close()
        self.view = replace(self.view, pairing=made, at=0, playing=False)
        self._go_to(at)

    def action_branch(self) -> None:
        """Ask for an action that A takes instead, and show both futures."""
        pairing, at = self.view.pairing, self.view.at
        try:
            if self._branch:
                raise BadParameter("press q to leave the branch first")
            if pairing.a.policy.trainer in {HUMAN, RECORDED}:
                raise BadParameter("no branch: the policy of A is not known, so it cannot play on")
            choose_branch(self.app, pairing.branching(at), at)
        except PacError as error:
            self.notify(str(error), severity="warning")
