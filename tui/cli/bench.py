"""The commands `pac-tui bench ...`: progress goes to stderr, results to stdout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from cyclopts import App, Parameter

from ...envs import BadParameter
from ...training.bench.parts import PARTS, WATCHED, Benchmark
from ...training.exits import DONE, FAILED
from ...training.limits import MAX_ENVS
from ..terminal.progress import progress_bar
from . import bench_show as shown
from .flags import OPTIONS, Flags, Json, load_config

app = App(name="bench", default_parameter=OPTIONS)
Quick = Annotated[bool, Parameter(help="Take fewer and shorter measurements, for a rough estimate.")]


class ScalingFlags(Flags):
    """The configuration as flags, without `num_envs`, which is a list here."""

    num_envs: Annotated[int | None, Parameter(parse=False)] = None


def measured(name: str, benchmark: Benchmark, *, quick: bool, json: bool, **options: Any) -> int:
    """Run a benchmark and show it; return the exit code."""
    with progress_bar(name) as progress:
        result = benchmark(quick=quick, progress=progress, **options)
    return shown.show(name, result, json=json)


def add_commands(to: App, benchmarks: Mapping[str, Benchmark]) -> None:
    """Add a command for each benchmark that has no options of its own."""

    def command(name: str, benchmark: Benchmark) -> Callable[..., int]:
        def run(*, quick: Quick = False, json: Json = False) -> int:
            return measured(name, benchmark, quick=quick, json=json)

        run.__doc__ = benchmark.help
        return run

    for name, benchmark in benchmarks.items():
        if benchmark.help:
            to.command(command(name, benchmark), name=name)


add_commands(app, PARTS)


@app.command
def scaling(
    *,
    flags: Annotated[ScalingFlags | None, Parameter(name="*")] = None,
    num_envs: str = "1,2,4,8,16",
    repeat: int = 3,
    quick: bool = False,
    json: Json = False,
) -> int:
    """Train at several N, and measure fps, speedup and efficiency.

    Args:
        flags: The configuration. --seconds is the training time of each measurement, 5 s by default.
        num_envs: The values of N, separated by commas.
        repeat: Number of measurements of each N.
        quick: Measure each N once, for 3 s.
        json: Print one JSON object and nothing else on stdout.
    """
    from ...training.bench.scaling import scaling as measure

    counts = counts_of("--num-envs", num_envs)
    config = load_config(flags)
    seconds, repeat = (3.0, 1) if quick else (config.seconds or 5.0, repeat)
    with progress_bar("scaling") as progress:
        result = measure(config, counts, seconds=seconds, repeat=repeat, progress=progress)
    return shown.show("scaling", result, json=json)


def names_of(text: str) -> list[str]:
    """Return the names that `a,b` lists."""
    return [name for name in map(str.strip, text.split(",")) if name]


def counts_of(option: str, text: str) -> list[int]:
    """Return the numbers that `1,2,4` names."""
    texts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MAX_ENVS for part in texts):
        raise BadParameter(f"{option} expects numbers from 1 to {MAX_ENVS:,} separated by commas, got {text!r}")
    return sorted({int(part) for part in texts})


@app.command
def transports(*, task: str = "noop", quick: Quick = False, json: Json = False) -> int:
    """Measure the round-trip time of a step on each backend.

    Args:
        task: The task to step.
        quick: Take fewer and shorter measurements, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
    """
    return measured("transports", PARTS["transports"], quick=quick, json=json, task=task)


@app.command
def traces(
    *,
    task: str = "autochess",
    games: int = 100,
    num_envs: int = 8,
    seed: int = 0,
    backends: str = "",
    quick: bool = False,
    json: Json = False,
) -> int:
    """Play the same games on every backend and compare every byte. Exits with code 1 if any byte differs.

    Args:
        task: The task to play.
        games: Number of games.
        num_envs: Number of environments.
        seed: Random seed of the games and of the legal actions.
        backends: Backends to compare with inline, separated by commas. Default: all.
        quick: Play a tenth of the games.
        json: Print one JSON object and nothing else on stdout.
    """
    from ...training.bench.backends.traces import compare_traces

    with progress_bar("traces") as progress:
        games = max(1, games // 10) if quick else games
        result = compare_traces(
            task, games=games, num_envs=num_envs, seed=seed, backends=names_of(backends), progress=progress
        )
    shown.show("traces", result, json=json)
    return FAILED if result["difference"] else DONE


@app.command
def watch(*, seconds: float = WATCHED, quick: bool = False, json: Json = False) -> int:
    """Measure how much `watch` slows down a script, with and without the app attached. Takes about 10 minutes.

    Args:
        seconds: Seconds of training with `watch`, and as many without, in each of 24 pairs.
        quick: Measure ten pairs.
        json: Print one JSON object and nothing else on stdout.
    """
    return measured("watch", PARTS["watch"], quick=quick, json=json, seconds=seconds)
