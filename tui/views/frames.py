"""What surrounds the boards: the state of each environment, by colour, sign and word."""

from __future__ import annotations

import numpy as np

from ...training.telemetry.records import RECORDING, Notice, Phase
from ...training.telemetry.snapshot import Snapshot
from ..boards import BoardFrame, mixed
from ..drawing.numbers import decimal
from ..drawing.styles import CYAN, FAINT, LINE, MAGENTA, ORANGE, RED, SIGNS, STEPPING, TONES, YELLOW
from .figures import sign_of

JUST, JUST_PART = 1.0, 0.5  # s, and part of an episode, that an ended one colours its board at most
JUST_ENDED = 0.4  # how much of that colour its frame has: early in training, every episode ends at once
NOTICES = {Notice.BREAK: ("break", ORANGE), Notice.ALARM: ("alarm", RED), Notice.PLAYED: ("by hand", CYAN)}


def frames_of(snapshot: Snapshot, first: int, count: int, now: float, selected: int | None) -> list[BoardFrame]:
    """Return what surrounds the boards `first..first + count`: the state by colour, sign and word."""
    table = snapshot.environments[first : first + count]
    total, name = len(snapshot.environments), snapshot.description.units.env.capitalize()
    columns = (table[name].tolist() for name in ("status", "ended", "last_outcome", "episode_return"))
    since = now - _just(snapshot)
    frames = [
        _frame(
            snapshot,
            BoardFrame(f"{name} {first + index + 1:,}/{total:,}", selected=first + index == selected),
            since,
            values,
        )
        for index, values in enumerate(zip(*columns, strict=True))
    ]
    for index in np.flatnonzero(table["notice"]).tolist():
        word, color = NOTICES[Notice(table["notice"][index])]
        sign = SIGNS.dot if color is CYAN else SIGNS.broken
        frames[index] = frames[index]._replace(sign=f"{sign} {word}", color=color, mark=color)
    for index in np.flatnonzero(table["recording"]).tolist():
        runs = table["recording"][index] == RECORDING
        frames[index] = frames[index]._replace(sign=f"{SIGNS.dot if runs else SIGNS.neutral} rec", color=RED)
    return frames


def _just(snapshot: Snapshot) -> float:
    """For how many seconds a board tells of an ended episode: not until the next one ends, where they are short."""
    sps, length = float(snapshot.state["sps"]), float(snapshot.state["length_mean"])
    if snapshot.phase is Phase.PAUSED or not (sps > 0 and length > 0):
        return JUST
    return min(JUST, JUST_PART * length * snapshot.num_envs / sps)


def _frame(snapshot: Snapshot, frame: BoardFrame, since: float, values: tuple[int, float, int, float]) -> BoardFrame:
    """Colour, sign and caption of one board, of its status, end, outcome and return; `since` then, an end is shown."""
    status, ended, outcome, score = values
    if status:
        return frame._replace(sign=SIGNS.broken, color=MAGENTA, caption="hung" if status == 1 else "dead")
    if ended > since and outcome:
        name, tone = snapshot.description.outcomes[outcome - 1]
        mark = TONES.get(tone, YELLOW)
        sign = sign_of(mark)
        return frame._replace(sign=sign, color=mixed(mark, LINE, JUST_ENDED), mark=mark, caption=name)
    caption = decimal(score, 2)
    if snapshot.phase in {Phase.RUNNING, Phase.BASELINE}:
        return frame._replace(sign=SIGNS.stepping, color=STEPPING, caption=caption)
    return frame._replace(sign=SIGNS.paused, color=FAINT, caption=caption)
