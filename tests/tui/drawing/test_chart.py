"""Charts show the lowest and the highest value of every column, with labeled axes."""

import math
import re

import numpy as np
import pytest

from pac.tui.drawing.chart import Line, Plot, bounds, columns_of, dots, layered, sparkline
from pac.tui.drawing.chart import chart as charted
from pac.tui.drawing.dots import BRAILLE
from pac.tui.drawing.speedup import against_ideal, axis_of
from pac.tui.drawing.styles import ACCENT, GREEN, RED, SIGNS, hex_of, style_of
from pac.tui.drawing.theme import in_ascii


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


def test_a_steep_curve_has_no_gaps():
    """Every column of a jump touches its neighbors: there is a dot in each row of text."""
    wide = 10 * BRAILLE.wide
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
    assert rows[-1].split() == ["0", "200k", "400k", "600k", "800k", "1M", "1.4M", "steps"]
    times = text(chart(x[:5] / 100, y[:5], 60, 12, Plot()))[-1].split()
    assert times == ["00:00", "00:30", "01:00", "01:30", "02:00"]


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


def test_a_rate_is_drawn_from_zero():
    """Its noise does not look like a collapse."""
    rates = np.array([26_000.0, 34_000.0])
    assert Plot(from_zero=True).up(rates) == (0.0, 34_000.0)
    assert Plot().up(rates) == (26_000.0, 34_000.0)


def test_the_area_below_a_curve_is_tinted():
    """All cells below it, and none above it."""
    rows = sparkline(np.arange(40.0), np.arange(40.0), 20, 5)
    tinted = np.array([[part.style != style_of(ACCENT) for part in row for _ in part.text] for row in rows])
    assert tinted.sum(axis=0).tolist() == sorted(tinted.sum(axis=0))
    assert tinted[:, -1].sum() >= 4
    assert not tinted[:, 0].any()
    assert (np.diff(tinted.astype(int), axis=0) >= 0).all()


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
    rows = text(chart(np.r_[0.0, x], np.r_[1.0, 1 / x], 80, 30, Plot("iterations", log_x=True, log_y=True)))
    assert {len(row) for row in rows} == {80}
    for label in ("1┤", "0.001┤", "1e-06┤"):
        assert any(label in row for row in rows)
    assert rows[-2].count("┴") == 7
    assert rows[-1].endswith("1M iterations")
    drawn = [np.flatnonzero([letter != " " for letter in row[7:]]).mean() for row in rows[:-2]]
    assert np.allclose(np.diff(drawn), np.diff(drawn).mean(), atol=1.0)


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


def test_a_chart_shows_the_values_of_its_range_only():
    """The y axis fits them."""
    x = np.arange(101.0)
    rows = charted([Line(x, x**2)], 60, 12, Plot("steps", span=(0.0, 10.0))).rows
    assert text(rows)[-1].split()[-2:] == ["10", "steps"]
    assert any("100┤" in row for row in text(rows))
    assert not any("k┤" in row for row in text(rows))
    empty = charted([Line(x, x)], 60, 12, Plot("steps", span=(200.0, 300.0)))
    assert "no points in this range" in text(empty.rows)[0]


def test_a_curve_hides_those_behind_it():
    """Where they do not meet, each has its color; a dashed one has gaps."""
    x = np.arange(200.0)
    rows = layered([Line(x, x), Line(x, 199 - x, RED), Line(x, x, GREEN)], (0.0, 199.0), (0.0, 199.0), 40, 10)
    styles = {str(segment.style).split()[0] for row in rows for segment in row if segment.text.strip()}
    assert styles == {hex_of(ACCENT), hex_of(RED)}
    flat = np.full(200, 100.0)
    dashed = layered([Line(x[:0], x[:0]), Line(x, flat, RED, (4, 4))], (0.0, 199.0), (0.0, 199.0), 40, 10)
    drawn = "".join(text(dashed)).strip()
    assert 0.4 < sum(letter != " " for letter in drawn) / len(drawn) < 0.7


def test_the_cursor_is_a_line_with_a_dot_at_the_value():
    """On every line of the chart, in the column of the value, and nowhere else."""
    x = np.arange(101.0)
    drawn = charted([Line(x, x)], 60, 12, Plot("steps"))
    assert drawn.axes
    before, after = text(drawn.rows), text(drawn.marked(50.0, 50.0))
    changed = [[at for at in range(60) if one[at] != other[at]] for one, other in zip(before, after, strict=True)]
    assert {tuple(columns) for columns in changed[:10]} == {(drawn.axes.left + drawn.axes.width // 2,)}
    assert changed[10:] == [[], []]
    assert sum(row.count(SIGNS.dot) for row in after) == 1
    assert SIGNS.dot in "".join(after[4:6])
    assert drawn.marked(500.0, 50.0) == drawn.rows


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
