"""What `pac-tui bench ...` measures, at length or quickly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from .facts import Figures, Progress, summed_up

WATCHED = 4.0
"""Seconds of training of each half of a pair, unless told otherwise."""


def measure_transports(*, quick: bool, tell: Progress, task: str = "noop") -> Figures:
    """Time a step of each backend, and both layouts."""
    from .backends.slots_v1 import compare_layouts
    from .backends.transports import compare_transports

    result = compare_transports(task, trips=1000 if quick else 10_000, progress=tell)
    return result | {"layouts": compare_layouts(tell, 300 if quick else 3000)}


def measure_matrix(
    *,
    quick: bool,
    tell: Progress,
    task: str = "autochess",
    steps: int | None = None,
    repeat: int | None = None,
    seed: int = 0,
) -> Figures:
    """Train over every transport, once each unless told otherwise."""
    from ..config import Config
    from .matrix import STEPS, matrix

    budget = steps or (STEPS // 4 if quick else STEPS)
    return matrix(Config(task=task, seed=seed), steps=budget, repeat=repeat or 1, progress=tell)


def measure_engine(*, quick: bool, tell: Progress) -> Figures:
    """Play random legal actions in one thread."""
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
        tell("random legal actions", number / repeat)
        for name, rate in rates.items():
            found[name].append(rate())
    return {name: summed_up(values) for name, values in found.items()}


def measure_peers(*, quick: bool, tell: Progress, python: Path | None = None) -> Figures:
    """Compare `shm` with other vector environments, and on a game of ours with Gymnasium's asynchronous one."""
    from .backends.rates import async_ratio
    from .peers import compare_peers

    interpreter = str(python) if python else None
    result = compare_peers(rounds=5 if quick else 40, python=interpreter, progress=tell)
    tell("AsyncVectorEnv", 0.99)
    return result | {"async": async_ratio(rounds=3 if quick else 7)}


def measure_sb3(*, quick: bool, tell: Progress) -> Figures:
    """Compare rollouts and training with SB3-contrib's MaskablePPO."""
    from .sb3 import compare

    return compare(seconds=4.0, pairs=1, progress=tell) if quick else compare(progress=tell)


def measure_poker(*, quick: bool, tell: Progress) -> Figures:
    """Compare our solvers with others', and two workers with one."""
    from .poker import compare_solvers

    if quick:
        return compare_solvers(seconds=0.5, rounds=1, long=1.0, seeds=1, progress=tell)
    return compare_solvers(progress=tell)


def measure_checkpoints(*, quick: bool, tell: Progress) -> Figures:
    """Train with a checkpoint every 30 seconds."""
    from .checkpoints import saving_cost

    return saving_cost(every=4.0, times=1, progress=tell) if quick else saving_cost(progress=tell)


def measure_app(*, quick: bool, tell: Progress) -> Figures:
    """Train with the app on a terminal and headless, in turn."""
    from .app import app_cost

    return app_cost(seconds=5.0 if quick else 20.0, pairs=3 if quick else 7, progress=tell)


def measure_watch(*, quick: bool, tell: Progress, seconds: float = WATCHED) -> Figures:
    """Train watched and not watched, in turn."""
    from .watching import watch_cost

    return watch_cost(seconds=3.0 if quick else seconds, pairs=3 if quick else 7, progress=tell)


def measure_keys(*, quick: bool, tell: Progress) -> Figures:
    """Press keys in the app on a terminal, and time the screen."""
    from .app import key_latency

    tell("pressing keys", 0.0)
    return key_latency(presses=20 if quick else 100)


def measure_start(*, quick: bool, tell: Progress) -> Figures:
    """Start the app on a terminal."""
    from .app import start_up

    tell("starting the app", 0.0)
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
