"""The last steps of an environment: a timeline, and strips of rewards, values and actions above it."""

import numpy as np

from pac.envs.unknown import UNKNOWN
from pac.training.telemetry.description import describe
from pac.training.telemetry.moments import RecentSteps
from pac.tui.app.scrubber import RIGHT, marks, strips

from .fake_session import CHESS, FACTS

ABOUT = describe(CHESS, run="r", **FACTS)
WIDTH = 61


def line(count=20):
    """Steps of which one has a reward and one ended an episode; values rise, and the last action is `left`."""
    ends, rewards = np.zeros(count, np.uint8), np.zeros(count, np.float32)
    ends[-1], rewards[count // 2] = 1, 2
    actions = np.zeros(count, np.float32)
    actions[-1] = 1
    entropies = np.full(count, UNKNOWN, np.float32)
    entropies[[3, 8]] = 1.0, 0.5
    return RecentSteps(100, ends, rewards, np.arange(count, dtype=np.float32), entropies, actions)


def text(row):
    """Return a row as text."""
    return "".join(segment.text for segment in row)


def test_strips_are_in_the_columns_of_the_timeline():
    """A reward, the highest value and the last action are above their marks, with names and newest values.

    Entropies are blank at steps at which nobody looked.
    """
    rewards, values, entropies, actions = map(text, strips(ABOUT, line(), WIDTH))
    timeline = text(marks(line(), None, WIDTH))
    assert len({len(row) for row in (rewards, values, actions, timeline)}) == 1
    assert rewards.index("█") == timeline.index("╵")
    assert values.rindex("█") == actions.index("█") == timeline.index("┃") == len(timeline) - RIGHT - 1
    assert [row.split()[0] for row in (rewards, values, entropies, actions)] == ["reward", "value", "entropy", "action"]
    assert [entropies[timeline.index("╵") + 2 * (step - 10)] for step in (3, 5, 8)] == ["█", " ", "▁"]
    assert [row.split()[-1] for row in (rewards, values, actions)] == ["0", "19", "left"]


def test_what_is_unknown_has_no_strip():
    """Scripts may have no policy, and NaN rewards do not hide the others."""
    steps = line()
    steps.values[:], steps.entropies[:], steps.rewards[0] = UNKNOWN, UNKNOWN, np.nan
    shown = [text(row) for row in strips(ABOUT, steps, WIDTH)]
    assert [row.split()[0] for row in shown] == ["reward", "action"]
    assert "█" in shown[0]
    assert strips(ABOUT, steps, 20) == []
