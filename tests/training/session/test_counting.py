"""Counting steps: when slots are counted, and what is reported then."""

import random
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pac.training.config import Config
from pac.training.ranks import SingleRank
from pac.training.session.counting import StepCounter
from pac.training.session.num_envs_planner import NumEnvsPlanner
from pac.training.session.passage import RunLimits
from pac.training.session.until import Until
from pac.training.telemetry.counts import Counts
from pac.training.telemetry.step_results import StepReader
from pac.training.telemetry.throughput import WINDOW, TrainingClock
from pac.training.trainer import PHASES, Stopped, Timer
from pac.training.trainers import trainer_kind
from pac.training.units import STEPPED

from ..thread_ranks import on_ranks
from .source import TASK, N, Source

TICK = 2.0**-10  # s


@pytest.fixture
def counted():
    """What was reported after each count: slots and environments."""
    return []


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def counter(source, counted):
    """A counter of a source that has just begun, with a clock that ticks when it is read."""
    times = count(step=TICK)
    debugger: Any = SimpleNamespace(
        breakpoints=SimpleNamespace(fields=()),
        recorded=(),
        expect=lambda _steps: False,
        values=lambda _slots: None,
        observe=lambda steps: counted.append(
            (steps.span.written.start, steps.span.written.stop, steps.ended_envs.tolist())
        ),
    )
    counter = StepCounter(TASK, Timer(times.__next__), TrainingClock(times.__next__), Counts(TASK), debugger)
    counter.counts.resize(N)
    counter.begin(source)
    return counter


def test_steps_are_counted_together(counter, source, counted):
    """Nothing is counted until it is asked for, and then every slot once."""
    source.step()
    source.step(terminated=[0, 1, 0, 0])
    assert (counter.counts.steps, counter.uncounted, counted) == (0, 2, [])
    assert counter.mark().steps == counter.mark().steps == 2 * N
    assert counted == [(1, 3, [1])]
    assert counter.uncounted == 0


def test_the_last_slot_of_a_rollout_is_counted_before_it_is_overwritten(counter, source, counted):
    """The next rollout begins in slot 0, which was counted as the last one of this."""
    for _ in range(4):
        assert not counter.must_count
        source.step()
    assert counter.must_count
    counter.count()
    source.step()
    counter.count()
    assert counted == [(1, 5, []), (1, 2, [])]
    assert counter.counts.frames == 5 * N


def test_a_resumed_run_continues_its_counts(counter, source):
    """Totals and seconds are those of both sessions."""
    state = {"steps": 100, "frames": 400, "episodes": 7, "iterations": 3}
    counter.resume(state, 12.0, [])
    source.step()
    mark = counter.mark()
    assert (mark.steps, mark.frames, counter.counts.iterations) == (100 + N, 400 + N, 3)
    assert (counter.resumed.steps, counter.resumed.seconds) == (100, 12.0)


def shares(done):
    """The rates and quantiles of episodes with returns 1 to 4 and length 1."""
    return {
        "rate/done": done,
        "rate/truncated": 0.0,
        "rate/reset": done,
        **{f"return/{level}": pytest.approx(value) for level, value in (("p10", 1.3), ("p50", 2.5), ("p90", 3.7))},
        **dict.fromkeys(("length/p10", "length/p50", "length/p90"), 1.0),
    }


def test_an_iteration_has_the_figures_of_trainer_and_session(counter, source):
    """Rates are included after the first iteration, which is a warm-up."""
    counter.clock.start()
    source.step(terminated=1, episode_return=[1, 2, 3, 4])
    assert counter.end_iteration({"loss": 0.5}) == {"return_mean": 2.5, "length_mean": 1.0, "loss": 0.5, **shares(1.0)}
    source.step()
    assert counter.end_iteration({})["sps"] > 0
    assert counter.series.latest.keys() == {"return_mean", "length_mean", "fps", "sps", *shares(0.0)}


def test_the_phases_of_a_window_add_up_to_it(counter):
    """No matter how much time passes after the last phase of an iteration, or while the iteration is counted."""
    draws, timer, clock = random.Random(0), counter._timer, counter.clock
    end = counter.counts.end_iteration

    def ending():
        for _ in range(draws.choice((0, 50))):
            clock.now()
        return end()

    counter.counts.end_iteration = ending
    clock.start()
    counter.throughput.reset(N, counter.mark())
    for _ in range(300):
        for phase in PHASES:
            timer.lap(phase)
        for _ in range(draws.choice((0, 50))):
            clock.now()
        counter.end_iteration({})
        if not counter.throughput.known:
            continue
        first, last = counter.throughput.span(counter.mark())
        accounted = sum(last.phases) - sum(first.phases)
        assert 0 <= last.seconds - first.seconds - accounted <= 5 * TICK
    assert counter.mark().seconds >= WINDOW


