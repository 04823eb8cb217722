"""What the screen shows of two policies in lockstep: boards, a strip of the steps, and the figures of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.cells import cell_len

from ...envs import Task
from ...envs.fields import Array
from ...envs.unknown import UNKNOWN, is_unknown
from ...training.compare.pairing import HUMAN, Decision, Pairing, Side
from ...training.telemetry.description import Description, ShapedPanel
from ..boards import Renderer, Scale, renderer_for
from ..boards.layout import GridLayout, best_layout, cut_layout
from ..drawing.numbers import readable
from ..drawing.panels import BORDER, beside, bordered
from ..drawing.spark import BLOCKS, PLAIN_BLOCKS
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    GROUND,
    LINE,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    fit,
    spread,
    styled,
)
from .environment_rows import action_name, action_text

WIDE, NARROW = 46, 34
"""Columns for the figures, in a wide terminal and in others."""
LABEL, TOP = 12, 4
"""Columns of a figure's name; how many actions are listed."""
STRIPS = 4
"""Lines for the strips and their border."""
KEYS = (
    *(("Space", "play"), ("→←", "step"), ("d D", "partings"), ("Enter", "top KL"), ("w", "B at A's states")),
    *(("b", "branch"), ("Tab", "seed"), ("q", "back"), ("Home End", "ends"), ("+ -", "speed")),
)


@dataclass(frozen=True)
class PairView:
    """What is shown.

    Attributes:
        at: The step.
        playing: Whether it goes on by itself.
        rate: Steps/s.
        note: A sentence for the user.
        waiting: Whether steps are still being computed.
        turn: The keys of a person who plays.
    """

    pairing: Pairing
    description: Description
    at: int
    playing: bool = False
    rate: float = 8.0
    note: str = ""
    waiting: bool = False
    turn: str = ""


def render(view: PairView, width: int, height: int, *, colors: bool = True) -> list[Row]:
    """Return the whole screen."""
    room = height - STRIPS - 2
    wide = WIDE if width >= 2 * WIDE + 8 else NARROW
    boards = _boards(view, max(1, width - wide), room, colors=colors)
    if view.pairing.waits and not view.note:
        keys: Row = (styled(fit(view.turn, width), YELLOW),)
    else:
        keys = (styled(fit(view.note, width), YELLOW),) if view.note else _keys(width)
    figures = bordered(_seat(view), _figures(view, wide - BORDER), wide, room, f"step {view.at:,}")
    return [
        _title(view, width),
        *beside([boards, figures], [max(1, width - wide), wide])[:room],
        *_strips(view, width),
        keys,
    ]


def _seat(view: PairView) -> str:
    seats = {decision.seat for decision in view.pairing.decisions(view.at) if decision is not None}
    return f"Seat {min(seats) + 1}" if view.pairing.task.players > 1 and seats else "Both"


def _place(pairing: Pairing) -> str:
    """Return what is played."""
    recorded = pairing.recorded
    if recorded is None:
        return f"seed {pairing.env + 1:,}"
    return f"env {pairing.env + 1:,}, episode {recorded.number + 1:,}"


def _title(view: PairView, width: int) -> Row:
    pairing = view.pairing
    parting = pairing.parting
    parted = "no parting so far" if parting is None else f"first part at step {parting:,}"
    if parting is None and pairing.ended:
        parted = "never part"
    state = "computing" if view.waiting else f"playing, {view.rate:g} steps/s" if view.playing else "paused"
    names = f" A {pairing.a.policy.label}  B {pairing.b.policy.label}"
    follows = ", B is asked at A's states" if pairing.follow else ""
    if pairing.waits:
        state = "your turn"
    right = f"{_place(pairing)}  {parted}  {state} "
    left = fit(names + follows, max(1, width - len(right) - 1)).rstrip()
    return spread((styled(left, BRIGHT, bold=True),), (styled(right, GREEN if view.playing else SOFT),), width)


