"""Stable-Baselines3, watched: its environments, its model's own figures, its time limits."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from pac.training import watch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from .scripted import session_of

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: pip install pac-tui[peers]")
pytestmark = [pytest.mark.session, pytest.mark.filterwarnings("ignore")]


def carts():
    """Two poles on carts, whose episodes last 12 steps at most."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([lambda: gymnasium.make("CartPole-v1", max_episode_steps=12)] * 2)


@pytest.fixture
def envs():
    """They, watched, after a step."""
    watched = watch(carts(), name="sb3-script")
    watched.reset()
    watched.step(np.zeros(2, np.int64))
    return watched


def test_the_numbers_of_infos_are_seen():
    """Of each environment those that it tells, and at an end those that SB3's Monitor adds."""
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    def lake(steps, *, slips):
        return lambda: Monitor(gymnasium.make("FrozenLake-v1", is_slippery=slips, max_episode_steps=steps))

    envs: Any = watch(DummyVecEnv([lake(3, slips=False), lake(4, slips=True)]))
    envs.reset()
    envs.step(np.array([0, 0]))
    session = session_of(envs)
    session.step_log.watched = True  # nobody reads infos otherwise, except at ends
    envs.step(np.array([0, 0]))
    session._flush()
    assert session.mirror.buffer["prob"][2] == pytest.approx([1, 1 / 3])
    envs.step(np.array([0, 0]))
    session._flush()
    session.counter.mark()
    assert {item.name for item in session.services.task.info} == {"prob", "episode.r", "episode.l", "episode.t"}
    assert session.counter.counts.metrics()["info/episode.l"] == 3


def test_what_the_model_logs_is_a_curve(envs):
    """SB3's logger writes to its own outputs and to the viewer."""
    model = sb3.PPO("MlpPolicy", envs, n_steps=32, batch_size=32, n_epochs=1, device="cpu", seed=1)
    model.learn(64 * 4, callback=watch.sb3_callback())
    script = session_of(envs)
    script.step_log.due = script._iteration_due = 0.0  # whatever time that took
    envs.step(np.zeros(2, np.int64))
    seen = take_snapshot(TelemetryReader(script.directory), ViewRequest(curves=("train/learning_rate",)))
    assert seen.metrics["train/learning_rate"] == pytest.approx(3e-4)
    assert len(seen.curves["train/learning_rate"].values) >= 1
    assert seen.state["steps"] > 0


def test_the_last_observation_of_an_episode_is_known(envs):
    """Although its environment has been reset in the same step."""
    script: Any = session_of(envs)
    script.view.has_viewers = script.step_log.watched = True
    script.view.look = ViewRequest(focus=1)
    while True:
        *_, dones, infos = envs.step(np.array([0, 1]))
        if dones[1]:
            break
    script._flush()
    buffer = script.mirror.buffer
    assert np.array_equal(buffer["final_bars"][0, 1], infos[1]["terminal_observation"])
    assert buffer["final_drawn"][0, 1] == buffer["episode"][0, 1]
