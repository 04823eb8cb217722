"""Gymnasium environments that go wrong on purpose, and small ones that don't."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Counter(gymnasium.Env):
    """Counts its steps and ends after `length`; the observation is the count, the seed and the last action.

    An end is a truncation if it `truncates`, or "both".
    """

    def __init__(self, length: int = 7, *, truncates: bool | str = False) -> None:
        self.observation_space = Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = Discrete(4)
        self.length, self.truncates = length, truncates
        self.count = 0
        self.key = 0

    def observe(self, action: int = -1) -> np.ndarray:
        return np.array([self.count, self.key, action], np.float32)

    def reset(self, *, seed=None, **_):
        super().reset(seed=seed)
        self.count, self.key = 0, int(self.np_random.integers(1000))
        return self.observe(), {}

    def step(self, action):
        self.count += 1
        end = self.count >= self.length
        terminated, truncated = end and self.truncates is not True, end and bool(self.truncates)
        return self.observe(action), float(action), terminated, truncated, {}


class Fragile(Counter):
    """Goes wrong in one way at step `at`, once per environment process if `flag` names a file, else always."""

    def __init__(self, how: str, at: int = 3, flag: str = "") -> None:
        super().__init__(length=1000)
        self.how, self.at, self.flag = how, at, Path(flag) if flag else None
        self.looked_at = False

    def reset(self, *, seed=None, **options):
        self.looked_at = seed == 0  # to describe it, for which it also makes a step
        return super().reset(seed=seed, **options)

    def step(self, action):
        if self.count == self.at and not self.looked_at and not (self.flag and self.flag.exists()):
            if self.flag:
                self.flag.touch()
            self.fail()
        return super().step(action)

    def fail(self) -> None:
        if self.how == "raise":
            raise ValueError("bad card")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "exit":
            os._exit(7)
        while self.how == "hang":
            signal.pause()
        sys.stderr.write("a last word\n")
        raise SystemError("unprintable")


class Touchy(Fragile):
    """Raises when it is given the action 2, is killed when it is given 3, and hangs when it is given 0."""

    def __init__(self, flag: str) -> None:
        super().__init__("", at=-1, flag=flag)

    def step(self, action):
        self.how = {0: "hang", 2: "raise", 3: "kill"}.get(int(action), "")
        if self.how and self.flag and sys.argv[0].endswith("worker.py"):
            self.flag.touch()
            self.fail()
        return super().step(action)


class Unbuildable(Counter):
    """Fails in its constructor, but only in a worker."""

    def __init__(self) -> None:
        super().__init__()
        if sys.argv[0].endswith("worker.py"):
            raise RuntimeError("no licence found")


class Late(Counter):
    """Does not finish its constructor in a worker before a file is there; if that has text, its reset fails, once."""

    def __init__(self, file: str, length: int = 10**6) -> None:
        super().__init__(length)
        self.file = Path(file)
        while sys.argv[0].endswith("worker.py") and not self.file.exists():
            time.sleep(0.01)
        self.fails = self.file.exists() and self.file.read_text() != ""

    def reset(self, *, seed=None, **_):
        if self.fails and seed != 0:  # which it is looked at with
            self.file.write_text("")
            raise ValueError("no such card")
        return super().reset(seed=seed)


class Parent(Counter):
    """Starts a program in a worker and never ends it; its number goes into the file."""

    def __init__(self, file: str) -> None:
        super().__init__()
        if sys.argv[0].endswith("worker.py"):
            Path(file).write_text(str(subprocess.Popen(["sleep", "1000"]).pid))


class Slow(Counter):
    """Does not end a step before a file is there."""

    def __init__(self, until: str) -> None:
        super().__init__()
        self.until = Path(until)

    def step(self, action):
        while sys.argv[0].endswith("worker.py") and not self.until.exists():
            time.sleep(0.01)
        return super().step(action)


class Heavy(Counter):
    """Holds the given number of MiB of private memory."""

    def __init__(self, mebibytes: int) -> None:
        super().__init__()
        self.held = np.ones(mebibytes << 20, np.uint8)


class NotANumber(Counter):
    """Gives a reward or an observation that is no number at the third step."""

    def __init__(self, what: str) -> None:
        super().__init__(length=1000)
        self.what = what

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        if self.count == 3:
            if self.what == "reward":
                reward = float("nan")
            else:
                observation[1] = np.inf
        return observation, reward, terminated, truncated, info


class Shapeshifter(Counter):
    """Promises three numbers and gives four at its second episode."""

    episodes = 0

    def reset(self, *, seed=None, **_):
        observation, info = super().reset(seed=seed)
        self.episodes += 1
        return (observation if self.episodes < 2 else np.zeros(4, np.float32)), info


class Careless(Counter):
    """Returns something of another form than an environment must, or exits."""

    def __init__(self, how: str = "four", **options):
        super().__init__(**options)
        self.how = how

    def reset(self, *, seed=None, **_):
        observation, info = super().reset(seed=seed)
        return observation if self.how == "old" else (observation, info)

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        if self.how == "exit":
            sys.exit(3)
        if self.how == "four":
            return observation, reward, terminated, info
        return observation, None if self.how == "reward" else reward, terminated, truncated, info


class Masked(Counter):
    """Publishes which actions are legal in `info`: those that are congruent to the count."""

    def mask(self) -> np.ndarray:
        return np.equal(np.arange(4) % 2, self.count % 2)

    def reset(self, *, seed=None, **_):
        observation, _ = super().reset(seed=seed)
        return observation, {"action_mask": self.mask()}

    def step(self, action):
        assert action % 2 == self.count % 2
        observation, reward, terminated, truncated, _ = super().step(action)
        return observation, reward, terminated, truncated, {"action_mask": self.mask()}


class MaskMethod(Counter):
    """Publishes which actions are legal by a method, and starts its actions at 10."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = Discrete(4, start=10)

    def action_masks(self) -> np.ndarray:
        return np.arange(4) > self.count % 3

    def step(self, action):
        assert action - 10 > self.count % 3
        return super().step(action)


class Painted(Counter):
    """Can be drawn: a picture that is red above and blue below."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__()
        self.render_mode = render_mode
        self.drawn = 0

    def render(self) -> np.ndarray:
        picture = np.zeros((400, 600, 3), np.uint8)
        picture[:200, :, 0] = 255
        picture[200:, :, 2] = 200
        return picture


HERE = 5


def not_an_environment() -> int:
    return 5


class Whimsical(Counter):
    """Its observations depend on the process that it runs in."""

    def observe(self, action: int = -1) -> np.ndarray:
        return np.array([self.count, os.getpid(), action], np.float32)


class Still:
    """Environments of any task that change nothing, so that a test writes what they show."""

    def __init__(self, *_):
        pass

    def reset(self, *_):
        pass

    def step(self, *_):
        pass

    def close(self):
        pass
