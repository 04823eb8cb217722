"""The numbers that are shown of a watched script, against a log that its environments write themselves."""

from functools import partial
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from pac.training import watch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching.hooked_envs import env_methods, vec_env_methods, vector_env_methods
from pac.training.watching.interception import adopt

pytestmark = pytest.mark.filterwarnings("ignore")
ENVS, STEPS, RESETS = 5, 60, (9, 23, 24, 40)
LENGTHS = (4, 1, 2, 7, 3)
ENDS = ((True, False), (False, True), (True, True))  # (terminated, truncated); the third is both at once


class Ledger(gymnasium.Env):
    """Writes a line into a file for each reset and each step."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, folder, env=0):
        self.path, self.env, self.begun, self.age = folder / str(env), env, 0, 0
        self.path.touch()

    def reset(self, **_):
        self.begun, self.age = self.begun + 1, 0
        return self._written("reset"), {}

    def step(self, _action):
        self.age += 1
        number = self.env + self.begun
        ends = ENDS[number % 3] if self.age == LENGTHS[number % 5] else (False, False)
        reward = (1 + self.env) / 4 + self.age % 3
        return self._written(reward, *map(int, ends)), reward, *ends, {}

    def _written(self, *words):
        with self.path.open("a") as file:
            print(*words, file=file)
        return np.array([self.age], np.float32)


class Log:
    """What an environment wrote: its episodes as (number, return, length, end), its steps, its running episode."""

    def __init__(self, path):
        self.episodes, self.steps, self.number, self.gained, self.length = [], 0, 0, 0.0, 0
        for line in path.read_text().splitlines():
            if line == "reset":
                self.number += self.length > 0
                self.gained, self.length = 0.0, 0
                continue
            reward, terminated, truncated = map(float, line.split())
            self.steps, self.gained, self.length = self.steps + 1, self.gained + reward, self.length + 1
            if terminated or truncated:
                self.episodes.append((self.number, self.gained, self.length, 1 if terminated else 2))
                self.number, self.length = self.number + 1, 0


def sb3(makers):
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv(makers)


VECTORS = {
    f"{kind.__name__} {mode.value}": (partial(kind, autoreset_mode=mode), vector_env_methods)
    for kind in (SyncVectorEnv, AsyncVectorEnv)
    for mode in AutoresetMode
}
WAYS = {"single": (lambda makers: makers[0](), env_methods), **VECTORS, "SB3": (sb3, vec_env_methods)}
NEEDS_SB3 = pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="Stable-Baselines3 is not installed")


def step(envs):
    """Make a step, as the interface of the environments wants it."""
    if isinstance(envs, VectorEnv):
        _, _, terminated, truncated, _ = envs.step(np.zeros(ENVS, np.int64))
        over = terminated | truncated
        if envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
    elif isinstance(envs, Ledger):
        if any(envs.step(0)[2:4]):
            envs.reset()
    else:
        envs.step(np.zeros(ENVS, np.int64))


def compare(script, reader, logs, before):
    """Compare what is shown with logs, of which those `before` the newest step are known, too."""
    script._flush()
    script.monitor.publish()
    seen = take_snapshot(reader, ViewRequest(episodes=True))
    assert seen.episodes is not None
    totals = {name: seen.state[name] for name in ("steps", "frames", "episodes")}
    steps, episodes = sum(log.steps for log in logs), [episode for log in logs for episode in log.episodes]
    assert totals == {"steps": steps, "frames": steps, "episodes": len(episodes)}
    assert seen.fps * seen.state["training_seconds"] == pytest.approx(steps)
    assert seen.outcomes == (0, *([end for *_, end in episodes].count(way) for way in (1, 2)))
    if episodes:
        assert seen.state["return_mean"] == pytest.approx(np.mean([gained for _, gained, _, _ in episodes]))
        assert seen.state["length_mean"] == pytest.approx(np.mean([length for _, _, length, _ in episodes]))
    names = ["episode", "ret", "length", "end"]
    for env, (log, earlier, row) in enumerate(zip(logs, before, seen.environments, strict=True)):
        listed = seen.episodes[seen.episodes["env"] == env]
        assert listed[names].tolist() == log.episodes
        assert listed["outcome"].tolist() == listed["end"].tolist()
        assert (row["episode"], row["frames"]) == (log.number, log.steps - earlier.steps)
        if log.episodes:
            assert row[["last_return", "last_length", "last_outcome"]].tolist() == log.episodes[-1][1:]
        if log.length:
            assert row[["episode_return", "episode_length"]].tolist() == (log.gained, log.length)


@pytest.mark.parametrize("stretch", [7, *(pytest.param(steps, marks=pytest.mark.thorough) for steps in (1, STEPS))])
@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("way", [pytest.param(name, marks=NEEDS_SB3 if name == "SB3" else ()) for name in WAYS])
def test_numbers_are_those_of_the_script(way, hooked, stretch, tmp_path):
    """Steps, frames, episodes, outcomes, returns and lengths, also of steps that only reset, after every stretch."""
    make, methods = WAYS[way]
    envs: Any = make([partial(Ledger, tmp_path, env) for env in range(ENVS)])
    if hooked:  # as `pac-tui watch` does, without a line in the script
        adopt(envs, methods)
    else:
        envs = watch(envs)
    paths = sorted(tmp_path.iterdir())
    envs.reset()
    for number in range(1, STEPS + 1):
        if number in RESETS:
            envs.reset()
        if number % stretch == 0:
            before = [Log(path) for path in paths]
        step(envs)
        if number == 1:
            script = (getattr(envs, "_pac_watch", None) or envs._watch).script
            script._iteration_due, reader = np.inf, TelemetryReader(script.directory)
        if number % stretch == 0:
            compare(script, reader, [Log(path) for path in paths], before)
    envs.close()
