"""Compiles a task's kernels in a process of its own, while the session loads everything else.

So workers find them on the disk and the session itself need not load the compiler.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Self

from ..envs import Task

PATIENCE = 0.1  # s between two looks
PREPARE = "import sys; from pac.envs.task import load; load(sys.argv[1])()"


class Preparation:
    """The kernels of `task`, on their way; nothing where there are none."""

    def __init__(self, task: Task) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if task.kernels:
            command = [sys.executable, "-c", PREPARE, task.kernels]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def finish(self, waiting: Callable[[], None]) -> None:
        """Return when the kernels are there; `waiting` is called now and then, and may raise to give up.

        What goes wrong here goes wrong in the workers too, which tell it better.
        """
        while self._process is not None:
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                waiting()
            else:
                return
