"""What the user selects of the curves: pure functions from one choice to the next."""

import numpy as np
import pytest

from pac.training.telemetry.snapshot import Curve
from pac.training.units import SOLVED, STEPPED
from pac.tui.curve_options import CurveOptions, Extent, Window, nearest, next_point, smoothed

ALL = Extent(0.0, 1000.0, 1000.0)
NAMES = ["return_mean", "info/lines", "loss/policy", "fps"]


def curve(frames=4.0):
    """A metric of ten iterations of 100 steps and 2 s."""
    steps = np.arange(100, 1100, 100, dtype=np.float32)
    return Curve("loss", 0, steps, steps / np.float32(50), steps * np.float32(frames), np.zeros(10, np.float32))


def test_a_curve_is_moved_among_all_and_others_keep_their_places():
    """Names that were not there when it was moved have their usual places, too."""
    options = CurveOptions().moved(NAMES, "fps", -2)
    assert options.arranged(NAMES) == ["return_mean", "fps", "info/lines", "loss/policy"]
    assert options.arranged(["return_mean", "new", "loss/policy", "fps"]) == [
        "return_mean",
        "new",
        "fps",
        "loss/policy",
    ]
    assert options.moved(NAMES, "fps", -9).arranged(NAMES)[0] == "fps"


def test_moving_keeps_the_order_of_curves_that_another_task_has():
    """They are at the end of what is stored."""
    options = CurveOptions(order=("a", "b")).moved(NAMES, "fps", -1)
    assert options.order[-2:] == ("a", "b")
    assert options.arranged(["b", "x", "a"]) == ["a", "x", "b"]


def test_hidden_curves_are_not_shown():
    """Until they are toggled again."""
    options = CurveOptions().toggled("fps")
    assert options.shown(NAMES) == NAMES[:-1]
    assert options.toggled("fps").shown(NAMES) == NAMES


@pytest.mark.parametrize(
    ("log", "usually", "exception", "expected"),
    [(False, False, False, False), (True, False, False, True), (False, True, False, True), (True, False, True, False),
     (False, False, True, True), (False, True, True, False)],
)  # fmt: skip
def test_one_curve_can_have_the_other_scale(log, usually, exception, expected):
    """Whatever scale the others have."""
    options = CurveOptions(log=log)
    options = options.with_log("loss") if exception else options
    assert options.is_log("loss", usually=usually) is expected


def test_zooming_in_halves_the_range_at_the_newest_end_and_follows_it():
    """Without a cursor."""
    options = CurveOptions().zoomed(ALL, 0.5)
    assert options.window == Window(500.0)
    assert options.span(ALL) == (500.0, 1000.0)
    assert options.span(Extent(0.0, 1200.0, 1200.0)) == (700.0, 1200.0)


def test_zooming_keeps_the_cursor_where_it_is_on_the_screen():
    """A quarter of the range is to its left before and after."""
    options = CurveOptions(cursor=250.0).zoomed(ALL, 0.5)
    assert options.span(ALL) == (125.0, 625.0)
    assert options.zoomed(ALL, 0.5, around=625.0).span(ALL) == (375.0, 625.0)


def test_zooming_out_ends_with_everything():
    """At the edges the range is moved instead of cut."""
    options = CurveOptions(cursor=250.0).zoomed(ALL, 0.25).zoomed(ALL, 2.0)
    low, high = options.span(ALL)
    assert (high - low, low >= 0) == (500.0, True)
    assert options.zoomed(ALL, 2.0).window is None


def test_zooming_in_has_a_limit():
    """The range never becomes empty."""
    options = CurveOptions()
    for _ in range(100):
        options = options.zoomed(ALL, 0.5)
    low, high = options.span(ALL)
    assert 0 < high - low < 2.0


def test_the_range_follows_the_cursor():
    """To the left and to the right; at the newest value it follows the training again."""
    options = CurveOptions(window=Window(100.0, 600.0))
    assert options.pointed(450.0, ALL).span(ALL) == (450.0, 550.0)
    assert options.pointed(700.0, ALL).span(ALL) == (600.0, 700.0)
    assert options.pointed(550.0, ALL).span(ALL) == (500.0, 600.0)
    assert options.pointed(1000.0, ALL).window == Window(100.0)


def test_escape_removes_the_cursor_then_the_zoom():
    """One after the other."""
    options = CurveOptions(cursor=1.0, window=Window(5.0))
    assert options.reset() == CurveOptions(window=Window(5.0))
    assert options.reset().reset() == CurveOptions()


def test_smoothing_goes_through_its_weights():
    """And back to none."""
    options, seen = CurveOptions(), []
    for _ in range(5):
        options = options.smoother()
        seen.append(options.smoothing)
    assert seen == [0.6, 0.9, 0.97, 0.0, 0.6]


def test_the_average_is_that_of_tensorboard():
    """Debiased: it starts at the first value, and a constant stays what it is."""
    assert np.allclose(smoothed(np.full(50, 7.0), 0.97), 7.0)
    values, weight = np.random.default_rng(0).normal(size=3000).tolist(), 0.6
    last, expected = 0.0, []
    for count, value in enumerate(values, 1):
        last = last * weight + (1 - weight) * value
        expected.append(last / (1 - weight**count))
    assert np.allclose(smoothed(np.array(values), weight), expected)


def test_axes_are_steps_time_and_frames():
    """In turn; frames are left out where they are the same as steps. A solver counts iterations first."""
    options, seen = CurveOptions(), []
    for _ in range(3):
        options = options.with_next_axis(STEPPED, curve())
        seen.append(options.over)
    assert seen == ["seconds", "frames", None]
    assert CurveOptions("seconds").with_next_axis(STEPPED, curve(frames=1.0)).over is None
    assert CurveOptions("seconds").with_next_axis(SOLVED, curve()).over == "steps"


def test_cursor_and_zoom_keep_their_places_on_another_axis():
    """Step 300 is at 6 s, and a range of 400 steps takes 8 s."""
    options = CurveOptions(cursor=300.0, window=Window(400.0, 600.0)).with_next_axis(STEPPED, curve())
    assert (options.cursor, options.window) == (6.0, Window(8.0, 12.0))
    assert CurveOptions(cursor=300.0).with_next_axis(STEPPED, None).cursor is None


def test_the_nearest_point_is_found():
    """Also beyond the ends."""
    x = np.array([0.0, 10.0, 20.0])
    assert [nearest(x, place) for place in (-5, 4, 6, 14, 99)] == [0, 0, 1, 1, 2]


def test_the_cursor_moves_by_columns_and_at_least_by_a_point():
    """Over many points in a column, and over columns without a point."""
    dense, columns = np.arange(100.0), np.arange(100) // 10
    assert next_point(dense, columns, 55.0, 1) == 60.0
    assert next_point(dense, columns, 55.0, -1) == 49.0
    assert next_point(dense, columns, 55.0, -(10**6)) == 0.0
    assert next_point(dense, columns, 95.0, 3) == 99.0
    sparse = np.array([0.0, 50.0, 99.0])
    assert next_point(sparse, np.array([0, 5, 9]), 50.0, 1) == 99.0
    assert next_point(sparse, np.array([0, 0, 9]), 50.0, -1) == 0.0
    assert next_point(sparse, np.array([0, 5, 9]), None, -1) == 99.0
    assert next_point(sparse, np.array([0, 5, 9]), None, -500) == 0.0
