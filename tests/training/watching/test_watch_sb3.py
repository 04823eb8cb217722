"""Stable-Baselines3, watched: its environments, its model's own figures, its time limits."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from pac.training import watch
from pac.training.runs.sessions import sessions
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: pip install pac-tui[peers]")
pytestmark = [pytest.mark.session, pytest.mark.filterwarnings("ignore")]


def carts():
    """Two poles on carts, whose episodes last 12 steps at most."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([lambda: gymnasium.make("CartPole-v1", max_episode_steps=12)] * 2)


@pytest.fixture
def envs():
    """They, watched."""
    watched = watch(carts(), name="sb3-script")
    watched.reset()
    yield watched
    watched.close()
    assert not [session for session in sessions() if session.name == "sb3-script"]


@pytest.fixture
def reader(envs):
    """A reader of what is published."""
    (found,) = [session for session in sessions() if session.name == "sb3-script"]
    return TelemetryReader(found.directory)


def test_the_numbers_of_infos_are_seen():
    """Of each environment those that it tells, and at an end those that SB3's Monitor adds."""
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

    def lake(steps, *, slips):
        return lambda: Monitor(gymnasium.make("FrozenLake-v1", is_slippery=slips, max_episode_steps=steps))

    envs: Any = watch(DummyVecEnv([lake(3, slips=False), lake(4, slips=True)]))
    assert isinstance(envs, VecEnv)
    assert (envs.num_envs, envs.get_attr("spec")[0].id) == (2, "FrozenLake-v1")
    envs.reset()
    envs.step(np.array([0, 0]))
    envs._script._flush()
    assert envs._script.mirror.buffer["prob"][1] == pytest.approx([1, 1 / 3])
    for _ in range(2):
        envs.step(np.array([0, 0]))
    envs._script._flush()
    envs._script.counter.mark()
    assert {item.name for item in envs._script.task.info} == {"prob", "episode.r", "episode.l", "episode.t"}
    assert envs._script.counter.counts.figures()["info/episode.l"] == 3
    envs.close()


def test_what_the_model_logs_is_a_curve(envs, reader):
    """SB3's logger writes to its own outputs and to the viewer."""
    model = sb3.PPO("MlpPolicy", envs, n_steps=32, batch_size=32, n_epochs=1, device="cpu", seed=1)
    model.learn(64 * 4, callback=watch.sb3_callback())
    script = envs._script
    assert script._logged["train/learning_rate"] == pytest.approx(3e-4)
    script.step_log.due = script._iteration_due = 0.0  # whatever time that took
    envs.step(np.zeros(2, np.int64))
    seen = take_snapshot(reader, ViewRequest(curves=("train/learning_rate",)))
    assert seen.metrics["train/learning_rate"] == pytest.approx(3e-4)
    assert len(seen.curves["train/learning_rate"].values) >= 1
    assert seen.state["steps"] > 0


def test_the_last_observation_of_an_episode_is_known(envs):
    """Although its environment has been reset in the same step."""
    script: Any = envs._script
    script.view.has_viewers = True
    script.view.look = ViewRequest(focus=1)
    while True:
        *_, dones, infos = envs.step(np.array([0, 1]))
        if dones[1]:
            break
    script._flush()
    buffer = script.mirror.buffer
    assert np.array_equal(buffer["final_bars"][0, 1], infos[1]["terminal_observation"])
    assert buffer["final_drawn"][0, 1] == buffer["episode"][0, 1]
