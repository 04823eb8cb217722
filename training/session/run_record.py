"""The run folder of a session: `run.json`, metrics and TensorBoard curves; and the report at its end."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from ..diagnosis.of_run import FOUND, FindingLines
from ..diagnosis.session_rules import RUN_NOT_WRITTEN
from ..episode_choice import EpisodeChoice
from ..json_data import jsonable
from ..machine import machine_facts
from ..past.filming import check_films
from ..past.recorder import EpisodeRecorder
from ..runs.folder import EPISODES, LAST, PLAYING, RunFolder, new_name
from ..runs.identity import OF_DEVICE, run_identity, settings_of_device
from ..runs.metrics import DISCARDED
from ..runs.tensorboard_log import TensorBoardLog
from ..telemetry.changes import CHANGED, Change
from ..telemetry.throughput import RATE_NAMES, Mark
from ..trainer import Metrics
from .evaluation import Evaluator
from .failures import FailureHandler
from .gpu import Gpu
from .services import Services
from .training_setup import TrainingSetup

TIMES = ("env", "wait", "inference", "learn", "python", "ranks")
"""The names of the training thread's phases in a report, in order."""


@cache
def _machine() -> dict[str, Any]:
    return {**machine_facts(), "gpu": ", ".join(Gpu().all()) or None}


