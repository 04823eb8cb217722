"""What a policy decided, in the inspector: nothing of it is hidden where it matters."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pac.envs import find
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import SPREAD
from pac.training.trainer import PolicyOutput
from pac.tui.drawing.styles import BRIGHT, style_of
from pac.tui.views.environment_rows import action_parts
from pac.tui.views.inspect import decided, histogram, legal

from ..toys import FACTS


def lines(task, output, chosen, *, most=99, width=40):
    """What the inspector shows, as text."""
    about = describe(find(task), **FACTS)
    moment = SimpleNamespace(next_action=None, action=np.array(chosen), back=0, values={"value": 1.0})
    snapshot: Any = SimpleNamespace(description=about, policy=output)
    rows = decided(snapshot, moment, width, most)  # type: ignore[arg-type]
    return ["".join(segment.text for segment in row).strip() for row in rows]


def test_continuous_actions_have_mean_and_deviation():
    """By the names of their numbers."""
    shown = lines("Pendulum-v1", PolicyOutput(0.5, 1.2, (), (), means=(0.25,), deviations=(0.5,)), [0.1])
    assert any(line.startswith("torque") and "0.250 ± 0.500" in line for line in shown)


@pytest.mark.parametrize("chosen", [0, 3])
def test_the_chosen_action_is_shown_where_there_is_little_room(chosen):
    """However improbable it was."""
    output = PolicyOutput(0.5, 1.2, (1, 2, 0, 3), (0.6, 0.3, 0.06, 0.04))
    shown = lines("FrozenLake-v1", output, chosen, most=4)
    assert len(shown) == 4
    name = ("left", "down", "right", "up")[chosen]
    assert any(name in line and "%" in line for line in shown)


def test_numbers_that_are_parts_of_names_stay():
    """Where a name without its number would appear twice; numbered parts of one name are one part."""
    about = describe(find("Pendulum-v1"), **FACTS)
    legs = SimpleNamespace(
        bounds=((-1, 1),) * 4, choices=(), component_names=("hip 1", "knee 1", "hip 2", "knee 2"), action_names=()
    )
    arms = SimpleNamespace(bounds=((-1, 1),) * 3, choices=(), component_names=("arm 0", "arm 1", "grip"))
    assert about.component_names == ("torque",)
    assert action_parts(legs, np.arange(4.0)) == ["hip 1=0.00", "knee 1=1.00", "hip 2=2.00", "knee 2=3.00"]  # type: ignore[arg-type]
    assert action_parts(arms, np.arange(3.0)) == ["arm=0.00 1.00", "grip=2.00"]  # type: ignore[arg-type]


def test_a_histogram_marks_where_a_number_is():
    """Between its ends, if there is room for them."""
    spread = np.zeros((), SPREAD.dtype)
    spread["low"], spread["high"], spread["counts"][[0, 6, 23]] = -1, 1, (1, 4, 8)
    row = histogram(spread, 30, mark=-0.5)
    assert "".join(segment.text for segment in row) == "-1 ▁     ▄                █ 1 "
    assert [segment.text for segment in row if segment.style == style_of(BRIGHT)] == ["▄"]
    assert "".join(segment.text for segment in histogram(spread, 6)) == "▁▄   █"


def test_more_legal_actions_are_counted():
    """Where four lines do not have them all."""
    plain = SimpleNamespace(action_shape=(), action_planes=(), action_names=(), bounds=(), choices=())
    rows = legal(plain, SimpleNamespace(mask=np.ones(99, bool)), 12)  # type: ignore[arg-type]
    assert rows[-1][0].text == "and 84 more"
