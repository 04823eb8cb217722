"""An environment that does not come back: whoever stops its training has to do without it."""

import ctypes
import subprocess
import threading
from pathlib import Path

import gymnasium
import numpy as np


class Stuck(gymnasium.Env):
    """Takes some steps; then one never returns. It has started a process, and a thread that does not end."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, pipe, where, steps=300):
        """Make it.

        Args:
            pipe: A FIFO that nobody writes to; a file of its name with the suffix `.stuck` says that it is read.
            where: What never returns: "reset", "step", "process" (a step, while a process is running), "spin" (a step
                that computes), "close" (which never lets another thread of Python run), "thread" (a thread of its own).
            steps: How many steps it takes.
        """
        self._pipe, self._steps, self._left, self._where = Path(pipe), steps, steps, where

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        probed = self._pipe.with_suffix(".probed")  # its spaces are looked at before there is a session
        if self._where == "reset" and probed.exists():
            self._read()
        probed.touch()
        return np.zeros(3, np.float32), {}

    def step(self, action):
        if self._left == self._steps and self._where == "thread":
            threading.Thread(target=self._pipe.read_bytes, daemon=False).start()
        self._left -= 1
        if self._left <= 0 and self._where == "process":
            sleeping = subprocess.Popen(["sleep", "7777"])
            self._pipe.with_suffix(".pid").write_text(str(sleeping.pid))
        if self._left <= 0 and self._where in {"step", "process"}:
            self._read()
        if self._left <= 0 and self._where == "spin":
            self._say()
            while True:
                pass
        return np.zeros(3, np.float32), float(action), self._left % 10 == 0, False, {}

    def close(self):
        if self._where == "close" and self._left < self._steps:
            ctypes.PyDLL(None).pause()

    def _read(self):
        self._say()
        self._pipe.read_bytes()

    def _say(self):
        self._pipe.with_suffix(".stuck").touch()
