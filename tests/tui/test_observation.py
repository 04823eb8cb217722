"""Observations of every shape are drawn, with NaN and infinite values marked."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pac.training.telemetry.description import describe
from pac.tui.views.observation import observed

from .fake_session import CHESS, FACTS

ABOUT = describe(CHESS, run="r", **FACTS)


def drawn(values, width, height):
    """Return the lines of an observation."""
    moment: Any = SimpleNamespace(observation=values, note="")
    return ["".join(segment.text for segment in row) for row in observed(ABOUT, moment, width, height)]


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
