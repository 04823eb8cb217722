"""The numbers that are shown of a watched script, against a log that its environments write themselves."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from pac.training import watch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from .scripted import session_of

pytestmark = pytest.mark.filterwarnings("ignore")
ENVS, STEPS, RESETS = 5, 60, (9, 23, 24, 40)
LENGTHS = (4, 1, 2, 7, 3)
ENDS = ((True, False), (False, True), (True, True))  # (terminated, truncated); the third is both at once
RESET = 3  # how an episode ended that was ended by a reset
ACTIONS = np.zeros(ENVS, np.int64)


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
    """What an environment wrote: its episodes as (number, return, length, outcome), its steps, its running episode.

    Args:
        path: Its file.
        way: How it is stepped, which decides what ends an episode.
    """

    def __init__(self, path, way):
        self.episodes, self.steps, self.number, self.gained, self.length = [], 0, 0, 0.0, 0
        flags = [0.0, 0.0]
        for line in path.read_text().splitlines():
            if line == "reset":
                if self.length and way.ends_at_reset:
                    self._end(flags if way.ignores_flags else (0, 0))
                self.number += self.length > 0
                self.gained, self.length = 0.0, 0
                continue
            reward, *flags = map(float, line.split())
            self.steps, self.gained, self.length = self.steps + 1, self.gained + reward, self.length + 1
            if any(flags) and not way.ignores_flags:
                self._end(flags)

    def _end(self, flags):
        outcome = 1 if flags[0] else 2 if flags[1] else RESET
        self.episodes.append((self.number, self.gained, self.length, outcome))
        self.number, self.length = self.number + 1, 0


class Way:
    """A script that steps environments in some way; this one steps a single environment."""

    ends_at_reset, ignores_flags = True, False

    def __init__(self, makers):
        self.envs = [watch(makers[0]())]

    @property
    def watched(self):
        return self.envs[0]

    def reset(self):
        for env in self.envs:
            env.reset()

    def step(self):
        for env in self.envs:
            self.play(env)

    def play(self, env):
        if any(env.step(0)[2:4]) and not self.ignores_flags:
            env.reset()

    def close(self):
        for env in self.envs:
            env.close()


class Ignoring(Way):
    """Ends episodes itself, whatever the flags say."""

    ignores_flags = True


class Several(Way):
    """Steps one after the other."""

    def __init__(self, makers):
        self.envs = [watch(make()) for make in makers]


class Threads(Several):
    """Steps each in a thread of its own."""

    def step(self):
        with ThreadPoolExecutor(ENVS) as pool:
            list(pool.map(self.play, self.envs))


class Vector(Way):
    """A vector environment, whose resets end no episode."""

    ends_at_reset = False

    def __init__(self, kind, mode, makers):
        self.envs = [watch(kind(makers, autoreset_mode=mode))]

    def play(self, env):
        _, _, terminated, truncated, _ = self.made(env)
        over = terminated | truncated
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})

    def made(self, env):
        return env.step(ACTIONS)


class Halves(Vector):
    """Makes each step in two halves."""

    def made(self, env):
        env.step_async(ACTIONS)
        return env.step_wait()


class SB3(Vector):
    """A vector environment of Stable-Baselines3."""

    def __init__(self, makers):
        from stable_baselines3.common.vec_env import DummyVecEnv

        self.envs = [watch(DummyVecEnv(makers))]

    def play(self, env):
        self.made(env)


class SB3Halves(SB3):
    """Makes each step in two halves."""

    made = Halves.made


class Batch(gymnasium.Env):
    """Several ledgers in one object, which resets those whose episodes ended."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (ENVS, 1), np.float32)
    action_space = gymnasium.spaces.MultiDiscrete([2] * ENVS)

    def __init__(self, makers, given):
        self.ledgers, self.given = [make() for make in makers], given

    def reset(self, **_):
        return self.given(np.array([ledger.reset()[0] for ledger in self.ledgers])), {}

    def step(self, actions):
        results = [ledger.step(action) for ledger, action in zip(self.ledgers, actions, strict=True)]
        for ledger, result in zip(self.ledgers, results, strict=True):
            if result[2] or result[3]:
                ledger.reset()
        return *(self.given(np.array(part)) for part in list(zip(*results, strict=True))[:4]), {}


class Batched(SB3):
    """A single environment with arrays of rewards and flags."""

    def __init__(self, makers, given=np.asarray):
        self.envs = [watch(Batch(makers, given))]


def tensors(makers):
    """The same with tensors of PyTorch."""
    return Batched(makers, pytest.importorskip("torch").as_tensor)


def agents_of(makers):
    """Ledgers by the names of agents."""
    return {f"agent{index}": make() for index, make in enumerate(makers)}


class Agents(Way):
    """Agents that step together, until all of them are done."""

    def __init__(self, makers):
        from pettingzoo import ParallelEnv

        class Together(ParallelEnv):  # type: ignore[misc]
            metadata = MappingProxyType({"name": "together"})

            def __init__(self):
                self.ledgers = agents_of(makers)
                self.possible_agents = list(self.ledgers)

            def action_space(self, _agent):
                return Ledger.action_space

            def reset(self, **_):
                self.agents = list(self.ledgers)
                first = {agent: ledger.reset() for agent, ledger in self.ledgers.items()}
                return {agent: seen for agent, (seen, _) in first.items()}, {key: {} for key in first}

            def step(self, actions):
                results = {agent: self.ledgers[agent].step(action) for agent, action in actions.items()}
                self.agents = [agent for agent, result in results.items() if not (result[2] or result[3])]
                return tuple({agent: result[part] for agent, result in results.items()} for part in range(5))

        self.envs = [watch(Together())]

    def play(self, env):
        env.step(dict.fromkeys(env.agents, 0))
        if not env.agents:
            env.reset()


