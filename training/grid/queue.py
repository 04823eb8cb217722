"""Trains the runs of a grid, some at a time, each on its own cores.

Each place of the queue is a thread that trains one run after the other, and alone writes the attributes of its runs.
Others only read them, and ask for the end.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from queue import Empty, SimpleQueue

from ...backends import usable_cores
from ...envs import BadParameter, PacError
from ..config import Config
from ..device import resolve_device
from ..loading import effective_settings, task_of, trainer_of
from ..runs.folder import RunFolder, is_run
from ..runs.identity import changed_settings
from ..runs.metadata import RunFolderError
from ..runs.overview import LIVE, RunOverview, overview_of
from ..runs.removal import check_removal, remove
from ..session.control import SessionClient, SessionGone
from ..session.host import SessionFailed, SessionProcess, Starting, launch
from ..session.until import Until
from ..trainers import trainer_kind
from .plan import PlannedRun

WAITING, STARTING = "waiting", "starting"
COMPLETED, FAILED, INTERRUPTED = "completed", "failed", "interrupted"
OVER = frozenset({COMPLETED, FAILED, INTERRUPTED})
LEAST_SECONDS = 0.1


@dataclass
class GridRun:
    """A run of a grid, while the grid is trained.

    Attributes:
        member: What it trains.
        state: `waiting`, `starting`, `live`, `completed`, `failed` or `interrupted`.
        error: Why it failed.
    """

    member: PlannedRun
    state: str = WAITING
    error: str = ""
    starting: Starting = field(default_factory=Starting)
    session: SessionProcess | None = None

    @property
    def folder(self) -> Path:
        """The folder of the run, once it has begun."""
        return self.member.config.runs_dir / self.member.name

    def overview(self) -> RunOverview | None:
        """Read what is known of it on disk; None before it has begun."""
        return overview_of(RunFolder(self.folder)) if is_run(self.folder) else None

    def check(self) -> None:
        """Make sure that the run, if there is one, is this one.

        Raises:
            BadParameter: It has another task, trainer, seed or other settings; or there is something else.
        """
        if not is_run(self.folder):
            if os.path.lexists(self.folder):
                raise BadParameter(f"{self.folder} is not a run: choose another --name")
            return
        config, folder = self.member.config, RunFolder(self.folder)
        try:
            found = folder.metadata()
        except RunFolderError:  # a session was killed before it wrote them; or what it says when it is resumed
            return
        known = {
            "task": found.get("task"),
            "trainer": found.get("trainer"),
            "seed": found.get("config", {}).get("seed"),
        }
        ours = {"task": config.spec, "trainer": trainer_of(config), "seed": config.seed}
        changed = [f"{name} {ours[name]} instead of {value}" for name, value in known.items() if ours[name] != value]
        changed += changed_settings(folder, effective_settings(config), planned=True)
        if changed:
            raise BadParameter(f"{self.folder} is another run ({changed[0]}): choose another --name")

    def progress(self, found: RunOverview | None) -> float:
        """Return the share of its limits that it has used up, from 0 to 1; NaN where it has none."""
        if self.state == COMPLETED:
            return 1.0
        if found is None or not found.rows:
            return 0.0
        counts = {name: int(found.rows[-1].get(name, 0)) for name in ("steps", "frames", "episodes")}
        used = self.member.config.used_up(counts, float(found.rows[-1].get("seconds", 0.0)))
        return used if math.isnan(used) else min(1.0, used)


class GridQueue:
    """Trains runs, some at a time, in the given order. What was trained before is not trained again.

    Args:
        parallel: How many at a time; None for one per core, or one on a device.

    Attributes:
        runs: Their states.
        parallel: How many are trained at a time.

    Raises:
        BadParameter: There is a run of one of the names with other settings.
        NoSuchDevice: The device is not available.
    """

    def __init__(self, members: Sequence[PlannedRun], parallel: int | None = None) -> None:
        self.runs = [GridRun(member) for member in members]
        for run in self.runs:
            run.check()
        cores, config = usable_cores(), members[0].config
        computes = trainer_kind(trainer_of(config)).computes
        device = resolve_device(config.device) if computes else "cpu"  # an error here is one before all runs
        self.parallel = min(len(self.runs), parallel or (cores if device == "cpu" else 1))
        self._stopped = threading.Event()
        self._waiting: SimpleQueue[GridRun] = SimpleQueue()
        for run in self.runs:
            self._waiting.put(run)
        known = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        ends = [len(known) * at // self.parallel for at in range(self.parallel + 1)]
        shares = [known[first:last] for first, last in pairwise(ends)]
        own = shares if len(known) == cores and all(shares) else [[]] * self.parallel
        self._threads = [
            threading.Thread(target=self._work, args=(share, max(1, cores // self.parallel)), name=f"grid {at}")
            for at, share in enumerate(own)
        ]

    def start(self) -> None:
        """Begin to train."""
        for thread in self._threads:
            thread.start()

    @property
    def over(self) -> bool:
        """Whether no run is trained any more."""
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def stopped(self) -> bool:
        """Whether the grid was asked to end early."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Ask all runs to save and to end; at the second call, end them at once."""
        again = self.stopped
        self._stopped.set()
        for run in self.runs:
            if run.state in {STARTING, LIVE}:
                target = run.session or run.starting
                (target.kill if again else target.terminate)()

    def wait(self, seconds: float) -> bool:
        """Wait for the end for some seconds; return whether it has come."""
        for thread in self._threads:
            thread.join(seconds / len(self._threads))
        return self.over

    # -- the threads of the queue -------------------------------------------------------------------------------------

    def _work(self, cores: Sequence[int], workers: int) -> None:
        if cores:
            os.sched_setaffinity(0, cores)  # of this thread, and of the processes that it starts
        while not self._stopped.is_set():
            try:
                run = self._waiting.get_nowait()
            except Empty:
                return
            try:
                run.state = self._train(run, workers)
            except PacError as error:
                killed = self.stopped and isinstance(error, SessionFailed)
                run.error = "" if killed else str(error)
                run.state = INTERRUPTED if killed else FAILED
            except Exception as error:
                run.error, run.state = f"{type(error).__name__}: {error}", FAILED
            finally:
                run.session = None

    def _train(self, run: GridRun, workers: int) -> str:
        """Train a run to its end; return its state then."""
        run.state = STARTING
        config = self._configured(run, workers)
        if config is None:
            return COMPLETED
        run.session = session = launch(config, starting=run.starting)
        run.state = LIVE
        if self.stopped:  # meanwhile
            session.terminate()
        with suppress(SessionGone), closing(SessionClient(session.directory)) as client:
            client.call("look", count=0)  # the open connection keeps the session alive
            session.report()
        session.report()
        found = run.overview()
        return found.state if found is not None and found.state in OVER else INTERRUPTED

    def _configured(self, run: GridRun, workers: int) -> Config | None:
        """Return how to begin or to continue a run; None if it has reached its limits before."""
        config = run.member.config
        config = config.model_copy(update={"workers": config.workers or workers})
        found = run.overview()
        if found is None:
            return config
        folder = RunFolder(run.folder)
        if found.state in {COMPLETED, INTERRUPTED} and (run.progress(found) >= 1 or _fulfilled(config, found)):
            return None
        if not folder.saved:  # it was killed before its first checkpoint
            removal = check_removal(config.runs_dir, run.member.name)
            removal.run.claim()
            try:
                remove(removal.run)
            finally:
                removal.run.release()
            return config
        trained = float(found.rows[-1].get("seconds", 0.0)) if found.rows else 0.0
        left = {} if config.seconds is None else {"seconds": max(LEAST_SECONDS, config.seconds - trained)}
        here = {"name": None, "resume": str(folder.path), "num_envs": found.metadata["num_envs"]}
        return config.model_copy(update={**left, **here})


def _fulfilled(config: Config, found: RunOverview) -> bool:
    """Whether the last iteration of a run fulfils the condition of a configuration."""
    row = found.rows[-1] if found.rows else {}
    until = Until.of(config, trainer_kind(trainer_of(config)), task_of(config))
    return until is not None and until.holds(row, int(row.get("episodes", 0)))