class LateReader(StepReader):
    """Delivers what was requested before the last request, as a device does whose results are on their way."""

    def delivered(self, *, wait=False):
        last = None if wait or not self._requested else self._requested.pop()
        ready = super().delivered()
        self._requested.extend(() if last is None else [last])
        return ready


def test_results_may_be_delivered_later(counter, source, counted):
    """Nothing waits for them unless it must; each step is counted once, in order, when its results are there."""
    counter._reader = LateReader(TASK, source.buffer)
    for steps in (0, N, 2 * N):
        source.step()
        counter.count(wait=False)
        assert (counter.counts.steps, counter.uncounted) == (steps, 0)
    assert [first for first, _, _ in counted] == [1, 2]
    assert counter.mark().steps == 3 * N


def test_limits_count_the_steps_of_all_ranks():
    """Two ranks with 60 steps each have reached a limit of 100 steps, with 40 each they have not."""

    def rank(ranks):
        debugger: Any = None  # nothing is stepped
        counter = StepCounter(TASK, Timer(), TrainingClock(), Counts(TASK), debugger)
        limits, found = RunLimits(Config(steps=100), counter, NumEnvsPlanner(N, STEPPED), ranks), []
        for steps in (40, 60):
            counter.counts.steps = steps
            found.append((limits.check(), limits.used_up))
        return found

    assert on_ranks(2, rank) == [[(False, 0.8), (True, 1.0)]] * 2


def test_the_condition_of_one_rank_ends_all():
    """Only the rank that writes the run has the condition, over its metrics and the steps of all ranks."""

    def rank(ranks):
        debugger: Any = None  # nothing is stepped
        counter = StepCounter(TASK, Timer(), TrainingClock(), Counts(TASK), debugger)
        config = Config(until="fps > 5 and steps >= 100")
        until = Until.of(config, trainer_kind("ppo"), TASK) if ranks.is_writer else None
        limits, found = RunLimits(config, counter, NumEnvsPlanner(N, STEPPED), ranks, until), []
        for steps, fps in ((60, 5.0), (40, 6.0), (60, 6.0)):
            counter.counts.steps, counter.series.latest = steps, {"fps": fps * ranks.is_writer}
            found.append(limits.check())
        return found

    assert on_ranks(2, rank) == [[False, False, True]] * 2


def test_seconds_hold_to_the_step_and_leave_out_what_was_before_and_sweeps():
    """A step is taken until the limit is reached, the first one in any case; during a measurement, any step is."""
    now = [0.0]
    clock, debugger = TrainingClock(lambda: now[0]), cast("Any", None)
    counter = StepCounter(TASK, Timer(), clock, Counts(TASK), debugger)
    counter.resume({"steps": 100, "frames": 100, "episodes": 0, "iterations": 3}, 50.0, [])
    planner = NumEnvsPlanner(N, STEPPED)
    limits = RunLimits(Config(seconds=10.0, steps=200), counter, planner, SingleRank())
    clock.start()
    now[0] = 10.0
    limits.check_time()  # the first step
    assert limits.used_up == 1.0
    with pytest.raises(Stopped):
        limits.check_time()
    planner.request_sweep([1], N, 2.0)
    planner.measure(clock.now(), 0.0)
    now[0] = 30.0
    limits.check_time()
    assert (limits.reached, limits.check()) == (False, False)
    planner.request(N)
    planner.measure(clock.now(), 0.0)
    with pytest.raises(Stopped):
        limits.check_time()
    assert limits.used_up == 1.0
    limits = RunLimits(Config(seconds=40.0, steps=200), counter, planner, SingleRank())
    for seconds in (30.0, 59.75):
        now[0] = seconds
        limits.check_time()
        assert not limits.check()
    now[0] = 60.0
    assert limits.check()
    with pytest.raises(Stopped):
        limits.check_time()
    now[0] = 75.0  # the last step took long: viewers get no share above 1
    assert limits.used_up == 1.0