class RunRecord:
    """Writes what happens in a session into its run folder. A session that does not learn writes nothing.

    A file that cannot be written is reported, and the training continues.

    Attributes:
        row: The metrics of the last iteration, while they are not in the metrics.
        folder: The run folder; None if nothing is written.
        identity: The task and trainer of the run, as its files name them.
        resumable: Whether `run.json` may be written: not before a run that is resumed was loaded.
        settings: The settings of the trainer, a mapping that is replaced.
        of_device: The names of those that follow from the device.
        changes: Changes of the settings, a tuple that is replaced.
        reason: Which limit ended the run; empty if none did.
        first_started: When the run was first started, in s since the epoch; None if this session is the first.
    """

    def __init__(
        self, setup: TrainingSetup, services: Services, failures: FailureHandler, evaluator: Evaluator
    ) -> None:
        self._setup, self._config, self._kind, self._ranks = setup, setup.config, setup.kind, setup.ranks
        self._counter, self._state, self._events = services.counter, services.state, services.events
        self._failures, self._evaluator, self._debugger = failures, evaluator, services.debugger
        self.identity = run_identity(setup.task, self._kind.name)
        self.row: Metrics = {}
        self.settings = setup.settings
        self.changes: tuple[Change, ...] = ()
        self.reason = ""
        self.first_started: float | None = None
        self.resumable = not self._config.resume
        self.folder = self._open_folder() if self._config.learn and self._ranks.is_writer else None
        self.of_device = settings_of_device(self.folder.metadata()) if self.folder and self._config.resume else ()
        self._name = self._ranks.from_writer(self.folder.name if self.folder else self._config.resume or "")
        self._findings = FindingLines()
        self._curves = TensorBoardLog(self.folder.entry() if self.folder else None)

    def _open_folder(self) -> RunFolder:
        config = self._config
        if config.resume:
            folder = RunFolder.find(config.runs_dir, config.resume)
            folder.claim()
            folder.entry(LAST).discard()
            return folder
        task = self._setup.task
        title = task.title if ":" in task.name else task.name  # the class, without its module
        folder = RunFolder.create(config.runs_dir, config.name or new_name(title, self._kind.name))
        folder.claim()
        folder.write_initial_metadata(
            {"id": folder.name, **self.identity, "started": time.time(), "config": self._full_config()}
        )
        atexit.register(folder.remove_if_empty)
        return folder

    def _full_config(self) -> dict[str, Any]:
        return {**self._config.model_dump(mode="json"), "settings": dict(self.settings)}

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
            "settings": self.settings,
            "live": tuple(sorted(self.live)),
            "units": self._kind.units,
            "figures": self._kind.figures,
        }

    @property
    def live(self) -> frozenset[str]:
        """The settings that viewers of this process can change."""
        return self._kind.settings_class.LIVE if self._config.learn and self._ranks.is_writer else frozenset()

    def episode_recorder(self) -> EpisodeRecorder:
        """Return a recorder that writes into the folder of the run."""
        source = self.source
        if self._config.video:
            check_films()
        return EpisodeRecorder(
            self._setup.task,
            self._config.seed,
            source.name,
            source.entry(EPISODES),
            self._events,
            ranks=self._ranks,
            choice=EpisodeChoice.parse(self._config.record) if self._config.record and self._ranks.is_writer else None,
            films=self._config.video,
        )

    def write_metadata(self, run_state: str) -> None:
        """Write `run.json`; any thread may.

        Args:
            run_state: `running`, `completed` (a limit was reached), `interrupted` or `failed`.
        """
        if self.folder is None or not self.resumable:
            return
        counts, latest, error = self._counter.counts, self._counter.series.latest, self._failures.message
        metadata = {
            "id": self.folder.name,
            **self.identity,
            "device": self._state.device,
            "num_envs": self._setup.planner.num_envs,
            "started": self.first_started or self._state.started,
            "written": time.time(),
            "version": version("pac-tui"),
            "machine": _machine(),
            "state": run_state,
            **({"error": error} if error else {}),
            **({"reason": self.reason} if self.reason else {}),
            "return_mean": counts.return_mean,
            **{figure.name: latest.get(figure.name) for figure in self._kind.figures},
            **counts.totals(),
            **self._evaluation(),
            FOUND: [finding.as_json() for finding in self._debugger.diagnosis.findings],
            **({OF_DEVICE: [*self.of_device]} if self.of_device else {}),
            **({CHANGED: [change.as_json() for change in self.changes]} if self.changes else {}),
            "config": self._full_config(),
        }
        self._try("run.json", lambda folder: folder.write_metadata(metadata))

    def write_findings(self) -> None:
        """Append to the metrics what has changed about findings."""
        findings, totals = self._debugger.diagnosis.findings, self._counter.counts.totals()
        for line in self._findings.take(findings, totals, self._counter.clock.now()):
            self._append(line)

    def _append(self, line: Mapping[str, Any]) -> None:
        self._try("metrics.jsonl", lambda folder: folder.append_metrics(line))

    def write_row(self, *, discarded: int = 0) -> None:
        """Append the metrics of the last iteration to the metrics; at the end, later than those that arrive late.

        Args:
            discarded: Environment steps since the end of the iteration, which were not learned from.
        """
        if not (row := self.row):
            return
        self.write_findings()
        line = {
            **self._counter.counts.totals(),
            "seconds": round(self._counter.clock.now(), 3),
            **dict.fromkeys(RATE_NAMES),
            **row,
            **({DISCARDED: discarded} if discarded else {}),
        }
        self._append(line)
        self._try("tensorboard", lambda _: self._curves.add(row, self._counter.counts.steps))
        self.row = {}

    def _try(self, name: str, write: Callable[[RunFolder], None]) -> None:
        if self.folder is None:
            return
        try:
            write(self.folder)
        except OSError as error:
            text = f"cannot write {self.folder.path / name}: {error.strerror}; training continues without it"
            self._failures.report(RUN_NOT_WRITTEN, text)

    def report(self, num_envs: int, workers: int, *, pauses: Sequence[float], discarded_steps: int) -> dict[str, Any]:
        """Return the run's figures, as `run --headless --json` prints them, null where unknown.

        `fps`, `sps` and `time_ms` are averages over the same `measured_seconds`, the last whole iterations at this N.
        The arguments are figures of the environments and of the checkpoints.
        """
        task, planner, counter, failures = self._setup.task, self._setup.planner, self._counter, self._failures
        throughput, mark = counter.throughput, counter.mark()
        first, last = throughput.span(mark)
        fps, sps = throughput.rates(mark)
        baseline = throughput.baseline
        speedup = fps / baseline if baseline else None
        report: dict[str, Any] = jsonable(
            {
                **{figure.name: counter.series.latest.get(figure.name) for figure in self._kind.figures},
                "task": task.spec,
                "trainer": self._kind.name,
                "backend": self._state.backend or self._config.backend,
                "device": self._state.device,
                "num_envs": num_envs,
                "ranks": self._ranks.size,
                "reason": self.reason or None,
                "seconds": mark.seconds,
                "sweep_seconds": planner.sweep_seconds(mark.seconds),
                **counter.counts.totals(),
                **self._evaluation(),
                "discarded_steps": discarded_steps,
                "fps": fps,
                "fps_per_env": fps / num_envs,
                "sps": sps,
                "measured_seconds": last.seconds - first.seconds,
                "baseline_fps": baseline,
                "speedup": speedup,
                "efficiency": 100 * speedup / num_envs if speedup else None,
                "return_mean": counter.counts.return_mean,
                "outcomes": {
                    outcome.name: int(count)
                    for outcome, count in zip(task.outcomes, counter.counts.outcomes[1:], strict=True)
                },
                "metrics": counter.series.latest,
                "time_ms": _times(first, last),
                "scaling": [vars(entry) for entry in throughput.scaling()],
                "workers": workers,
                "worker_restarts": failures.worker_restarts,
                "restarts": planner.restarts,
                "checkpoint_pauses_ms": [1000 * pause for pause in pauses],
                "events": list(self._events.reported),
                "alarms": self._debugger.diagnosis.alarms,
                "findings": [finding.as_json() for finding in self._debugger.diagnosis.findings],
                CHANGED: [change.as_json() for change in self.changes],
                "run": str(self.folder.path) if self.folder else None,
                "version": version("pac-tui"),
            }
        )
        return report

    def _evaluation(self) -> dict[str, Any]:
        return {"evaluation": results} if (results := self._evaluator.results) else {}

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


def _times(first: Mark, last: Mark) -> dict[str, float]:
    """Return the time of each phase between two marks, in ms per environment step; the sum is 1000 / sps."""
    steps = max(1, last.steps - first.steps)
    spent = [1000 * (end - begin) / steps for begin, end in zip(first.phases, last.phases, strict=True)]
    other = 1000 * (last.seconds - first.seconds) / steps - sum(spent)
    return dict(zip(TIMES, spent, strict=True)) | {"other": max(0.0, other)}
