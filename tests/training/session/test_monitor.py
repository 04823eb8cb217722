"""What the monitor makes of an iteration."""

import random
from itertools import count

import pytest

from pac.training.session.gate import Gate
from pac.training.session.monitor import Monitor
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.tables import write_throughput
from pac.training.telemetry.throughput import WINDOW, TrainingClock
from pac.training.trainer import PHASES, Timer

from ..telemetry.test_blocks import TASK, write

TICK = 2.0**-10  # s


def test_the_phases_of_a_window_fill_it_and_no_more(tmp_path):
    """However long something takes after the last phase of an iteration, and a look at the clock."""
    times, draws = count(step=TICK), random.Random(0)
    timer, clock = Timer(times.__next__), TrainingClock(times.__next__)
    writer = write(tmp_path)
    monitor = Monitor(TASK, Gate(tmp_path, waiting=lambda: None), timer, clock)
    monitor.attach(writer, 4)
    reader = TelemetryReader(tmp_path)
    clock.go()
    monitor.throughput.begin(4, monitor.mark())
    for _ in range(300):
        for phase in PHASES:
            timer.lap(phase)
        for _ in range(draws.choice((0, 50))):
            next(times)
        monitor.end_iteration({})
        write_throughput(writer, monitor.throughput, monitor.mark())
        found = reader.read("times")
        first, last = monitor.throughput.span(monitor.mark())
        assert found["wall"] == pytest.approx(last.seconds - first.seconds, abs=5 * TICK)
        assert 0 <= found["wall"] - sum(found[phase] for phase in PHASES) <= 5 * TICK
    assert found["wall"] >= WINDOW
