"""The borders of boards, which show the state of each environment by color, sign and word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...envs.fields import Array
from ...training.telemetry.moments import Moment
from ...training.telemetry.records import RECORDING, Notice, Phase
from ...training.telemetry.snapshot import Snapshot
from ..boards import BoardBorder
from ..drawing.numbers import decimal
from ..drawing.styles import CYAN, FAINT, LINE, MAGENTA, ORANGE, RED, SIGNS, STEPPING, TONES, YELLOW, mixed
from .number_rows import sign_of

OUTCOME_SECONDS, OUTCOME_EPISODES = 1.0, 0.5
"""How long an outcome is shown at most, in seconds and in episodes."""
OUTCOME_COLOR = 0.4
"""Share of the outcome's color in the border. It is weak, since early in training episodes end all the time."""
DRAWN_ON_REQUEST = frozenset({"pixels", "text"})
NOTICES = {Notice.BREAK: ("break", ORANGE), Notice.ALARM: ("alarm", RED), Notice.PLAYED: ("by hand", CYAN)}


def borders_of(snapshot: Snapshot, first: int, count: int, now: float, selected: int | None) -> list[BoardBorder]:
    """Return the borders of the boards `first..first + count`."""
    table = snapshot.environments[first : first + count]
    total, title = f"/{len(snapshot.environments):,}", snapshot.description.env_title
    columns = (table[name].tolist() for name in ("status", "ended", "last_outcome", "episode_return", "last_return"))
    since = now - _outcome_seconds(snapshot)
    borders = [
        _border(
            snapshot,
            BoardBorder(title(first + index, total), selected=first + index == selected),
            since,
            values,
        )
        for index, values in enumerate(zip(*columns, strict=True))
    ]
    for index in np.flatnonzero(table["notice"]).tolist():
        word, color = NOTICES[Notice(table["notice"][index])]
        sign = SIGNS.dot if color is CYAN else SIGNS.broken
        borders[index] = borders[index]._replace(sign=f"{sign} {word}", color=color, mark=color)
    for index in np.flatnonzero(table["recording"]).tolist():
        runs = table["recording"][index] == RECORDING
        borders[index] = borders[index]._replace(sign=f"{SIGNS.dot if runs else SIGNS.neutral} rec", color=RED)
    return borders


def with_messages(
    borders: Sequence[BoardBorder], boards: Array, snapshot: Snapshot, moment: Moment | None = None
) -> list[BoardBorder]:
    """Return the borders of boards `(count, ...)`, with a message in those that have nothing to show.

    Pictures and text are drawn on request, and empty until then. Of a `moment` of the past, a board that was not drawn
    then was not kept.
    """
    shown, main = list(borders), snapshot.description.board
    kept = moment is None or moment.shown
    if kept and (main is None or main.kind not in DRAWN_ON_REQUEST or snapshot.phase.over):
        return shown
    for index in np.flatnonzero(~boards.any(axis=tuple(range(1, boards.ndim)))).tolist():
        missing = "not kept" if moment is None or moment.observation is None else "not kept: i shows what was observed"
        shown[index] = shown[index]._replace(message="drawing..." if kept else missing)
    return shown


def _outcome_seconds(snapshot: Snapshot) -> float:
    """Return for how many seconds a board shows an outcome: shorter than the next episode takes."""
    sps, length = float(snapshot.state["sps"]), float(snapshot.state["length_mean"])
    if snapshot.phase is Phase.PAUSED or not (sps > 0 and length > 0):
        return OUTCOME_SECONDS
    return min(OUTCOME_SECONDS, OUTCOME_EPISODES * length * snapshot.num_envs / sps)


def _border(
    snapshot: Snapshot, border: BoardBorder, since: float, values: tuple[int, float, int, float, float]
) -> BoardBorder:
    """Return a border with color, sign, captions for `values`: worker status, time of the last end, outcome, returns.

    An outcome is shown if the episode has ended after the time `since`, with the return of that episode.
    """
    status, ended, outcome, score, last = values
    if status:
        return border._replace(
            sign=SIGNS.broken, color=MAGENTA, mark=MAGENTA, captions=("hung" if status == 1 else "dead",)
        )
    if ended > since and outcome:
        name, tone = snapshot.description.outcomes[outcome - 1]
        mark, total = TONES.get(tone, YELLOW), decimal(last)
        color = mixed(mark, LINE, OUTCOME_COLOR)
        return border._replace(sign=sign_of(mark), color=color, mark=mark, captions=(f"{name} {total}", total))
    captions = (decimal(score),)
    if snapshot.phase in {Phase.RUNNING, Phase.BASELINE}:
        return border._replace(sign=SIGNS.stepping, color=STEPPING, captions=captions)
    return border._replace(sign=SIGNS.paused, color=FAINT, captions=captions)
