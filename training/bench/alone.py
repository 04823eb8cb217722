"""Runs a trainer, and its processes if it has any, without a session."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from ...backends.core.status import WorkerState
from ...backends.system.segment import own_directory
from ...envs import Task
from ..lone_training import LoneTraining, maker
from ..session.gate import Gate
from ..session.trainer_processes import ProcessSupervisor
from ..telemetry.events import EventLog
from ..trainer import Context, Timer
from ..trainers import build_trainer, trainer_settings, transformed_task
from .measured_process import MeasurementFailed

START_LIMIT = 120.0
"""Seconds in which all processes must have started."""
POLL = 0.05


@contextmanager
def started(
    name: str,
    task: Task,
    settings: Mapping[str, Any],
    num_envs: int,
    backend: str,
    *,
    seed: int = 0,
    device: str = "cpu",
    envs_device: str = "cpu",
    **options: Any,
) -> Iterator[tuple[Any, Timer]]:
    """Yield a trainer that has environments, and the timer of its phases.

    Args:
        name: The trainer.
        settings: Settings that differ from the defaults.
        num_envs: Number of environments N.
        backend: Name of the backend that steps them.
        seed: Seed of trainer and environments.
        device: Device of the policy.
        envs_device: Device of the environments.
        **options: Further arguments of `make`.
    """
    chosen, timer = trainer_settings(name, task, settings), Timer()
    stepped = transformed_task(name, task, chosen)
    made = maker(stepped, backend, device=envs_device, strict=True, seed=seed, **options)
    trainer = build_trainer(name, Context(stepped, chosen, device, seed, timer))
    with closing(LoneTraining(trainer, made)) as training:
        training.open(num_envs)
        yield trainer, timer


class ProcessesAlone:
    """Starts and supervises the processes of a trainer. Their gate is always open.

    Args:
        task: The task of the training.

    Attributes:
        start: Starts processes, see `pac.training.trainer.StartProcesses`.
    """

    def __init__(self, task: Task) -> None:
        self._gate = Gate(own_directory())
        self._supervisor = ProcessSupervisor(task, own_directory(), EventLog())
        self.start = self._supervisor.start

    def wait_until_ready(self) -> None:
        """Wait until all processes run, so that their imports do not count as training.

        Raises:
            ProcessFailed: A process failed.
            MeasurementFailed: They did not start within `START_LIMIT` seconds.
        """
        end = time.monotonic() + START_LIMIT
        while any(status.state == WorkerState.STARTING for status in self._supervisor.statuses()):
            self.check()
            if time.monotonic() > end:
                raise MeasurementFailed(f"the learners did not start within {START_LIMIT:.0f} s")
            time.sleep(POLL)

    def check(self) -> None:
        self._supervisor.poll()
        self._supervisor.check()

    def close(self) -> None:
        self._supervisor.close()
        self._gate.close()
        (own_directory() / "gate").unlink()
