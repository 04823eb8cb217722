"""The ladder of transports, rung by rung: the same training over each, a real session every time, in turn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import mean, median
from typing import Any

from ...backends import BACKENDS, BackendUnavailable
from ...envs import PacError, find
from ..config import Config
from ..loading import trainer_of
from ..session.host import SessionFailed, SessionProcess
from ..telemetry.blocks import TelemetryReader
from ..telemetry.records import Phase
from ..telemetry.snapshot import ViewRequest, take_snapshot
from .facts import Figures, Progress, summed_up
from .scaling import training

STEPS = 32_768
LOOK_PERIOD = 0.25  # s


@dataclass(frozen=True)
class Rung:
    """A way to train.

    Attributes:
        transport: The backend.
        num_envs: N.
        device: Where the policy runs.
        target: Steps per second that the plan for this ladder hoped for; 0 where it named none.
    """

    transport: str
    num_envs: int
    device: str = "cpu"
    target: float = 0.0

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.transport}, N={self.num_envs}, {self.device}"


LADDER = (
    Rung("http", 1, target=670),
    Rung("socket", 1, target=1_400),
    Rung("shm", 1, target=1_600),
    Rung("shm", 32),
    Rung("threads", 32),
    Rung("shm", 1, "cuda", target=7_000),
    Rung("shm", 32, "cuda", target=100_000),
)
FIRST, LAST = LADDER[0], LADDER[3]
"""Their ratio is what the ladder is worth on a CPU."""


def matrix(
    config: Config,
    ladder: Sequence[Rung] = LADDER,
    *,
    steps: int = STEPS,
    repeat: int = 3,
    progress: Progress = lambda _what, _share: None,
) -> Figures:
    """Train on every rung by the same budget and seed, in turn, `repeat` times over.

    Args:
        config: What to train.
        ladder: The rungs.
        steps: The budget of environment steps; the quality is comparable because all have the same.
        repeat: Number of sessions of each rung.
        progress: Told what is being measured.

    Returns:
        `rows`, one per rung: `transport`, `num_envs`, `device`; medians `sps`, `rollout_sps` (without the time that
        learning took) and `games_per_s`; `cpu` in % of a core, session and workers together; `gpu` in % and `vram` in
        bytes, None without one; peak `rss` in bytes; `return_mean` of the last episodes; the `target`. The ratios
        `rollout_ratio` and `training_ratio` of `shm` at N = 32 over `http` at N = 1, medians of the rounds, None where
        one is missing; the `network`; and why a rung is `absent`.

    Raises:
        SessionFailed: A session failed.
    """
    absent: dict[str, str] = {}
    rungs = [rung for rung in ladder if not _missing(rung, absent)]
    sessions: dict[Rung, list[Figures]] = {rung: [] for rung in rungs}
    total = repeat * len(rungs)
    for number in range(total):
        rung = rungs[number % len(rungs)]
        if rung.name in absent:
            continue
        progress(rung.name, number / total)
        try:
            sessions[rung].append(_session(config, rung, steps))
        except SessionFailed as error:
            if error.title != BackendUnavailable.title:
                raise
            absent[rung.name] = str(error)
    progress("done", 1.0)
    done = {rung: found for rung, found in sessions.items() if found}
    return {
        "task": config.task,
        "trainer": trainer_of(config),
        "steps": steps,
        "network": network(config),
        "rows": [_row(rung, found) for rung, found in done.items()],
        "rollout_ratio": _ratio(done, "rollout_sps"),
        "training_ratio": _ratio(done, "sps"),
        "absent": absent,
    }


def network(config: Config) -> Figures:
    """Return the kind and the number of parameters of the network that a trainer gives to the task; loads PyTorch."""
    from ..ppo.networks import build_network
    from ..ppo.settings import PpoSettings

    task = find(config.task)
    settings = PpoSettings.for_task(task, config.settings)
    made = build_network(task, settings)
    return {
        "kind": type(made).__name__,
        "layers": settings.layers,
        "hidden": settings.hidden,
        "parameters": sum(parameter.numel() for parameter in made.parameters()),
    }


def _missing(rung: Rung, absent: dict[str, str]) -> bool:
    if rung.transport not in BACKENDS:
        absent[rung.name] = f"there is no backend {rung.transport}"
    elif rung.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            absent[rung.name] = "PyTorch finds no CUDA device here"
    return rung.name in absent


def _session(config: Config, rung: Rung, steps: int) -> Figures:
    """Run one session and return its figures."""
    told = {"backend": rung.transport, "num_envs": rung.num_envs, "device": rung.device, "steps": steps, "strict": True}
    with training(config.model_copy(update=told)) as session:
        seen = list(_systems(session))
        report = session.report()
    with_gpu = [system for system in seen if system["gpus"]] if rung.device != "cpu" else []
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
    """Yield the figures of the system, once each, while a session trains."""
    reader, before = None, 0.0
    while session.poll() is None:
        try:
            reader = reader or TelemetryReader(session.directory)
            snapshot = take_snapshot(reader, ViewRequest(count=0))
        except (PacError, OSError):
            snapshot = None  # it is about to begin, or to end
        if snapshot is not None and snapshot.phase is Phase.RUNNING and snapshot.system["pulse"] > before:
            before = float(snapshot.system["pulse"])
            yield snapshot.system
        time.sleep(LOOK_PERIOD)


def _row(rung: Rung, sessions: Sequence[Figures]) -> Figures:
    middle = {key: _median(found[key] for found in sessions) for key in sessions[0]}
    return {
        "transport": rung.transport,
        "num_envs": rung.num_envs,
        "device": rung.device,
        **middle,
        "sps_spread": summed_up([found["sps"] for found in sessions]),
        "target": rung.target or None,
    }


def _median(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _ratio(sessions: dict[Rung, list[Figures]], key: str) -> float | None:
    if FIRST not in sessions or LAST not in sessions:
        return None
    pairs = zip(sessions[FIRST], sessions[LAST], strict=True)
    ratio: float = median(last[key] / first[key] for first, last in pairs)
    return ratio
