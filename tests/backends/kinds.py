"""Small environments of every kind of space and of drawing, whose trajectories are their seed's and their actions'."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence, Text, Tuple

LENGTH = 5


class Small(gymnasium.Env):
    """Ends after five steps; `observe` shows a few random numbers in some form."""

    action_space: Any = Discrete(2)
    observation_space: Any = Discrete(4)
    metadata: dict[str, Any] = {}  # noqa: RUF012
    length = LENGTH
    breaks = ""
    """What it says at its third step, if anything."""

    def observe(self):
        return int(self.np_random.integers(4))

    def score(self, action) -> float:
        return float(np.sum(action))

    def reset(self, *, seed=None, **_):
        super().reset(seed=seed)
        self.count = 0
        return self.observe(), {}

    def step(self, action):
        assert action in self.action_space, action
        self.count += 1
        if self.count == 3 and self.breaks:
            raise ValueError(self.breaks)
        return self.observe(), self.score(action), self.count >= self.length, False, {}


class Arm(Small):
    """Numbers as actions, of float64 and with bounds of their own; a Dict of everything as observations."""

    action_space = Box(np.array([-1.0, 0.1]), np.array([1.0, 7.3]), dtype=np.float64)
    observation_space = Dict(
        {
            "camera": Box(0, 255, (2, 2), np.uint8),
            "grip": Discrete(3, start=-1),
            "joints": Dict({"angle": Box(-np.pi, np.pi, (2,), np.float64), "on": MultiBinary(2)}),
        }
    )

    def observe(self):
        draw = self.np_random
        joints = {"angle": draw.uniform(-3, 3, 2), "on": draw.integers(0, 2, 2, dtype=np.int8)}
        camera = draw.integers(0, 256, (2, 2), dtype=np.uint8)
        return {"camera": camera, "grip": int(draw.integers(-1, 2)), "joints": joints}


class Brittle(Arm):
    breaks = "the arm broke"


class Levers(Small):
    """Several choices, numbered from an offset, with a mask for each; a Tuple of choices as observations."""

    action_space = MultiDiscrete([3, 2], start=[5, 1])
    observation_space = Tuple((Discrete(5), MultiDiscrete([2, 3])))

    def observe(self):
        draw = self.np_random
        return int(draw.integers(5)), draw.integers([2, 3])

    def action_masks(self):
        return np.array([self.count % 3 != 2, True, self.count % 3 != 0]), np.array([True, self.count % 2 == 0])

    def step(self, action):
        first, second = self.action_masks()
        assert first[action[0] - 5]
        assert second[action[1] - 1]
        return super().step(action)


class Switches(Small):
    """On or off, three times; whole numbers too wide for a small type."""

    action_space = MultiBinary(3)
    observation_space = Box(0, 10**6, (2,), np.int64)

    def observe(self):
        return self.np_random.integers(0, 10**6, 2)


class Camera(Small):
    """A colour picture as observation, which cannot be drawn otherwise."""

    observation_space = Box(0, 255, (40, 48, 3), np.uint8)

    def observe(self):
        return np.full((40, 48, 3), self.np_random.integers(256), np.uint8)


class Screen(Small):
    """Draws itself in letters, the last one on red."""

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self):
        return f"step\n \x1b[41m{self.count}\x1b[0m!"


class Blind(Screen):
    """Could draw a picture if a package were there; text it can."""

    metadata = {"render_modes": ["human", "rgb_array", "ansi"]}  # noqa: RUF012

    def render(self):
        if self.render_mode == "rgb_array":
            raise gymnasium.error.DependencyNotInstalled("painter is not installed")
        return super().render()


class Unseen(Blind):
    """Could draw a picture if a package were there, and nothing else."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012


class Shrinking(Small):
    """Promises two numbers, and from its third step on gives one, which NumPy would spread over both."""

    observation_space = Box(-1, 1, (2,), np.float32)

    def observe(self):
        return np.zeros(1 if getattr(self, "count", 0) >= 3 else 2, np.float32)


class Outside(Small):
    """Gives a choice that its space has not."""

    def observe(self):
        return 4


class Typist(Small):
    action_space = Text(4)


class Notes(Small):
    observation_space = Dict({"book": Dict({"pages": Sequence(Discrete(4))})})


