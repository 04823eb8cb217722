"""Compares transports: the same training with each combination of transport, N and device, in real sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import mean, median
from typing import Any

from pac.backends import BACKENDS, BackendUnavailable
from pac.envs import PacError, find
from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.scaling import training
from pac.training.config import Config
from pac.training.loading import trainer_of
from pac.training.session.host import SessionFailed, SessionProcess
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

TRAINING = Config(task="autochess", seed=0)
SAMPLE_PERIOD = 0.25  # s


@dataclass(frozen=True)
class Combination:
    """A transport with an N and a device.

    Attributes:
        transport: The backend.
        num_envs: N.
        device: Device of the policy.
        target: Steps per second that were planned; 0 if none were.
        options: Parameters of the task that differ from those of the other combinations, `name=value`.
    """

    transport: str
    num_envs: int
    device: str = "cpu"
    target: float = 0.0
    options: str = ""

    @property
    def name(self) -> str:
        """The name in tables."""
        name = f"{self.transport}, N={self.num_envs}, {self.device}"
        return f"{name}, {self.options}" if self.options else name

    def spec(self, task: str) -> str:
        """Return the spec of a task with the options."""
        return f"{task}{',' if ':' in task else ':'}{self.options}" if self.options else task


COMBINATIONS = (
    Combination("http", 1, target=670),
    Combination("socket", 1, target=1_400),
    Combination("shm", 1, target=1_600),
    Combination("shm", 32),
    Combination("threads", 32),
    Combination("device", 32),
    Combination("shm", 1, "cuda", target=7_000),
    Combination("shm", 32, "cuda", target=100_000),
    *(
        Combination("device", num_envs, "cuda", options=options)
        for num_envs in (32, 256, 1_024)
        for options in ("", "combat=device")
    ),
)
FIRST, LAST = COMBINATIONS[0], COMBINATIONS[3]
"""The slowest and the fastest combination on a CPU, whose ratio is reported."""


def matrix(
    config: Config = TRAINING,
    combinations: Sequence[Combination] = COMBINATIONS,
    *,
    steps: int = 32_768,
    repeat: int = 1,
    progress: Progress,
) -> Results:
    """Train with every combination, with the same budget and seed, alternately, `repeat` times.

    Args:
        config: The configuration of the training.
        combinations: The combinations to measure.
        steps: Environment steps per session. All have the same, so that returns are comparable.
        repeat: Number of sessions of each combination.
        progress: Called with the current measurement.

    Returns:
        `rows`, one per combination: `name`, `transport`, `num_envs`, `device`; medians of `sps`, `rollout_sps` (without
        the time of the update) and `games_per_s`; `cpu` in % of a core, session and workers together; `gpu` in % and
        `vram` in bytes, None without a GPU; peak `rss` in bytes; `return_mean` of the last episodes; the `target`. The
        ratios `rollout_ratio` and `training_ratio` of `shm` at N = 32 over `http` at N = 1, medians of the rounds, None
        where one is missing; the `network`; and the reasons of combinations that are `absent`.

    Raises:
        SessionFailed: A session failed.
    """
    absent = {combination.name: reason for combination in combinations if (reason := _reason_of_absence(combination))}
    available = [combination for combination in combinations if combination.name not in absent]
    sessions: dict[Combination, list[Results]] = {combination: [] for combination in available}
    total = repeat * len(available)
    for number in range(total):
        combination = available[number % len(available)]
        if combination.name in absent:
            continue
        progress(combination.name, number / total)
        try:
            sessions[combination].append(_session(config, combination, steps))
        except SessionFailed as error:
            if error.title != BackendUnavailable.title:
                raise
            absent[combination.name] = str(error)
    progress("done", 1.0)
    done = {combination: found for combination, found in sessions.items() if found}
    return {
        "task": config.task,
        "trainer": trainer_of(config),
        "steps": steps,
        "network": network(config),
        "rows": [_row(combination, found) for combination, found in done.items()],
        "rollout_ratio": _ratio(done, "rollout_sps"),
        "training_ratio": _ratio(done, "sps"),
        "absent": absent,
    }


def network(config: Config) -> Results:
    """Return the kind and size of PPO's network for the task. This loads PyTorch."""
    from pac.training.ppo.policy import build_network
    from pac.training.ppo.settings import PpoSettings

    task = find(config.task)
    settings = PpoSettings.for_task(task, config.settings)
    made = build_network(task, settings)
    return {
        "kind": type(made).__name__,
        "layers": settings.layers,
        "hidden": settings.hidden,
        "parameters": sum(parameter.numel() for parameter in made.parameters()),
    }


def _reason_of_absence(combination: Combination) -> str:
    """Return why a combination cannot be measured here; empty if it can."""
    if combination.transport not in BACKENDS:
        return f"there is no backend {combination.transport}"
    if combination.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            return "PyTorch finds no CUDA device here"
    return ""


def _session(config: Config, combination: Combination, steps: int) -> Results:
    """Run one session and return its results."""
    changes = {
        "task": combination.spec(config.task),
        "backend": combination.transport,
        "num_envs": combination.num_envs,
        "device": combination.device,
        "steps": steps,
        "strict": True,
    }
    with training(config.model_copy(update=changes)) as session:
        seen = list(_systems(session))
        report = session.report()
    with_gpu = [system for system in seen if system["gpus"]] if combination.device != "cpu" else []
    loads = [float(system["gpu"]) for system in with_gpu if not isnan(system["gpu"])]
    return {
        "sps": report["sps"],
        "rollout_sps": 1 / (1 / report["sps"] - report["time_ms"]["learn"] / 1000),
        "games_per_s": report["episodes"] / report["seconds"],
        "return_mean": report["return_mean"],
        "workers": report["workers"],
        "cpu": mean(system["cpu"] for system in seen) if seen else None,
        "rss": max((int(system["rss"]) for system in seen), default=None),
        "gpu": mean(loads) if loads else None,
        "vram": max((int(system["vram"]) for system in with_gpu), default=None),
    }


def _systems(session: SessionProcess) -> Iterator[Any]:
    """Yield each new sample of CPU, memory and GPU use while a session trains."""
    reader, before = None, 0.0
    while session.poll() is None:
        try:
            reader = reader or TelemetryReader(session.directory)
            snapshot = take_snapshot(reader, ViewRequest(count=0))
        except (PacError, OSError):
            snapshot = None  # the session is starting or ending
        if snapshot is not None and snapshot.phase is Phase.RUNNING and snapshot.system["pulse"] > before:
            before = float(snapshot.system["pulse"])
            yield snapshot.system
        time.sleep(SAMPLE_PERIOD)


def _row(combination: Combination, sessions: Sequence[Results]) -> Results:
    middle = {key: _median(found[key] for found in sessions) for key in sessions[0]}
    return {
        "name": combination.name,
        "transport": combination.transport,
        "num_envs": combination.num_envs,
        "device": combination.device,
        **middle,
        "sps_spread": summary_of([found["sps"] for found in sessions]),
        "target": combination.target or None,
    }


def _median(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _ratio(sessions: dict[Combination, list[Results]], key: str) -> float | None:
    if FIRST not in sessions or LAST not in sessions:
        return None
    pairs = zip(sessions[FIRST], sessions[LAST], strict=True)
    ratio: float = median(last[key] / first[key] for first, last in pairs)
    return ratio
