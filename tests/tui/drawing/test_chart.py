"""Charts show the lowest and the highest value of every column, with labeled axes."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.tui.drawing.chart import Line, Plot, bounds, columns_of, layered
from pac.tui.drawing.chart import chart as charted
from pac.tui.drawing.styles import RED, SIGNS
from pac.tui.drawing.theme import in_ascii
from pac.tui.drawing.ticks import evened, levels
from pac.tui.views.number_rows import axis_of


def chart(x, y, width, height, plot):
    """Return the rows of a single curve."""
    return charted([Line(x, y)], width, height, plot).rows


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


@pytest.mark.parametrize("height", [6, 9, 14, 30])
@pytest.mark.parametrize(("low", "high"), [(-0.98, -0.81), (0.17, 1.34), (33.7, 86.6), (-4.0, 3.0), (1200, 61_000)])
def test_the_labels_of_an_axis_are_round(low, high, height):
    """They are multiples of 1, 2 or 5 times a power of ten, evenly spaced, and at least two if there is room."""
    rows = text(chart(np.arange(50.0), np.linspace(low, high, 50), 60, height, Plot("steps")))
    labels = [row.partition("┤")[0].strip().replace("k", "e3") for row in rows if "┤" in row]
    assert len(labels) >= min(2, height - 5)
    steps = -np.diff([float(label) for label in labels]) if len(labels) > 1 else np.ones(1)
    assert np.allclose(steps, steps[0])
    assert f"{steps[0]:.6e}"[0:8] in {"1.000000", "2.000000", "5.000000"}


def test_a_flat_curve_has_a_padded_range():
    """Noise of one percent takes a tenth of the height, in its middle; a curve that moves fills the height."""
    noisy = 495 + 2.5 * np.sin(np.arange(100.0))
    bottom, top = bounds(noisy, noisy)
    assert (top - bottom) / np.ptp(noisy) == pytest.approx(10, rel=0.02)
    assert (bottom + top) / 2 == pytest.approx(495, abs=0.1)
    assert bounds(np.array([5.0, 5.0]), np.array([5.0, 5.0])) == pytest.approx((4.75, 5.25))
    assert bounds(np.array([1.0, 9.0]), np.array([1.0, 9.0])) == (1.0, 9.0)


def test_a_wide_range_of_n_is_drawn_by_doublings():
    """If N spans more than 8x, each doubling has the same width, and the ideal stays a straight line."""
    axis = axis_of([1, 4, 64], [1.0, 3.0, 20.0])
    places = axis.place(np.array([1.0, 8.0, 64.0]))
    assert places.tolist() == pytest.approx([0, 0.5, 1])
    assert axis_of([1, 8], [1.0, 2.0]).place(np.array([4.0])).tolist() == [0.5]


@pytest.mark.parametrize(("width", "height"), [(32, 7), (36, 30), (66, 9)])
@pytest.mark.parametrize(
    ("x", "y"), [((1.8e6, 7.2e7), (0.03, 0.005)), ((7.8e4, 1.3e6), (1200, 200)), ((2e6, 4e6), (3, 4))]
)
def test_logarithmic_axes_are_labeled_between_their_ends(width, height, x, y):
    """Even short ones, on the left and below, each label below a mark of the axis."""
    steps, values = (np.geomspace(first, last, 300) for first, last in (x, y))
    rows = text(chart(steps, values, width, height, Plot("iterations", log_x=True, log_y=True)))
    labels = [row.partition("┤")[0].strip() for row in rows[:-2] if "┤" in row]
    assert len(labels) >= 3
    assert len(set(labels)) == len(labels)
    assert {len(row) for row in rows} == {width}
    between = list(re.finditer(r"\S+", rows[-1].removesuffix(" iterations")))[1:-1]
    assert between
    for label in between:
        middle = (label.start() + label.end() - 1) / 2
        assert "┴" in (rows[-2][math.floor(middle)], rows[-2][math.ceil(middle)])


def test_a_part_of_a_curve_continues_to_both_edges():
    """What is cut off is interpolated; a part without points has none."""
    line = Line(np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 3.0]))
    part = line.within(5.0, 15.0)
    assert (part.x.tolist(), part.y.tolist()) == ([5.0, 10.0, 15.0], [0.5, 1.0, 2.0])
    assert line.within(12.0, 14.0).y.tolist() == pytest.approx([1.4, 1.8])
    assert len(line.within(30.0, 40.0).x) == 0
    assert line.within(-1.0, 21.0) is line


@pytest.mark.parametrize("log", [False, True])
def test_a_column_has_the_value_that_is_drawn_there(log):
    """Clicking a value's column finds the value again, within a column."""
    x = np.arange(1.0, 1001.0)
    axes = charted([Line(x, x)], 80, 12, Plot("steps", log_x=log, log_y=log)).axes
    assert axes
    places = np.array([1.0, 40.0, 500.0, 1000.0])
    columns = axes.columns(places)
    assert ((columns >= 0) & (columns < axes.width)).all()
    assert axes.columns(np.array([axes.value(column) for column in columns])) == pytest.approx(columns, abs=1)


def test_curves_in_ascii_differ_without_colors(monkeypatch):
    """The main curve is drawn in other characters than those behind it, from the moment that ASCII is chosen."""
    x = np.arange(200.0)
    lines = [Line(x, np.full(200, 20.0)), Line(x, np.full(200, 180.0), RED)]
    monkeypatch.setattr(SIGNS, "braille", False)
    rows = [in_ascii(row) for row in text(layered(lines, (0.0, 199.0), (0.0, 199.0), 40, 10))]
    other, *main = [set(row) - {" "} for row in rows if row.strip()]
    assert main
    assert all(other.isdisjoint(letters) for letters in main)


@pytest.mark.parametrize("tall", [7, 12, 28, 50])
@pytest.mark.parametrize(("low", "high"), [(-0.98, -0.81), (0.17, 1.34), (33.7, 86.6), (-4.0, 3.0), (1200, 61_000)])
def test_labels_of_the_y_axis_are_equally_many_lines_apart(low, high, tall):
    """The axis is a little wider for that; without room, or if it would be much wider, it is as it was."""
    axis = evened((low, high), tall)
    lines = list(levels(axis, tall, log=False))
    assert len(set(np.diff(lines).tolist())) == 1 or (axis == (low, high) and tall <= 12)
    assert evened((low, high), 5) == (low, high)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 60))
def test_a_y_axis_contains_all_values(low, span, tall):
    """And it is at most a third wider than these."""
    first, last = evened((low, low + span), tall)
    assert first <= low + 1e-6 * span
    assert last >= low + span * (1 - 1e-6)
    assert last - first <= 1.34 * span + 1e-9 * abs(low)


def test_a_note_is_a_line_with_its_text_where_no_curve_is():
    """On either side of it if there is room; none outside of the axis."""
    drawn = charted([Line(np.arange(50.0), np.arange(50.0))], 60, 12, Plot("steps"))
    rows = text(drawn.noted([(10.0, "gamma 0.9"), (10.0, "clip 0.1"), (48.0, "lr 1"), (99.0, "beyond")]).rows)
    at = rows[0].index("┊")
    assert "clip 0.1┊gamma 0.9 " in rows[0]
    assert all(row[at] == "┊" for row in rows[:5])
    assert rows[-2][at] == SIGNS.up
    assert "lr 1┊" in "".join(rows)
    assert "beyond" not in "".join(rows)
    assert [len(row) for row in rows] == [len(row) for row in text(drawn.rows)]
