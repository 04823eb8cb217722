"""Alarms: what they notice, what they let pass, and that they ring once."""

import math
import os

import pytest

from pac.backends.core.layout import Layout
from pac.envs.slots import Span
from pac.training.guards.alarms import (
    COLLAPSE_ITERATIONS,
    EARLY_ITERATIONS,
    FIRST_EPISODE_SECONDS,
    MIN_EPISODE_SECONDS,
    MIN_WINDOWS,
    QUIET_ITERATIONS,
    QUIET_SECONDS,
    Alarm,
    Alarms,
    busy,
    episode_patience,
)
from pac.training.telemetry.step_results import StepReader
from pac.training.telemetry.throughput import Mark, Throughput

from ...toys import toy


class Training:
    """A training that tells its figures, a window of 2 s an iteration."""

    def __init__(self):
        self.alarms, self.throughput = Alarms(), Throughput()
        self.frames, self.seconds, self.num_envs = 0.0, 0.0, 0

    def iterate(self, count=1, fps=1000.0, num_envs=8, *, limited=False, **metrics):
        """Go through some iterations; return what was reported meanwhile."""
        before = len(self.alarms.messages)
        if num_envs != self.num_envs:
            self.num_envs = num_envs
            self.throughput.reset(num_envs, Mark(self.seconds, int(self.frames), 0))
        named = {name.replace("__", "/"): value for name, value in metrics.items()}
        for _ in range(count):
            self.seconds, self.frames = self.seconds + 2, self.frames + 2 * fps
            self.throughput.add(Mark(self.seconds, int(self.frames), 0), limited=limited)
            self.alarms.check_iteration(named, self.throughput.windows, self.seconds)
        return self.alarms.messages[before:]


@pytest.fixture
def training(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    return Training()


def results(observation=0.0, score=0.0, final=0.0, *, players=1, ended=False, dtype="float32"):
    """What is read of five steps of four rows."""
    task = toy(dtype, (3,), players=players)
    buffer = Layout(task, 4 // players, slots=9).map()
    buffer["observation"][3, 2, 1] = observation
    buffer["final_observation"][4, 3] = final
    buffer["episode_return"][2, 1] = score
    buffer["terminated"][4, 3] = ended
    reader = StepReader(task, buffer)
    reader.request(Span(slice(1, 6), slice(5)))
    (found,) = reader.delivered()
    return found


def test_an_alarm_rings_once_per_occurrence():
    """While the problem lasts it is quiet; after a while without it, it begins anew."""
    alarm = Alarm(10)
    assert alarm.begins(0, active=True)
    assert not any(alarm.begins(now, active=True) for now in range(1, 30))
    assert not alarm.begins(35, active=False)
    assert not alarm.begins(39, active=True)
    assert alarm.begins(50, active=True)


def test_numbers_that_are_none_are_found_where_they_are():
    """Observation and reward have an alarm each; the environment is marked, of several seats their one."""
    alarms, rang = Alarms(), []
    alarms.on_alarm = lambda text, env: rang.append((text, env))
    alarms.check_environments(results(observation=math.nan, score=math.nan), 1, 5.0)
    assert rang == [("alarm: env 2: reward is NaN", 1), ("alarm: env 3: observation is NaN", 2)]
    assert alarms.marked == {1, 2}
    alarms.check_environments(results(observation=math.nan, players=2), 2, 6.0)
    assert len(rang) == 2
    alarms.check_environments(results(observation=math.nan, players=2), 2, 7.0 + QUIET_SECONDS)
    assert rang[2:] == [("alarm: env 2: observation is NaN", 1)]


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ({"final": math.nan}, []),
        ({"final": math.nan, "ended": True}, ["alarm: env 4: observation is NaN"]),
        ({"observation": math.inf, "score": -math.inf}, []),
        ({"observation": 255, "dtype": "uint8"}, []),
    ],
)
def test_the_last_observation_of_an_episode_is_looked_at_too(seen, message):
    """Where one ended; elsewhere its place holds what was long ago. Infinity and whole numbers are numbers."""
    alarms = Alarms()
    alarms.check_environments(results(**seen), 1, 5.0)
    assert alarms.messages == message


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_rings(training, value):
    """Other figures may be unknown."""
    assert not training.iterate(loss__policy=1.0, explained_variance=math.nan)
    assert training.iterate(3, loss__policy=value) == [f"alarm: loss/policy is {value}"]
    assert not training.iterate(QUIET_ITERATIONS, loss__policy=1.0)
    assert training.iterate(loss__policy=value)