class Reader(Small):
    """Text beside a small image, which is all that can be learned from."""

    observation_space = Dict({"book": Dict({"page": Text(4), "cover": Box(0, 255, (5, 7, 3), np.uint8)})})

    def observe(self):
        return {"book": {"page": "once", "cover": np.full((5, 7, 3), self.np_random.integers(256), np.uint8)}}


class Pilot(Small):
    """Dicts and Tuples of choices as actions; a picture between numbers as observation."""

    action_space = Dict({"flaps": Tuple((Discrete(3, start=-1), MultiBinary(2))), "gear": Discrete(2)})
    observation_space = Dict(
        {"a": Box(-1, 1, (2,), np.float32), "camera": Box(0, 255, (20, 24, 3), np.uint8), "z": Discrete(3)}
    )

    def observe(self):
        draw = self.np_random
        camera = np.full((20, 24, 3), draw.integers(256), np.uint8)
        camera[0, 0] = 10, 20, 30
        return {"a": draw.uniform(-1, 1, 2).astype(np.float32), "camera": camera, "z": int(draw.integers(3))}

    def score(self, action) -> float:
        return float(action["gear"] + action["flaps"][0] + action["flaps"][1].sum())


class Crane(Small):
    """Continuous actions in a Tuple."""

    action_space = Tuple((Box(-1, 1, (2,), np.float32), Box(0, 5, (), np.float64)))

    def score(self, action) -> float:
        return float(action[0].sum() + action[1])


class Crashing(Pilot):
    breaks = "the plane crashed"


class Mixed(Small):
    action_space = Dict({"aim": Box(-1, 1, (2,), np.float32), "fire": Discrete(2)})


class Needy(Small):
    def __init__(self):
        import_module("no_such_dependency")


class Telling(Small):
    """Returns numbers and other values in its info; `speed` only at even steps."""

    def tell(self):
        info = {"lives": 3 - self.count, "far": np.bool_(self.count > 1), "reward": 9, "name": "x", "at": np.zeros(2)}
        return info if self.count % 2 else {**info, "speed": np.float32(self.count / 2)}

    def reset(self, *, seed=None, **_):
        return super().reset(seed=seed)[0], self.tell()

    def step(self, action):
        return *super().step(action)[:4], self.tell()


class TellingLater(Telling):
    """Returns numbers from `step` only, as the MuJoCo environments of Gymnasium do."""

    def reset(self, *, seed=None, **_):
        return super().reset(seed=seed)[0], {}


class Tag:
    """A parallel environment: `b` is out at the third step, `a` goes on to the fifth; what is reached is the action."""

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012
    possible_agents = ["a", "b"]  # noqa: RUF012

    def __init__(self, *, truncates=False, sizes=(3, 3), render_mode=None):
        self.truncates, self.sizes, self.render_mode = truncates, dict(zip("ab", sizes, strict=True)), render_mode
        self.agents = []

    def action_space(self, agent):
        return Discrete(self.sizes[agent])

    def observation_space(self, _agent):
        return Box(0, np.inf, (2,), np.float32)

    def observe(self):
        return {agent: np.array([self.count, self.key], np.float32) for agent in self.possible_agents}

    def masks(self):
        return {
            agent: {"action_mask": np.arange(3) >= self.count % 3, "age": self.count + place}
            for place, agent in enumerate(self.possible_agents)
        }

    def reset(self, seed=None, **_):
        self.agents, self.count = ["a", "b"], 0
        self.key = int(np.random.default_rng(seed).integers(100))
        return self.observe(), self.masks()

    def step(self, actions):
        assert actions.keys() == set(self.agents)
        self.count += 1
        out = self.count == 3
        over = self.count == LENGTH
        rewards = {agent: float(action) for agent, action in actions.items()}
        gone = {"a": over and self.truncates is not True, "b": out}
        cut = {"a": over and bool(self.truncates), "b": False}
        self.agents = [agent for agent in self.agents if not gone[agent] and not cut[agent]]
        return self.observe(), rewards, gone, cut, self.masks()

    def render(self):
        return f"{self.count}: {' '.join(self.agents)}"

    def close(self):
        pass


parallel_env = Tag


def unlike():
    """A parallel environment whose agents' actions differ."""
    return Tag(sizes=(2, 3))
