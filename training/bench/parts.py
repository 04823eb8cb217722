"""The parts of `pac-tui bench all`, each in full or quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from .facts import Figures, Progress, summary_of

WATCHED = 4.0
"""Default seconds of training of each half of a pair."""


def measure_transports(*, quick: bool, progress: Progress, task: str = "noop") -> Figures:
    """Measure the time of a step on each backend, and compare both layouts."""
    from .backends.slots_v1 import compare_layouts
    from .backends.transports import compare_transports

    result = compare_transports(task, trips=1000 if quick else 10_000, progress=progress)
    return result | {"layouts": compare_layouts(progress, 300 if quick else 3000)}


def measure_matrix(
    *,
    quick: bool,
    progress: Progress,
    task: str = "autochess",
    steps: int | None = None,
    repeat: int | None = None,
    seed: int = 0,
) -> Figures:
    """Train over every transport."""
    from ..config import Config
    from .matrix import STEPS, matrix

    budget = steps or (STEPS // 4 if quick else STEPS)
    return matrix(Config(task=task, seed=seed), steps=budget, repeat=repeat or 1, progress=progress)


def measure_engine(*, quick: bool, progress: Progress) -> Figures:
    """Measure the games with random legal actions in one thread."""
    from .games.autochess import decisions_per_second
    from .games.drmario import placements_per_second
    from .games.poker import hands_per_second

    repeat, seconds = (1, 1.0) if quick else (5, 2.0)
    rates: dict[str, Callable[[], float]] = {
        "placements_per_second": lambda: placements_per_second(seconds),
        "autochess_decisions_per_second": lambda: decisions_per_second("autochess:players=8", seconds)[0],
        "holdem_hands_per_second": lambda: hands_per_second("holdem", seconds),
    }
    found: dict[str, list[float]] = {name: [] for name in rates}
    for number in range(repeat):
        progress("random legal actions", number / repeat)
        for name, rate in rates.items():
            found[name].append(rate())
    return {name: summary_of(values) for name, values in found.items()}


def measure_peers(*, quick: bool, progress: Progress, python: Path | None = None) -> Figures:
    """Compare `shm` with other vector environments, and on drmario with Gymnasium's AsyncVectorEnv."""
    from .backends.rates import async_ratio
    from .peers import compare_peers

    interpreter = str(python) if python else None
    result = compare_peers(rounds=5 if quick else 40, python=interpreter, progress=progress)
    progress("AsyncVectorEnv", 0.99)
    return result | {"async": async_ratio(rounds=3 if quick else 7)}


def measure_sb3(*, quick: bool, progress: Progress) -> Figures:
    """Compare rollouts and training with SB3-contrib's MaskablePPO."""
    from .sb3 import compare

    return compare(seconds=4.0, pairs=1, progress=progress) if quick else compare(progress=progress)


def measure_poker(*, quick: bool, progress: Progress) -> Figures:
    """Compare the poker solver with other solvers, and two workers with one."""
    from .poker import compare_solvers

    if quick:
        return compare_solvers(seconds=0.5, rounds=1, long=1.0, seeds=1, progress=progress)
    return compare_solvers(progress=progress)


def measure_checkpoints(*, quick: bool, progress: Progress) -> Figures:
    """Measure the cost of a checkpoint every 30 s."""
    from .checkpoints import saving_cost

    return saving_cost(every=4.0, times=1, progress=progress) if quick else saving_cost(progress=progress)


def measure_app(*, quick: bool, progress: Progress) -> Figures:
    """Train alternately with the app on a terminal and headless."""
    from .app import app_cost

    return app_cost(seconds=5.0 if quick else 20.0, pairs=3 if quick else 7, progress=progress)


def measure_watch(*, quick: bool, progress: Progress, seconds: float = WATCHED) -> Figures:
    """Train alternately with and without `watch`."""
    from .watching import watch_cost

    return watch_cost(seconds=3.0 if quick else seconds, pairs=3 if quick else 7, progress=progress)


def measure_keys(*, quick: bool, progress: Progress) -> Figures:
    """Measure the time from a key press to the screen."""
    from .app import key_latency

    progress("pressing keys", 0.0)
    return key_latency(presses=20 if quick else 100)


def measure_start(*, quick: bool, progress: Progress) -> Figures:
    """Measure the time to start."""
    from .app import start_up

    progress("starting the app", 0.0)
    return start_up(repetitions=1 if quick else 5)


PARTS: Mapping[str, Callable[..., Figures]] = {
    "engine": measure_engine,
    "transports": measure_transports,
    "matrix": measure_matrix,
    "peers": measure_peers,
    "sb3": measure_sb3,
    "poker": measure_poker,
    "checkpoints": measure_checkpoints,
    "app": measure_app,
    "watch": measure_watch,
    "keys": measure_keys,
    "start": measure_start,
}
