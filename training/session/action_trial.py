"""Finds out whether actions matter, in a process of its own, once a training does not learn."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import suppress

from ...backends.workers.worker import instructions_with
from ...envs import apart
from ..diagnosis.evidence import Evidence
from ..trying import Tried, can_try
from .training_setup import TrainingSetup


class ActionTrial:
    """Starts `pac.training.trying` at most once, if returns are no better than at first and states can be saved.

    An agent whose returns have become better has shown that its actions matter, so nothing is tried then.
    """

    def __init__(self, setup: TrainingSetup, evidence: Evidence) -> None:
        self._setup, self._evidence = setup, evidence
        self._process: subprocess.Popen[str] | None = None
        self._wanted = setup.config.learn and can_try(setup.task) and setup.ranks.is_writer

    def end_iteration(self) -> None:
        """Start the process if it is time."""
        if not self._wanted or not self._evidence.stuck:
            return
        self._wanted = False
        with suppress(OSError):  # without memory for a process, nothing is known
            self._process = apart.start(
                "pac.training.trying",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert self._process.stdin is not None
            self._process.stdin.write(instructions_with(task=self._setup.task.spec, seed=self._setup.config.seed))
            self._process.stdin.flush()
            threading.Thread(target=self._read, args=(self._process,), name="actions", daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Note the answer; a process that fails has none."""
        assert process.stdout is not None
        with process.stdout, suppress(ValueError, TypeError):
            self._evidence.tried = Tried(*json.loads(process.stdout.readline()))
        process.wait()

    def close(self) -> None:
        """End the process."""
        self._wanted, process = False, self._process
        if process is not None:
            apart.kill(process)
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            self._process = None
