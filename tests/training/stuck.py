"""An environment that blocks forever, for tests of stopping. The watchdog of its session is less patient than usual."""

import ctypes
import subprocess
import sys
import threading
from pathlib import Path

import gymnasium
import numpy as np

from pac.training.session import evaluation, watchdog

watchdog.PERIOD, watchdog.MARGIN, watchdog.REPEAT_SECONDS, watchdog.BUSY_FACTOR = 0.05, 2.0, 0.3, 4

evaluation.IDLE_SECONDS = 2.0
EVALUATES = "pac.training.playing" in sys.orig_argv


class Stuck(gymnasium.Env):
    """Blocks forever after some steps, with a child process and a thread that do not end either."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, pipe, where, steps=300):
        """Create the environment.

        Args:
            pipe: A FIFO without a writer. A file with the suffix `.stuck` is created before it is read.
            where: What blocks: "reset", "step", "process" (a step with a running process), "spin" (a step that
                computes), "evaluation" (a step in the process that evaluates), "close" (which never releases the GIL),
                "thread" (a separate thread).
            steps: Number of steps before it blocks.
        """
        self._pipe, self._steps, self._left, self._where = Path(pipe), steps, steps, where
        self._looked_at = not self._pipe.with_suffix(".probed").exists()  # only to describe it, before the session

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        if self._where == "reset" and not self._looked_at:
            self._read()
        return np.zeros(3, np.float32), {}

    def step(self, action):
        if self._looked_at:
            return np.zeros(3, np.float32), float(action), False, False, {}
        if self._left == self._steps and self._where == "thread":
            threading.Thread(target=self._pipe.read_bytes, daemon=False).start()
        self._left -= 1
        if self._left <= 0 and self._where == "process":
            sleeping = subprocess.Popen(["sleep", "7777"])
            self._pipe.with_suffix(".pid").write_text(str(sleeping.pid))
        if self._left <= 0 and (self._where in {"step", "process"} or (self._where == "evaluation" and EVALUATES)):
            self._read()
        if self._left <= 0 and self._where == "spin":
            self._say()
            while True:
                pass
        return np.zeros(3, np.float32), float(action), self._left % 10 == 0, False, {}

    def close(self):
        self._pipe.with_suffix(".probed").touch()
        if self._where == "close" and self._left < self._steps:
            ctypes.PyDLL(None).pause()

    def _read(self):
        self._say()
        self._pipe.read_bytes()

    def _say(self):
        self._pipe.with_suffix(".stuck").touch()
