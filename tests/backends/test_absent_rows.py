"""Rows of environments whose worker is being replaced."""

from __future__ import annotations

import numpy as np

from pac.backends.core.layout import Layout
from pac.backends.workers.absent_rows import AbsentRows
from pac.envs import find
from pac.envs.fields import DECIDES, OUT, WAITS


def test_a_seat_that_was_eliminated_in_the_interrupted_step_stays_so():
    """Otherwise its last decision would be valued as if it had lived on; the others wait."""
    task = find("treasure:agents=3")
    buffer = Layout(task, 2, 4).map()
    buffer["active"][1] = np.array([DECIDES, OUT, DECIDES, DECIDES, OUT, DECIDES])
    AbsentRows(task, buffer, 0, 1, 1)
    assert buffer["active"][1].tolist() == [WAITS, OUT, WAITS, DECIDES, OUT, DECIDES]