class Turns(Way):
    """Agents that take turns."""

    def __init__(self, makers):
        from pettingzoo import AECEnv

        class InTurn(AECEnv):  # type: ignore[misc]
            metadata = MappingProxyType({"name": "in_turn"})

            def __init__(self):
                self.ledgers = agents_of(makers)
                self.possible_agents = list(self.ledgers)

            def action_space(self, _agent):
                return Ledger.action_space

            def observe(self, agent):
                return self.seen[agent]

            def reset(self, **_):
                self.agents = list(self.ledgers)
                self.seen = {agent: ledger.reset()[0] for agent, ledger in self.ledgers.items()}
                self.rewards = dict.fromkeys(self.agents, 0.0)
                self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
                self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
                self.infos: dict[str, Any] = {key: {} for key in self.agents}
                self.given: dict[str, int] = {}
                self.agent_selection = self.agents[0]

            def step(self, action):
                place, mine = self.agents.index(self.agent_selection), self.agent_selection
                if action is None:
                    self.agents.remove(mine)
                else:
                    self.given[mine] = action
                    place += 1
                if self.agents:
                    turn = self.agent_selection = self.agents[place % len(self.agents)]
                    if turn in self.given:
                        self.seen[turn], self._cumulative_rewards[turn], *ends, _ = self.ledgers[turn].step(
                            self.given.pop(turn)
                        )
                        self.terminations[turn], self.truncations[turn] = ends

        self.envs = [watch(InTurn())]

    def reset(self):
        self.watched.reset()
        self.over = self.watched.last()[2:4]

    def play(self, env):
        for _ in range(len(env.agents)):
            env.step(None if any(self.over) else 0)
            if not env.agents:
                self.reset()
                return
            self.over = env.last()[2:4]


VECTORS = {
    f"{kind.__name__} {mode.value}": partial(Vector, kind, mode)
    for kind in (SyncVectorEnv, AsyncVectorEnv)
    for mode in AutoresetMode
}
WAYS: dict[str, Any] = {
    "single": Way,
    "flags are ignored": Ignoring,
    "list": Several,
    "threads": Threads,
    **VECTORS,
    "halves": partial(Halves, AsyncVectorEnv, AutoresetMode.NEXT_STEP),
    "batch": Batched,
    "tensors": tensors,
    "SB3": SB3,
    "SB3 halves": SB3Halves,
    "agents": Agents,
    "turns": Turns,
}
NEEDS = {"SB3": "stable_baselines3", "SB3 halves": "stable_baselines3", "agents": "pettingzoo", "turns": "pettingzoo"}


def compare(session, reader, logs, before):
    """Compare what is shown with logs, of which those `before` the newest step are known, too, in a batch."""
    session.step_log.every = True  # otherwise a step with a flag is held back until it is known whether a reset follows
    session._flush()
    session.step_log.every = False
    session.monitor.publish()
    seen = take_snapshot(reader, ViewRequest(episodes=True))
    assert seen.episodes is not None
    totals = {name: seen.state[name] for name in ("steps", "frames", "episodes")}
    steps, episodes = sum(log.steps for log in logs), [episode for log in logs for episode in log.episodes]
    assert totals == {"steps": steps, "frames": steps, "episodes": len(episodes)}
    assert seen.fps * seen.state["training_seconds"] == pytest.approx(steps)
    assert seen.outcomes == (0, *([end for *_, end in episodes].count(way) for way in (1, 2, RESET)))
    if episodes:
        assert seen.state["return_mean"] == pytest.approx(np.mean([gained for _, gained, _, _ in episodes]))
        assert seen.state["length_mean"] == pytest.approx(np.mean([length for _, _, length, _ in episodes]))
    names = ["episode", "ret", "length", "outcome"]
    for env, (log, row) in enumerate(zip(logs, seen.environments, strict=True)):
        listed = seen.episodes[seen.episodes["env"] == env]
        assert listed[names].tolist() == log.episodes
        assert row["episode"] == log.number
        assert not before or row["frames"] == log.steps - before[env].steps
        if log.episodes:
            assert row[["last_return", "last_length", "last_outcome"]].tolist() == log.episodes[-1][1:]
        if log.length:
            assert row[["episode_return", "episode_length"]].tolist() == (log.gained, log.length)


@pytest.mark.parametrize("stretch", [7, *(pytest.param(steps, marks=pytest.mark.thorough) for steps in (1, STEPS))])
@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_those_of_the_script(way, stretch, tmp_path):
    """Steps, frames, episodes, outcomes, returns and lengths, also of steps that only reset, after every stretch."""
    if way in NEEDS and find_spec(NEEDS[way]) is None:
        pytest.skip(f"{NEEDS[way]} is not installed")
    script: Any = WAYS[way]([partial(Ledger, tmp_path, env) for env in range(ENVS)])
    paths = sorted(tmp_path.iterdir())
    script.reset()
    for number in range(1, STEPS + 1):
        if number in RESETS:
            script.reset()
        if number % stretch == 0:
            before = [Log(path, script) for path in paths if not script.ends_at_reset]
        script.step()
        if number == 1:
            session = session_of(script.watched)
            session._iteration_due, reader = np.inf, TelemetryReader(session.directory)
        if number % stretch == 0:
            compare(session, reader, [Log(path, script) for path in paths], before)
    script.close()
