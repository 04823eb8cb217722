"""Starts a session's workers, which compile or load the task's kernels while the session loads everything else.

So the session itself does not load the compiler, and the environments are ready soon after the policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from ...backends import usable_cores
from ...backends.workers.spares import SpareWorkers
from ...envs import Task
from ..config import Config

POLL_INTERVAL = 0.1  # s
WITHOUT_WORKERS = {"inline", "threads"}


class KernelWarmup:
    """Loads the kernels of a task in as many workers as will step; does nothing for a task without kernels.

    At the end of the `with` block, workers that were not used are stopped.
    """

    def __init__(self, task: Task, config: Config, num_envs: int) -> None:
        in_process = config.backend in WITHOUT_WORKERS
        count = 1 if in_process else min(config.workers or usable_cores(), num_envs)
        self._reserve = SpareWorkers(task.kernels, count) if task.kernels else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reserve is not None:
            self._reserve.close()

    def wait(self, waiting: Callable[[], None]) -> None:
        """Wait until the kernels are loaded. `waiting` is called meanwhile and may raise an error to stop waiting.

        Errors are ignored here: they occur again in the workers, which report them.
        """
        while self._reserve is not None and not self._reserve.loaded(POLL_INTERVAL):
            waiting()
