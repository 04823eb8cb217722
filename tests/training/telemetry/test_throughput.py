"""Windows of whole iterations, medians per N, and the baseline rule."""

import math

import pytest

from pac.training.telemetry.throughput import SPAN, Mark, Throughput, TrainingClock


def marks(fps, seconds=0.5, count=20, start=0.0):
    """Marks of iterations of `seconds` each at `fps` frames per second."""
    return [Mark(start + i * seconds, int(i * seconds * fps), i) for i in range(count)]


def fed(num_envs, fps, **kwargs):
    found = Throughput()
    first, *rest = marks(fps, **kwargs)
    found.reset(num_envs, first)
    for mark in rest:
        found.add(mark)
    return found, rest[-1]


def test_rates_are_averages_of_the_last_ten_seconds():
    """Iterations of half a second: the span holds twenty of them, and the last mark is its end."""
    found, last = fed(4, 1000, count=100)
    assert found.rates(last) == pytest.approx((1000, 2))
    first, end = found.span(last)
    assert end == last
    assert end.seconds - first.seconds == pytest.approx(SPAN)


def test_a_slow_iteration_is_a_span_of_its_own():
    """Where one iteration takes twenty seconds, the span is that iteration."""
    found, last = fed(4, 1000, seconds=20, count=4)
    first, end = found.span(last)
    assert end.seconds - first.seconds == pytest.approx(20)


def test_while_an_iteration_takes_much_longer_its_own_rate_is_shown():
    """So a rate is never that of what was before; also if iterations usually take long."""
    found, last = fed(4, 1000, seconds=2)
    assert found.rates(Mark(last.seconds + 9, last.frames + 18, last.steps + 9)) == pytest.approx((1000, 0.5))
    assert found.rates(Mark(last.seconds + 11, last.frames + 22, last.steps + 11)) == pytest.approx((2, 1))
    found, last = fed(4, 1000, seconds=60)
    assert found.rates(Mark(last.seconds + 80, last.frames, last.steps))[0] == pytest.approx(1000)
    assert found.rates(Mark(last.seconds + 91, last.frames, last.steps)) == (0, 0)


def test_rates_are_unknown_until_a_second_iteration_has_ended():
    """The first is warm-up; until then, what there is since the beginning is shown as an estimate."""
    found = Throughput()
    found.reset(4, Mark(1.0, 0, 0))
    assert all(math.isnan(rate) for rate in found.rates(Mark(1.0, 0, 0)))
    found.add(Mark(3.0, 40, 20))
    assert not found.known
    assert found.rates(Mark(5.0, 80, 40)) == (20, 10)
    found.add(Mark(4.0, 140, 70))
    assert found.known
    assert found.rates(Mark(5.0, 150, 75)) == (100, 50)


def test_iterations_under_a_speed_limit_are_in_no_median():
    """They are in the present rates."""
    found, last = fed(4, 1000)
    before = found.scaling()
    for mark in marks(10, start=last.seconds, count=100):
        found.add(mark, limited=True)
    assert found.scaling() == before
    assert found.rates(mark)[0] < 100


def test_the_first_iteration_is_warm_up():
    """A slow first iteration does not show in what follows."""
    found = Throughput()
    found.reset(1, Mark(0, 0, 0))
    for mark in (Mark(100.0, 1, 1), *marks(500, start=100.0)[1:]):
        found.add(mark)
    (entry,) = found.scaling()
    assert entry.fps == pytest.approx(500, rel=0.01)


def test_the_baseline_is_the_median_at_one_environment():
    """One fast window among slow ones does not move it. It is unknown until N = 1 was measured for two seconds."""
    assert fed(8, 1000)[0].baseline is None
    assert fed(1, 1000, count=4)[0].baseline is None
    found = Throughput()
    frames, seconds = 0, 0.0
    found.reset(1, Mark(0, 0, 0))
    for fps in (100, 100, 100, 900, 100, 100, 100):
        frames, seconds = frames + 2 * fps, seconds + 2
        found.add(Mark(seconds, frames, 0))
    found.remembered = (7.0, 1.0)
    assert found.baseline == pytest.approx(100)
    assert math.isnan(found.baseline_when)


def test_a_remembered_baseline_is_used_until_there_is_another():
    """With the time at which it was measured."""
    found = Throughput()
    found.remembered = (7.0, 1.0)
    assert (found.baseline, found.measured_baseline, found.baseline_when) == (7.0, None, 1.0)


def test_every_n_tried_is_kept():
    """Restarting at another N keeps the medians of those before."""
    found, _ = fed(1, 100)
    last = Mark(50, 5000, 10)
    found.reset(4, last)
    for i in range(1, 12):
        found.add(Mark(50 + i, 5000 + 300 * i, 10 + i))
    assert [(entry.num_envs, round(entry.fps)) for entry in found.scaling()] == [(1, 100), (4, 300)]


def test_the_clock_counts_training_only():
    """Time before the first step and between stop and go is not training."""
    now = 10.0
    clock = TrainingClock(lambda: now)
    now = 20.0
    assert clock.now() == 0
    clock.start()
    now = 23.0
    clock.stop()
    now = 100.0
    assert clock.now() == 3
    clock.start()
    now = 101.0
    assert clock.now() == 4
