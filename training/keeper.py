"""Keeps a run on disk: its folder, its card, its metrics and its checkpoints."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from ..envs import BadParameter, PacError, Task
from .checkpoint import load_newest, save
from .config import Config
from .events import EventLog
from .monitor import Monitor
from .records import Level
from .runs import RunFolder, new_name
from .sessions import refuse_live
from .trainer import Trainer


class Keeper:
    """Writes a session's run; one that only plays keeps nothing.

    What cannot be written is an event, never the end of the training.

    Attributes:
        folder: The run's folder, or None if nothing is kept.
    """

    def __init__(
        self, config: Config, task: Task, settings: Mapping[str, Any], monitor: Monitor, events: EventLog
    ) -> None:
        self._config, self._task, self._settings = config, task, settings
        self._monitor, self._events = monitor, events
        self.folder = self._open()

    def _open(self) -> RunFolder | None:
        config = self._config
        if not config.learn:
            return None
        if config.resume:
            folder = RunFolder.find(config.runs_dir, config.resume)
            refuse_live(folder)
            shutil.rmtree(folder.last, ignore_errors=True)
            return folder
        return RunFolder.create(config.runs_dir, config.name or new_name(self._task.name, config.trainer))

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name if self.folder else f"{self._config.resume} (playing)"

    def write_card(self, state: str, *, device: str, num_envs: int, started: float) -> None:
        """Write `run.json`.

        Args:
            state: `running`, `ended` or `failed`.
            device: Where the policy runs.
            num_envs: Number of environments N.
            started: When, in s since the epoch.
        """
        if self.folder is None:
            return
        card = {
            "task": self._task.spec,
            "trainer": self._config.trainer,
            "device": device,
            "num_envs": num_envs,
            "started": started,
            "written": time.time(),
            "version": version("pac-tui"),
            "state": state,
            "return_mean": self._monitor.return_mean,
            **self._monitor.counters(),
            "config": {**self._config.model_dump(mode="json"), "settings": dict(self._settings)},
        }
        self._try("run.json", lambda folder: folder.write_card(card))

    def record(self, row: Mapping[str, float]) -> None:
        """Append an iteration's figures to the run's metrics."""
        figures = {**self._monitor.counters(), "seconds": round(self._monitor.clock.now(), 3), **row}
        self._try("metrics.jsonl", lambda folder: folder.append_metrics(figures))

    def _try(self, what: str, write: Callable[[RunFolder], None]) -> None:
        if self.folder is None:
            return
        try:
            write(self.folder)
        except OSError as error:
            self._events.add(
                Level.ERROR, f"cannot write {self.folder.path / what}: {error.strerror}; training goes on without it"
            )

    def checkpoint(self, trainer: Trainer, num_envs: int) -> None:
        """Save what was learned."""
        if self.folder is None:
            return
        tensors, data = trainer.state()
        facts = {
            "task": self._task.spec,
            "trainer": self._config.trainer,
            "num_envs": num_envs,
            "seed": self._config.seed,
            "counters": self._monitor.counters(),
            "data": data,
        }
        try:
            save(self.folder.checkpoints, self._monitor.steps, tensors, facts)
        except (OSError, PacError) as error:
            self._events.add(Level.ERROR, f"no checkpoint was saved: {error}")
        else:
            self._events.add(Level.GOOD, f"checkpoint at {self._monitor.steps:,} steps")

    def resume(self, trainer: Trainer) -> None:
        """Load the newest checkpoint that verifies, if a run is to be resumed.

        Raises:
            BadParameter: The run is of another task or trainer.
            NoCheckpoint: None verifies.
        """
        if not self._config.resume:
            return
        folder = RunFolder.find(self._config.runs_dir, self._config.resume)
        loaded = load_newest(folder.checkpoints)
        for sentence in loaded.skipped:
            self._events.add(Level.WARNING, sentence)
        facts = loaded.data
        if (facts["trainer"], facts["task"]) != (self._config.trainer, self._task.spec):
            raise BadParameter(
                f"{folder.name} trains {facts['task']} with {facts['trainer']}, and {self._task.spec} with "
                f"{self._config.trainer} is asked for: leave --task and --trainer out, or start a new run"
            )
        trainer.load_state(loaded.tensors, facts["data"])
        if self._config.learn:
            self._monitor.count_on(facts["counters"])
        steps = facts["counters"]["steps"]
        self._events.add(Level.GOOD, f"resumed {folder.name} at {steps:,} steps; episodes begin anew")
