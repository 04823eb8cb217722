"""Charts show the lowest and the highest value of every column, with labeled axes."""

import math
import re

import numpy as np
import pytest

from pac.tui.drawing.chart import DOTS, Plot, against_ideal, axis_of, chart, columns_of, dots, sparkline


def text(rows):
    return ["".join(segment.text for segment in row) for row in rows]


def test_a_peak_survives_any_reduction():
    """One high value among a thousand is still the top of its column."""
    y = np.zeros(1000)
    y[500] = 9.0
    low, high = columns_of(np.arange(1000.0), y, 20, (0.0, 999.0))
    assert high.max() == 9.0
    assert low.max() == 0.0


def test_columns_between_points_are_on_the_line():
    """Two points fill the columns between them."""
    low, high = columns_of(np.array([0.0, 10.0]), np.array([0.0, 10.0]), 11, (0.0, 10.0))
    assert np.array_equal(low, high)
    assert np.allclose(low, np.arange(11))


def test_columns_outside_the_points_are_empty():
    """An axis longer than the curve leaves columns blank."""
    low, _ = columns_of(np.array([4.0, 6.0]), np.array([1.0, 1.0]), 11, (0.0, 10.0))
    assert np.isnan(low[[0, -1]]).all()


def test_a_steep_curve_has_no_gaps():
    """Every column of a jump touches its neighbors: there is a dot in each row of text."""
    wide = 10 * DOTS.weights.shape[1]
    y = np.where(np.arange(wide) < wide // 2, 0.0, 1.0)
    lines = dots(y, y, (0.0, 1.0), 6)
    assert [len(line) for line in lines] == [10] * 6
    assert all(line.strip() for line in lines)


def test_a_chart_fills_its_area_and_labels_its_axes():
    """It has exactly the requested rows and columns, with steps or wall time below."""
    x, y = np.linspace(0, 1_500_000, 500), np.sin(np.linspace(0, 9, 500))
    rows = text(chart(x, y, 60, 12, Plot("steps")))
    assert len(rows) == 12
    assert {len(row) for row in rows} == {60}
    assert rows[-1].endswith("1.5M steps")
    assert text(chart(x[:5] / 100, y[:5], 60, 12, Plot()))[-1].endswith("0:02:00")


def test_a_chart_without_points_or_room_does_not_fail():
    """It shows a message if there is room for one."""
    empty = np.zeros(0)
    assert "waiting" in text(chart(empty, empty, 40, 8, Plot("steps")))[0]
    assert chart(np.arange(5.0), np.arange(5.0), 4, 1, Plot("steps"))
    assert len(sparkline(empty, empty, 5, 2)) == 2


def test_speedup_is_drawn_against_the_ideal():
    """Each N tried is a dot; the ideal line ends in the top right corner."""
    counts, speedups = [1, 2, 4, 8], [1.0, 1.5, 2.0, 2.5]
    rows = text(against_ideal(counts, speedups, axis_of(counts, speedups), 40, 10))
    assert sum(row.count("●") for row in rows) == 4
    assert rows[0].rstrip()[-1] != "●"
    assert all(len(row) == 40 for row in rows)


def test_a_wide_range_of_n_is_drawn_by_doublings():
    """If N spans more than 8x, each doubling has the same width, and the ideal stays a straight line."""
    axis = axis_of([1, 4, 64], [1.0, 3.0, 20.0])
    places = axis.place(np.array([1.0, 8.0, 64.0]))
    assert places.tolist() == pytest.approx([0, 0.5, 1])
    assert axis_of([1, 8], [1.0, 2.0]).place(np.array([4.0])).tolist() == [0.5]


def test_a_speedup_below_one_stays_on_the_axis():
    """The axis by doublings starts at the power of two below the lowest speedup."""
    axis = axis_of([1, 32], [0.7, 3.0])
    assert axis.low == 0.5
    assert (axis.place(np.array([0.7, 1.0, 32.0])) >= 0).all()


def test_a_power_law_is_straight_on_logarithmic_axes():
    """Powers of ten are labeled on the left and marked below; values that are not positive are left out."""
    x = np.geomspace(1, 1_000_000, 400)
    rows = text(chart(np.r_[0.0, x], np.r_[1.0, 1 / x], 80, 30, Plot("iterations", log=True)))
    assert {len(row) for row in rows} == {80}
    for label in ("1┤", "0.001┤", "1e-06┤"):
        assert any(label in row for row in rows)
    assert rows[-2].count("┴") == 7
    assert rows[-1].endswith("1M iterations")
    drawn = [np.flatnonzero([letter != " " for letter in row[9:]]).mean() for row in rows[:-2]]
    assert np.allclose(np.diff(drawn), np.diff(drawn).mean(), atol=1.0)


@pytest.mark.parametrize(("width", "height"), [(32, 7), (36, 30), (66, 9)])
@pytest.mark.parametrize(
    ("x", "y"), [((1.8e6, 7.2e7), (0.03, 0.005)), ((7.8e4, 1.3e6), (1200, 200)), ((2e6, 4e6), (3, 4))]
)
def test_logarithmic_axes_are_labeled_between_their_ends(width, height, x, y):
    """Even short ones, on the left and below, each label below a mark of the axis."""
    steps, values = (np.geomspace(first, last, 300) for first, last in (x, y))
    rows = text(chart(steps, values, width, height, Plot("iterations", log=True)))
    labels = [row[:8].strip() for row in rows[:-2] if row[8] == "┤"]
    assert len(labels) >= 3
    assert len(set(labels)) == len(labels)
    assert {len(row) for row in rows} == {width}
    between = list(re.finditer(r"\S+", rows[-1].removesuffix(" iterations")))[1:-1]
    assert between
    for label in between:
        middle = (label.start() + label.end() - 1) / 2
        assert "┴" in (rows[-2][math.floor(middle)], rows[-2][math.ceil(middle)])