def test_entropy_collapses_against_its_early_level(training):
    """A tenth for ten iterations; shorter dips and a slow fall to more than that pass."""
    assert not training.iterate(EARLY_ITERATIONS, loss__entropy=2.0)
    assert not training.iterate(50, loss__entropy=0.21)
    assert not training.iterate(COLLAPSE_ITERATIONS - 1, loss__entropy=0.1)
    assert not training.iterate(loss__entropy=0.3)
    reported = training.iterate(3 * COLLAPSE_ITERATIONS, loss__entropy=0.1)
    assert reported == ["alarm: the policy's entropy has collapsed to 0.1 nats, from 2 at first"]


def test_the_entropy_of_other_trainers_is_known(training):
    """Its negative as a loss, too; one that was never above 0, as of numbers, has no level to fall from."""
    training.iterate(EARLY_ITERATIONS, train__entropy_loss=-1.5)
    assert training.iterate(COLLAPSE_ITERATIONS, train__entropy_loss=-0.01)
    other = Training()
    other.iterate(EARLY_ITERATIONS, entropy=-1.0)
    assert not other.iterate(30, entropy=-9.0)


def test_throughput_is_held_to_its_own_median(training):
    """Three windows 20 % under it ring once; two do not, nor does what is slow by wish or at another N."""
    assert not training.iterate(MIN_WINDOWS, fps=1000)
    assert not training.iterate(2, fps=700)
    assert not training.iterate(3, fps=1000)
    assert not training.iterate(10, fps=100, limited=True)
    assert not training.iterate(2 * MIN_WINDOWS, fps=900)
    assert training.iterate(4, fps=700) == ["alarm: throughput is 700/s, 22 % below the median of 900/s"]
    assert not training.iterate(20, fps=100, num_envs=2)


def test_a_noisy_machine_does_not_ring(training):
    """Where one window in five is slow anyhow, three such are nothing; much slower ones are."""
    for _ in range(MIN_WINDOWS // 5):
        assert not training.iterate(fps=700) + training.iterate(4, fps=1000)
    assert not training.iterate(3, fps=700)
    assert training.iterate(3, fps=300)


def test_a_busy_machine_is_named():
    """If more programs want to run than there are cores."""
    assert busy(7.4, 4) == "; 7 programs want to run on 4 cores"
    assert not busy(5.0, 4)


def test_alarms_are_muted_and_tuned_by_kind(training):
    """Muted ones do not ring; others tolerate as much more as is set."""
    training.alarms.limits = {"nan": 0, "entropy": 2, "episodes": 2, "throughput": 2}
    training.alarms.check_environments(results(observation=math.nan), 1, 5.0)
    assert not training.iterate(EARLY_ITERATIONS + 20, loss__policy=math.nan, loss__entropy=2.0)
    assert not training.iterate(COLLAPSE_ITERATIONS, loss__entropy=0.11)
    assert training.iterate(COLLAPSE_ITERATIONS, loss__entropy=0.09)
    assert not training.iterate(4, fps=700)
    assert training.iterate(4, fps=500)
    training.alarms.check_pace(0, 100.0, 199.0)
    assert len(training.alarms.messages) == 2
    training.alarms.check_pace(0, 100.0, 201.0)
    assert training.alarms.messages[2:] == ["alarm: no episode has ended for 201 s; the limit is 200 s"]


def test_episodes_that_end_no_more_ring():
    """After ten median ones, a minute at least; where none has ended, after ten minutes."""
    assert episode_patience(200.0, 10.0) == 200.0
    assert episode_patience(20.0, 10.0) == MIN_EPISODE_SECONDS
    assert episode_patience(math.nan, 10.0) == FIRST_EPISODE_SECONDS
    alarms = Alarms()
    for episodes, now in ((5, 100.0), (6, 250.0), (6, 449.0)):
        alarms.check_pace(episodes, 200.0, now)
    assert not alarms.messages
    for now in range(451, 700):
        alarms.check_pace(6, 200.0, now)
    assert alarms.messages == ["alarm: no episode has ended for 201 s; the limit is 200 s"]
