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


def test_it_stays_a_vec_env(envs):
    """The model takes it as one, and attributes of the environments are reached through it."""
    from stable_baselines3.common.vec_env import VecEnv

    assert isinstance(envs, VecEnv)
    assert envs.get_attr("spec")[0].id == "CartPole-v1"
    assert envs.num_envs == 2


def test_the_numbers_of_infos_are_seen():
    """Of each environment those that it tells."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    def lake(*, slips):
        return lambda: gymnasium.make("FrozenLake-v1", is_slippery=slips)

    envs: Any = watch(DummyVecEnv([lake(slips=False), lake(slips=True)]))
    envs.reset()
    envs.step(np.array([0, 0]))
    envs._script._flush()
    assert envs._script.mirror.buffer["prob"][1] == pytest.approx([1, 1 / 3])
    envs.close()


def test_the_numbers_of_an_episode_are_found_at_its_end():
    """Those that SB3's Monitor adds to the info of the environment whose episode ended."""
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    def cart(steps):
        return lambda: Monitor(gymnasium.make("CartPole-v1", max_episode_steps=steps))

    envs: Any = watch(DummyVecEnv([cart(3), cart(4)]))
    envs.reset()
    for _ in range(3):
        envs.step(np.array([0, 1]))
    envs._script._flush()
    envs._script.counter.mark()
    assert [item.name for item in envs._script.task.info] == ["episode.r", "episode.l", "episode.t"]
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