def _boards(view: PairView, width: int, height: int, *, colors: bool) -> list[Row]:
    """Return both boards, beside or above each other, at the largest scale at which they fit."""
    task, pairing = view.pairing.task, view.pairing
    panel = next((panel for panel in task.panels if panel.main), None)
    fields = {item.name: item for item in task.boards}
    renderer = renderer_for(ShapedPanel.of(panel, fields[panel.field]) if panel else None, colors=colors)
    sides = [pairing.a] if pairing.follow else [pairing.a, pairing.b]
    grid = best_layout(renderer.scales, len(sides), width, height)
    if grid.page < len(sides):
        cut = cut_layout(renderer.scales, height).scale
        columns = len(sides) if len(sides) * (cut.columns + 2) <= width else 1
        grid = GridLayout(cut, columns, len(sides) // columns)
    blocks = [_board(view, letter, renderer, grid.scale, panel.field if panel else "") for letter in "AB"[: len(sides)]]
    tile = grid.scale.columns + 3
    rows: list[Row] = []
    for first in range(0, len(blocks), max(1, grid.columns)):
        some = blocks[first : first + max(1, grid.columns)]
        left: list[Row] = [(styled(" " * grid.left),)] * len(some[0])
        rows += beside([left, *some], [grid.left, *[tile] * len(some)])
    return rows


def _board(view: PairView, letter: str, renderer: Renderer, scale: Scale, name: str) -> list[Row]:
    side = view.pairing.a if letter == "A" else view.pairing.b
    at = min(view.at, len(side.steps) - 1)
    step = side.steps[at]
    sign = _end(view.pairing.task, side, at)
    if step.moment is None:
        lines: list[Row] = [(styled(fit("not kept", scale.columns), FAINT),)]
    else:
        board = step.moment[f"board:{name}"] if name else np.zeros((1, 1), np.uint8)
        prepared = renderer.prepare(np.asarray(board)[None], scale)[0]
        lines = [
            renderer.line(prepared[line // scale.span], line % scale.span, scale)
            for line in range(min(scale.lines, len(prepared) * scale.span))
        ]
    left_top, right_top, left_bottom, right_bottom = SIGNS.corners
    color = YELLOW if view.pairing.differs(view.at) else FAINT
    head = fit(f"{letter} {sign or side.policy.label}", max(0, scale.columns - 2)).rstrip()
    return [
        (
            styled(f"{left_top}─", color),
            styled(head, BRIGHT, bold=True),
            styled("─" * (scale.columns - 1 - cell_len(head)) + right_top, color),
        ),
        *((styled("│", color), *line, styled("│", color)) for line in lines),
        (styled(left_bottom + "─" * scale.columns + right_bottom, color),),
    ]


def _end(task: Task, side: Side, at: int) -> str:
    """Return how the episode ended; empty before its end."""
    step = side.steps[at]
    if not step.end:
        return "no further" if side.cut and at == len(side.steps) - 1 else ""
    return task.outcomes[step.outcome - 1].name if step.outcome else "ended"


def _figures(view: PairView, width: int) -> list[Row]:
    """Return the figures of both sides; a figure that differs is marked."""
    pairing, at = view.pairing, view.at
    sides = (pairing.a, pairing.b)
    steps = [side.steps[min(at, len(side.steps) - 1)] for side in sides]
    decisions = [step.decision if at < len(side.steps) else None for side, step in zip(sides, steps, strict=True)]
    rows: list[tuple[str, ...]] = [
        ("action", *("-" if text is None else text for text in map(partial(_taken, view), sides, decisions))),
    ]
    outputs = [decision.output if decision else None for decision in decisions]
    for name in ("value", "entropy"):
        one, other = (readable(getattr(output, name)) if output else "-" for output in outputs)
        rows.append((name, one, other))
    if at < len(pairing.divergences) and not is_unknown(pairing.divergences[at]):
        rows.append(("KL A to B", readable(pairing.divergences[at]), ""))
    rows.append(("reward", *(readable(step.reward) for step in steps)))
    for index, name in enumerate(pairing.task.reward_terms):
        rows.append((f" {name}", *(readable(step.terms[index]) for step in steps)))
    rows.append(("return", *(readable(step.gained) for step in steps)))
    rows.append(("length", *(f"{min(at, len(side.steps) - 1):,}" for side in sides)))
    rows.append(("end", *(_end(pairing.task, side, min(at, len(side.steps) - 1)) or "-" for side in sides)))
    room = (width - LABEL) // 2
    shown: list[Row] = [(styled(fit("", LABEL)), *(styled(fit(f"{name:>{room}}", room), FAINT) for name in "AB"))]
    shown += [_figure(row, room) for row in rows]
    return [*shown, (), *_probabilities(view, decisions, room)]


def _taken(view: PairView, side: Side, decision: Decision | None) -> str | None:
    """Return the action of a side; None if it has none, or a person has not chosen it yet."""
    pairing = view.pairing
    if decision is None or (pairing.waits and side.policy.trainer == HUMAN and view.at == pairing.length):
        return None
    return action_text(view.description, _action(decision))


def _figure(row: tuple[str, ...], room: int) -> Row:
    name, one, other = row
    color = YELLOW if other and one != other else TEXT
    cells = (styled(f"{fit(text, room - 1).strip():>{room}}", color) for text in (one, other))
    return (styled(fit(name, LABEL), SOFT), *cells)


def _action(decision: Decision) -> Array | None:
    action: Array | None = decision.actions[decision.seat] if decision.decided[decision.seat] else None
    return action


def _probabilities(view: PairView, decisions: Sequence[Decision | None], room: int) -> list[Row]:
    """Return the most likely actions of both, with their probabilities; of continuous actions, the means."""
    known = [decision.probabilities if decision else None for decision in decisions]
    found = [each for each in known if each is not None]
    if not found:
        outputs = [decision.output if decision else None for decision in decisions]
        means = [output.means if output else () for output in outputs]
        return [
            _figure((f"mean {at + 1}", *(readable(one[at]) if at < len(one) else "-" for one in means)), room)
            for at in range(max(map(len, means)))
        ]
    best = np.argsort(-np.max(found, axis=0), kind="stable")[: 2 * TOP]
    rows: list[Row] = [(styled("most likely actions", FAINT),)]
    for action in best.tolist():
        if max(each[action] for each in found) < 0.005:
            break
        cells = [f"{each[action]:.0%}" if each is not None else "-" for each in known]
        rows.append(_figure((action_name(view.description, action), cells[0], cells[1]), room))
    return rows


def _strips(view: PairView, width: int) -> list[Row]:
    """Return the steps in one line each: where actions differ, and how far the policies are apart."""
    pairing, inner = view.pairing, max(1, width - BORDER - LABEL)
    count = pairing.length + 1
    per = max(1, math.ceil(count / inner))
    groups = [range(first, min(first + per, count)) for first in range(0, count, per)]
    partings = set(pairing.partings)
    cursor = min(view.at // per, len(groups) - 1)
    marks, apart = [], []
    known = [value for value in pairing.divergences if not is_unknown(value)]
    most, blocks = max(known, default=0.0) or 1.0, BLOCKS if SIGNS.braille else PLAIN_BLOCKS
    for index, group in enumerate(groups):
        first = pairing.parting in group if pairing.parting is not None else False
        differs = any(at in partings for at in group)
        signs = "◆▪·" if SIGNS.braille else "#x."
        text, color = (signs[0], YELLOW) if first else (signs[1], TEXT) if differs else (signs[2], FAINT)
        here = index == cursor
        ground = LINE if here else GROUND
        marks.append(styled(text, BRIGHT if here and not first else color, ground=ground))
        values = [pairing.divergences[at] for at in group if at < len(pairing.divergences)]
        value = max((value for value in values if not is_unknown(value)), default=UNKNOWN)
        block = " " if is_unknown(value) else blocks[round(value / most * (len(blocks) - 1))]
        apart.append(styled(block, CYAN, ground=ground))
    rows: list[Row] = [(styled(fit("differ", LABEL), SOFT), *marks), (styled(fit("KL", LABEL), SOFT), *apart)]
    note = f"{len(partings):,} of {count:,} differ" + (f", highest KL {readable(max(known))}" if known else "")
    if pairing.ended and not pairing.follow:
        note += ", returns " + " and ".join(readable(side.steps[-1].gained) for side in (pairing.a, pairing.b))
    return bordered("Steps", rows, width, STRIPS, note)


def _keys(width: int) -> Row:
    """Return the keys, as many as fit."""
    row: list[Row] = []
    left = width
    for key, does in KEYS:
        left -= len(key) + len(does) + 3
        if left < 0:
            break
        row.append((styled(f" {key} ", ACCENT), styled(f"{does} ", FAINT)))
    return tuple(part for parts in row for part in parts)
