"""Finds how many environments, workers and which backend are fastest for a task on this machine, within a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median

from ...backends import usable_cores
from ...envs import PacError
from ..config import Config
from ..limits import MAX_ENVS
from ..loading import effective_settings, num_envs_of, trainer_of
from ..session.host import SessionFailed
from .facts import Progress, Results, summary_of
from .scaling import measure

MEASURED = 2.5
"""Seconds of training per measurement; what an iteration takes longer is added by the session."""
BETTER = 1.03
"""By how much a setting must be faster to be preferred: less is noise."""
BACKENDS = ("shm", "threads", "inline")
MOST_WORKERS = 64
LEAP, LEAPS = 4, 2
"""The factor between two numbers of environments, and how many are tried in any case: the first may gain nothing."""
ROUNDS = 3
"""Measurements of the default and of the best settings, in turn."""


@dataclass
class Trial:
    """Settings and what was measured with them.

    Attributes:
        num_envs: Number of environments N.
        workers: Number of workers; None is one per core.
        settings: Settings of the trainer that differ from the training's, by `trainer.name`.
        rates: Steps per second, of each measurement.
        error: Why they cannot be used; empty if they can.
    """

    backend: str
    num_envs: int
    workers: int | None
    settings: Mapping[str, int] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def rate(self) -> float:
        """The median of the measurements; 0 without one."""
        return median(self.rates) if self.rates else 0.0

    @property
    def options(self) -> str:
        """The settings as options of the command line."""
        workers = "" if self.workers is None or self.backend == "inline" else f" --workers {self.workers}"
        settings = "".join(f" --{name} {value}" for name, value in self.settings.items())
        return f"--backend {self.backend} --num-envs {self.num_envs}{workers}{settings}"

    def alike(self, other: Trial) -> bool:
        """Whether the settings are the same."""
        return self.options == other.options


class Tuner:
    """Searches one setting after the other: the backend, the workers, N, the workers again, and the learner's speed.

    Args:
        config: The configuration of the training.
        seconds: For how long to search, about.
        progress: Called with the current measurement.
        run: Trains to a limit and returns the report, see `scaling.measure`.
        clock: Returns the time in s.
    """

    def __init__(
        self,
        config: Config,
        seconds: float,
        progress: Progress,
        *,
        run: Callable[[Config], Results] = measure,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config, self._seconds, self._progress, self._run, self._clock = config, seconds, progress, run, clock
        self._begun, self._longest = clock(), 0.0
        self._took: list[float] = []  # seconds of each measurement, that of the default first
        self._device, self._trainer, self._settings = "", trainer_of(config), effective_settings(config)
        self.trials: list[Trial] = []
        self.default = self._tried(Trial(config.backend, num_envs_of(config), config.workers))

    @property
    def _time_left(self) -> bool:
        """Whether there is time for another measurement and for the comparison at the end."""
        left = self._seconds - (self._clock() - self._begun)
        return left > self._longest + (ROUNDS - 1) * (self._longest + self._took[0])

    def _tried(self, trial: Trial) -> Trial:
        """Return a trial with a measurement; one with the same settings is not measured again."""
        known = next((one for one in self.trials if one.alike(trial)), None)
        if known is not None:
            return known
        self.trials.append(trial)
        self._measure(trial)
        return trial

    def _measure(self, trial: Trial) -> None:
        begun = self._clock()
        self._progress(trial.options, min(1.0, (begun - self._begun) / self._seconds))
        changes = {"backend": trial.backend, "num_envs": trial.num_envs, "workers": trial.workers, "seconds": MEASURED}
        settings = {name.rpartition(".")[2]: value for name, value in trial.settings.items()}
        changes["settings"] = {**self._config.settings, **settings}
        try:
            report = self._run(self._config.model_copy(update=changes))
            self._device = str(report["device"])
            trial.rates.append(float(report["sps"] or 0.0))
        except (PacError, SessionFailed) as error:
            if trial.rates or not self.trials[1:]:
                raise
            trial.error = str(error).partition("\n")[0]
        self._took.append(self._clock() - begun)
        self._longest = max(self._took)

    def search(self) -> Trial:
        """Return the best settings that were found in the time."""
        best = self.default
        for candidates in (
            self._backends,
            self._workers,
            self._counts,
            self._workers,
            self._threads,
            self._minibatches,
        ):
            best = self._best_of(best, candidates)
        if not best.alike(self.default):
            for number in range(1, ROUNDS):
                for trial in (best, self.default) if number % 2 else (self.default, best):
                    self._measure(trial)
        return best if best.rate > BETTER * self.default.rate else self.default

    def _best_of(self, best: Trial, candidates: Callable[[Trial], Iterator[Trial]]) -> Trial:
        """Return the best of some candidates, each of which follows from the best so far."""
        generator = candidates(best)
        for trial in generator:
            if not self._time_left:
                break
            # Of equally fast ones, that whose N is nearer to the user's, since N changes what is learned.
            nearer = self.default.num_envs <= trial.num_envs < best.num_envs
            if self._tried(trial).rate * (BETTER if nearer else 1 / BETTER) > best.rate:
                best = self._tried(trial)
        return best

    def _backends(self, best: Trial) -> Iterator[Trial]:
        for name in BACKENDS:
            yield replace(best, backend=name, rates=[])

    def _workers(self, best: Trial) -> Iterator[Trial]:
        """More workers than cores pay if environments wait, for a simulator or a server."""
        if best.backend == "inline":
            return
        cores = usable_cores()
        for count in dict.fromkeys((min(best.num_envs, MOST_WORKERS), 4 * cores, 2 * cores, cores, 1)):
            if count <= best.num_envs and not (best.workers is None and count == cores):
                trial = replace(best, workers=count, rates=[])
                yield trial
                if self._tried(trial).rate > BETTER * best.rate:
                    break  # fewer would be slower

    def _counts(self, best: Trial) -> Iterator[Trial]:
        """Ever more environments while that is faster, by factors of four; then twice and half the best number."""
        own = best.workers == best.num_envs  # a worker for each

        def of(count: int) -> Trial:
            return replace(best, num_envs=count, workers=min(count, MOST_WORKERS) if own else best.workers, rates=[])

        found = {best.num_envs: best.rate}
        count = best.num_envs * LEAP
        while count <= MAX_ENVS and (len(found) <= LEAPS or max(found, key=lambda one: found[one]) == count // LEAP):
            yield of(count)
            found[count] = self._tried(of(count)).rate
            count *= LEAP
        top = max(found, key=lambda one: found[one])
        for count in (2 * top, top // 2):
            if count not in found and (count > top or top >= 4):
                yield of(count)

    def _threads(self, best: Trial) -> Iterator[Trial]:
        """Threads of the learner fight with the workers for the cores, or use those that are idle."""
        known = self._settings.get("threads")
        for count in dict.fromkeys((1, usable_cores())):
            if self._device == "cpu" and known is not None and count != (known or usable_cores()):
                yield self._with(best, "threads", count)

    def _minibatches(self, best: Trial) -> Iterator[Trial]:
        """A GPU is mostly idle in gradient steps of few decisions. Larger ones change what is learned."""
        known, most = self._settings.get("minibatch"), self._settings.get("batch", 0)
        while self._device not in {"", "cpu"} and known is not None and 2 * known <= most:
            known *= 2
            trial = self._with(best, "minibatch", known)
            yield trial
            if self._tried(trial).rate <= BETTER * best.rate:
                break
            best = self._tried(trial)

    def _with(self, trial: Trial, name: str, value: int) -> Trial:
        return replace(trial, settings={**trial.settings, f"{self._trainer}.{name}": value}, rates=[])


def tune(config: Config, *, seconds: float, progress: Progress) -> Results:
    """Return the fastest settings that were found in some seconds, and everything that was measured.

    Returns:
        `default` and `best` as options with `sps` (median, min, max), their ratio `speedup`, and `trials` in the order
        of their rates.

    Raises:
        SessionFailed: The training fails with its own settings.
    """
    tuner = Tuner(config, seconds, progress)
    best = tuner.search()
    progress("done", 1.0)
    trials = sorted(tuner.trials, key=lambda trial: -trial.rate)
    return {
        "task": config.spec,
        "default": _row(tuner.default),
        "best": _row(best),
        "speedup": best.rate / tuner.default.rate if tuner.default.rate else None,
        "trials": [_row(trial) for trial in trials],
    }


def _row(trial: Trial) -> Results:
    known = {"sps": summary_of(trial.rates)} if trial.rates else {"error": trial.error}
    facts = {name: getattr(trial, name) for name in ("backend", "num_envs", "workers", "settings")}
    return {"options": trial.options, **facts, **known}
