"""Observations of every shape are drawn, with NaN and infinite values marked."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pac.envs import Field
from pac.training.telemetry.description import describe
from pac.tui.views.observation import observed

from .fake_session import CHESS, FACTS

ABOUT = describe(CHESS, run="r", **FACTS)


def drawn(values, width, height):
    """Return the lines of an observation."""
    moment: Any = SimpleNamespace(observation=values, note="")
    return ["".join(segment.text for segment in row) for row in observed(ABOUT, moment, width, height)]


def test_nan_and_infinity_are_shown_by_name():
    """The bars of the other values are scaled without them."""
    rows = drawn(np.array([1.0, np.nan, -np.inf, 0.5]), 40, 10)
    assert [row.split()[-1] for row in rows] == ["1", "nan", "-inf", "0.500"]
    assert rows[0].count("━") == 2 * rows[3].count("━") > 0


def test_nan_and_infinity_are_counted_in_slices():
    """A sign is drawn in place of their bars."""
    values = np.ones(100)
    values[[3, 7]] = np.nan, np.inf
    rows = drawn(values, 60, 10)
    assert "".join(rows).count("!") == 2
    assert "100 values, 0 to 1, 2 NaN or infinite" in rows[-1]


def test_numbers_have_room_in_a_slim_panel():
    """Names and bars are shortened; of a slice, at least the range is shown."""
    rows = drawn(np.array([1.0, -0.01234, 12345.6, 0.5]), 18, 4)
    assert [row.split()[-1] for row in rows] == ["1", "-0.01234", "12,346", "0.500"]
    for width, reported in ((18, "24 values, -1 to 1"), (14, "-1 to 1")):
        rows = drawn(np.linspace(-1, 1, 24), width, 4)
        assert rows[-1].strip() == reported
        assert max(map(len, rows)) <= width


def test_an_image_among_other_parts_is_a_picture():
    """Below its name, in at most half of the lines; an image of few pixels is bars."""
    field = Field("observation", "float32", (1203,), images=((2, (20, 20, 3)), (1202, (1, 1))))
    slices = (("speed", 0, 2), ("camera", 2, 1202), ("tile", 1202, 1203))
    moment: Any = SimpleNamespace(observation=np.linspace(0, 1, 1203), note="")
    about = replace(ABOUT, observation=field, slices=slices)
    rows = ["".join(segment.text for segment in row).strip() for row in observed(about, moment, 50, 30)]
    first = rows.index("camera")
    assert rows[first + 1 : first + 11] == ["▀" * 20] * 10
    assert rows[first + 11].startswith("tile")


@given(
    hnp.arrays(st.sampled_from(["f4", "u1", "i4"]), hnp.array_shapes(min_dims=1, max_dims=3, max_side=24)),
    st.integers(10, 90),
    st.integers(3, 40),
)
@example(np.array([[[-3.4e38, 1e38]]], np.float32), 10, 3)
def test_any_observation_is_drawn(values, width, height):
    """Of any shape and values; planes in no more lines than there are."""
    rows = drawn(values, width, height)
    assert rows
    assert values.ndim < 3 or len(rows) <= height
