"""An environment whose constructor, drawing or end misbehaves."""

import os
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np


class Unruly(gymnasium.Env):
    """Does what `how` says, and is otherwise a plain environment.

    Args:
        how: "hangs", "dies", "prints", "reads", "leaves" (a process behind) in the constructor; "draws" (an
            exception) or "dies_drawing" if MUJOCO_GL is not `osmesa`; "draws_slowly"; "dies_stepping";
            "closes" (an exception at the end).
        path: A file that gets the number of each process that the constructor has run in, a line each.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - as Gymnasium declares it
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, how="", path="", render_mode=None):
        self._how, self._steps, self.render_mode = how, 0, render_mode
        if path:
            with Path(path).open("a") as file:
                file.write(f"{os.getpid()} {os.getppid()}\n")
        if how == "hangs":
            time.sleep(7777)
        if how == "dies":
            os.abort()
        if how in {"prints", "unruly"}:
            sys.stdout.write("{}\n")
            sys.stdout.flush()
            os.write(1, b"not json\n")
        if how == "reads":
            sys.stdin.read()
        if how in {"leaves", "unruly"}:
            sleeping = os.posix_spawnp("sleep", ["sleep", "7777"], os.environ, setsid=True)
            with Path(path).with_suffix(".pid").open("a") as file:
                file.write(f"{sleeping}\n")

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self._steps = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):  # noqa: ARG002
        if self._how == "dies_stepping":
            os.abort()
        self._steps += 1
        return np.zeros(3, np.float32), 1.0, self._steps == 10, False, {}

    def render(self):
        if self._how == "draws_slowly":
            time.sleep(0.05)
        if self._how in {"draws", "dies_drawing"} and os.environ.get("MUJOCO_GL") != "osmesa":
            if self._how == "dies_drawing":
                os.abort()
            raise RuntimeError("no display")
        return np.zeros((16, 16, 3), np.uint8)

    def close(self):
        if self._how == "closes":
            raise RuntimeError("cannot be closed")
