"""What is seen of a watched training: what its environments observe, draw and tell, now and while it stands still."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching import mirror
from pac.training.watching.vector import WatchedVectorEnv

from ...waiting import until
from .scripted import counted_by, training


def inspected(started, env):
    """Return what is known of an environment."""
    return take_snapshot(started.reader, ViewRequest(focus=env, detail=True, seat=0))


def observed(started, env):
    """Return what an environment is said to observe."""
    moment = inspected(started, env).moment
    return None if moment is None else moment.observation


def stands(started, env, expected):
    """Whether an environment is shown as it is, by what it observes and by its board."""
    seen = inspected(started, env)
    shown = [] if seen.moment is None else [seen.moment.observation, seen.focus_boards["bars"]]
    return bool(shown) and all(np.array_equal(numbers, expected) for numbers in shown)


def runs(started, steps):
    """Whether there are more steps, and what an environment observes is known."""
    return inspected(started, 1).state["steps"] > steps and observed(started, 1) is not None


def test_what_stands_still_is_shown_as_it_stands():
    """The observation and the board, also of an environment that nobody looked at before."""
    with training() as started:
        started.client.call("pause")
        until(lambda: started.see().phase is Phase.PAUSED, "paused")
        for env in (0, 2):
            started.client.call("look", focus=env, detail=True)
            until(partial(stands, started, env, started.envs._script.step_log.observations[env]), f"env {env} as it is")


@pytest.mark.thorough
def test_what_is_observed_is_inspected_while_it_runs():
    """Whether its board is drawn at that moment or not."""
    with training() as started:
        started.client.call("look", focus=1, detail=True)
        for _ in range(5):
            until(partial(runs, started, inspected(started, 1).state["steps"]), "it runs")
            assert observed(started, 1).any()


class Fading(gymnasium.Wrapper):
    """Observes what is no number at one step."""

    count = 0

    def step(self, action):
        self.count += 1
        observation, *rest = super().step(action)
        return (np.full_like(observation, np.nan) if self.count == 7 else observation, *rest)


def test_a_breakpoint_asks_for_observations_that_nobody_looks_at(monkeypatch):
    """It hits at the one step whose observation is no number, and at no later one."""
    monkeypatch.setattr(mirror, "STEPS_PER_FLUSH", 2 * mirror.MIN_SLOTS)
    envs = WatchedVectorEnv(SyncVectorEnv([lambda: gymnasium.make("CartPole-v1"), lambda: Fading(cart())]))
    envs.reset(seed=1)
    assert envs._script
    monitor = envs._script.monitor
    hits: list[tuple[int, int, str]] = []
    monitor.debugger.breakpoints.add("any: nan(obs)", 2)
    monitor.debugger.on_breakpoint = lambda text, env: hits.append((steps, env, text))
    for steps in range(1, 2 * envs._script.mirror.buffer.slots):
        envs.step(np.array([steps % 2] * 2))
    assert hits == [(7, 1, "break: env 2: nan(obs)")]
    envs.close()


class Endless(gymnasium.Env):
    """Counts its steps, none of which ends an episode; observes what is no number at step `at`."""

    action_space, observation_space = Discrete(2), Box(-np.inf, np.inf, (1,), np.float32)
    count, at = 0, 0

    def reset(self, **_):
        return np.zeros(1, np.float32), {}

    def step(self, _action):
        self.count += 1
        return np.full(1, np.nan if self.count == self.at else self.count, np.float32), 0.0, False, False, {}


def test_a_breakpoint_holds_a_script_before_it_has_the_step():
    """What it would make of that may end it. What it then decides is not known yet; a step leads to the next step."""
    env = Endless()
    with training(SyncVectorEnv([lambda: env])) as started:
        started.client.call("pause")
        until(lambda: started.see().phase is Phase.PAUSED, "paused")
        started.client.call("break", text="any: nan(obs)")
        started.client.call("look", focus=0, detail=True)
        env.at = env.count + 5
        started.client.call("resume")
        until(lambda: started.see().breakpoints["hits"].sum() > 0, "the breakpoint hits")
        until(lambda: observed(started, 0) is not None and np.isnan(observed(started, 0)).all(), "it is seen")
        moment = inspected(started, 0).moment
        assert moment is not None
        assert (env.count, started.steps, moment.next_action) == (env.at, env.at - 1, None)
        started.client.call("step", count=1)
        until(lambda: started.steps == env.at + 1, "a step")
        until(lambda: getattr(inspected(started, 0).moment, "next_action", None) is not None, "and what comes next")
        assert started.steps == env.at + 1


def cart():
    """A pole on a cart."""
    return gymnasium.make("CartPole-v1", max_episode_steps=100)


class Telling(gymnasium.Wrapper):
    """Tells how many steps its episode has, what they are worth from the third on, and other things."""

    def reset(self, **arguments):
        self.count = 0
        return super().reset(**arguments)[0], self.tell()

    def step(self, action):
        self.count += 1
        return *super().step(action)[:4], self.tell()

    def tell(self):
        later = {"worth": self.count / 2} if self.count > 2 else {}
        return {"count": self.count, "worth": 0.0, "name": "x", "at": np.zeros(2), **later}


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_numbers_of_infos_are_seen(mode):
    """At every step, at an end those of the ended episode."""
    envs = WatchedVectorEnv(SyncVectorEnv([lambda: Telling(cart())] * 2, autoreset_mode=mode))
    envs.reset(seed=1)
    assert envs._script
    assert [item.name for item in envs._script.task.info] == ["count", "worth"]
    for _ in range(60):
        envs.step(np.array([0, 1]))
    monitor, buffer = counted_by(envs), envs._script.mirror.buffer
    assert monitor.counter.counts.episodes > 4
    span = slice(1, 61)
    assert np.array_equal(buffer["count"][span], buffer["episode_length"][span])
    assert np.array_equal(buffer["worth"][span], np.where(buffer["count"][span] > 2, buffer["count"][span] / 2, 0))
    assert monitor.counter.counts.figures()["info/count"] == monitor.counter.counts.length_mean
    envs.close()
