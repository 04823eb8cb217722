"""The run folder of a session: `run.json`, metrics and TensorBoard curves."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from ..episode_choice import EpisodeChoice
from ..guards.alarms import QUIET_SECONDS, Alarm
from ..past.recorder import EpisodeRecorder
from ..runs.folder import EPISODES, LAST, PLAYING, RunFolder, new_name
from ..runs.identity import run_identity
from ..runs.metrics import DISCARDED
from ..runs.tensorboard_log import TensorBoardLog
from ..telemetry.throughput import RATE_NAMES
from .configured_session import ConfiguredSession


class RunRecord:
    """Writes what happens in a session into its run folder. A session that does not learn writes nothing.

    A file that cannot be written is reported, and the training continues.

    Args:
        session: Whose run it is.

    Attributes:
        folder: The run folder; None if nothing is written.
        identity: The task and trainer of the run, as its files name them.
        resumable: Whether `run.json` may be written: not before a run that is resumed was loaded.
        first_started: When the run was first started, in s since the epoch; None if this session is the first.
    """

    def __init__(self, session: ConfiguredSession) -> None:
        self._session, self._config, self._kind, self._counter = session, session.config, session.kind, session.counter
        self.identity = run_identity(session.task, self._kind.name)
        self.first_started: float | None = None
        self.resumable = not self._config.resume
        self._unwritten = Alarm(QUIET_SECONDS)
        self._ranks = session.ranks
        self.folder = self._open_folder() if self._config.learn and self._ranks.is_writer else None
        self._name = self._ranks.from_writer(self.folder.name if self.folder else self._config.resume or "")
        self._curves = TensorBoardLog(self.folder.entry() if self.folder else None)

    def _open_folder(self) -> RunFolder:
        config = self._config
        if config.resume:
            folder = RunFolder.find(config.runs_dir, config.resume)
            folder.claim()
            folder.entry(LAST).discard()
            return folder
        task = self._session.task
        title = task.title if ":" in task.name else task.name  # the class, without its module
        folder = RunFolder.create(config.runs_dir, config.name or new_name(title, self._kind.name))
        folder.claim()
        folder.write_initial_metadata(
            {"id": folder.name, **self.identity, "started": time.time(), "config": self._full_config()}
        )
        atexit.register(folder.remove_if_empty)
        return folder

    def _full_config(self) -> dict[str, Any]:
        return {**self._config.model_dump(mode="json"), "settings": dict(self._session.settings)}

    @property
    def source(self) -> RunFolder:
        """The folder of this run; without learning, that of the run whose policy plays."""
        return self.folder or RunFolder.find(self._config.runs_dir, self._name)

    @property
    def _shown_name(self) -> str:
        """The run's name as viewers see it."""
        if not self._ranks.is_writer:
            return f"{self.source.name}.rank{self._ranks.rank}"
        return self.source.name if self.folder else f"{self.source.name}{PLAYING}"

    def facts(self) -> dict[str, Any]:
        """Return what the telemetry says about the run."""
        return {
            "run": self._shown_name,
            "folder": str(self.folder.path.resolve()) if self.folder else "",
            "trainer": self._kind.name,
            "seed": self._config.seed,
            "settings": self._session.settings,
            "units": self._kind.units,
            "figures": self._kind.figures,
        }

    def episode_recorder(self) -> EpisodeRecorder:
        """Return a recorder that writes into the folder of the run."""
        session, source = self._session, self.source
        return EpisodeRecorder(
            session.task,
            self._config.seed,
            source.name,
            source.entry(EPISODES),
            session.events,
            ranks=session.ranks,
            choice=EpisodeChoice.parse(self._config.record) if self._config.record and self._ranks.is_writer else None,
        )

    def write_metadata(self, run_state: str) -> None:
        """Write `run.json`; any thread may.

        Args:
            run_state: `running`, `completed` (a limit was reached), `interrupted` or `failed`.
        """
        if self.folder is None or not self.resumable:
            return
        session, counts, latest = self._session, self._counter.counts, self._counter.series.latest
        error = session.failures.message
        metadata = {
            "id": self.folder.name,
            **self.identity,
            "device": session.state.device,
            "num_envs": session.planner.num_envs,
            "started": self.first_started or session.state.started,
            "written": time.time(),
            "version": version("pac-tui"),
            "state": run_state,
            **({"error": error} if error else {}),
            "return_mean": counts.return_mean,
            **{figure.name: latest.get(figure.name) for figure in self._kind.figures},
            **counts.totals(),
            **({"evaluation": evaluation} if (evaluation := session.evaluator.results) else {}),
            "config": self._full_config(),
        }
        self._try("run.json", lambda folder: folder.write_metadata(metadata))

    def write_metrics(self, row: Mapping[str, float], *, discarded: int = 0) -> None:
        """Append an iteration's figures to the metrics.

        Args:
            row: The figures.
            discarded: Environment steps since the end of the iteration, which were not learned from.
        """
        figures = {
            **self._counter.counts.totals(),
            "seconds": round(self._counter.clock.now(), 3),
            **dict.fromkeys(RATE_NAMES),
            **row,
            **({DISCARDED: discarded} if discarded else {}),
        }
        self._try("metrics.jsonl", lambda folder: folder.append_metrics(figures))
        self._try("tensorboard", lambda _: self._curves.add(row, self._counter.counts.steps))

    def _try(self, name: str, write: Callable[[RunFolder], None]) -> None:
        if self.folder is None:
            return
        try:
            write(self.folder)
        except OSError as error:
            if self._unwritten.begins(self._counter.clock.now(), active=True):
                text = f"cannot write {self.folder.path / name}: {error.strerror}; training continues without it"
                self._session.failures.raise_alarm(text)

    def close(self) -> None:
        """Close the TensorBoard files."""
        self._try("tensorboard", lambda _: self._curves.close())

    def release(self) -> None:
        """Let other processes continue the run."""
        if self.folder is not None:
            self.folder.release()

    def remove(self) -> None:
        """Remove the folder of a new run."""
        if self.folder is not None and not self._config.resume:
            self.folder.remove()
            self.folder.release()
            self.folder = None
