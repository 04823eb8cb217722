"""The commands `pac-tui bench ...`: progress goes to stderr, results to stdout."""

from __future__ import annotations

import json as json_module
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..envs import BadParameter, PacError
from ..training.bench.facts import Figures, facts, summed_up
from ..training.bench.facts import Progress as Told
from .cli import Flags, Json, load_config
from .cli_show import console, plain_table, show_json

app = App(
    name="bench",
    help="Measure. A figure that compares is a ratio of two ways taken in turn, in one run; medians are shown.",
    default_parameter=Parameter(negative=()),
)
BAR = 30
Quick = Annotated[
    bool, Parameter(help="Measure shorter and less often: an impression, not a figure.", show_default=False)
]


class ScalingFlags(Flags):
    """The configuration as flags, but for N, of which there are several."""

    num_envs: Annotated[int | None, Parameter(parse=False)] = None


@contextmanager
def telling(name: str) -> Iterator[Told]:
    """Show a progress bar on stderr while a benchmark runs; yields what tells it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(name, total=1.0)
        yield lambda text, share: progress.update(bar, description=f"{name}: {text}", completed=share)


@app.command
def scaling(
    *,
    flags: Annotated[ScalingFlags | None, Parameter(name="*")] = None,
    num_envs: str = "1,2,4,8,16",
    repeat: int = 3,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Train at several N in turn: fps, speedup and efficiency.

    Args:
        flags: What to train; --seconds is the training time of each measurement, 5 unless given.
        num_envs: The values of N, separated by commas.
        repeat: How often each N is measured.
        quick: Measure each N once, for 3 seconds.
        json: Print one JSON object and nothing else on stdout.
    """
    from ..training.bench.scaling import scaling as measure

    counts = _counts(num_envs)
    config = load_config(flags)
    seconds, repeat = (3.0, 1) if quick else (config.seconds or 5.0, repeat)
    with telling("scaling") as tell:
        result = measure(config, counts, seconds=seconds, repeat=repeat, progress=tell)
    if json:
        return show_json({"scaling": result, "facts": facts()})
    show_scaling(result)
    return 0


def _counts(text: str) -> list[int]:
    """Return the values of N that `1,2,4` names."""
    from ..training.config import MAX_ENVS

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MAX_ENVS for part in parts):
        raise BadParameter(f"--num-envs expects numbers from 1 to {MAX_ENVS:,} separated by commas, got {text!r}")
    return sorted({int(part) for part in parts})


def show_scaling(result: Figures) -> None:
    """Print the table, with a bar for each speedup, on a scale that ends at the ideal one or the best one."""
    console.print("{task} · {trainer} · {backend} · {device}".format(**result), style="bold")
    table = plain_table("N", "fps", "fps/env", "sps", "speedup", "efficiency", "")
    for column in table.columns[:-1]:
        column.justify = "right"
    most = max(row["speedup"] for row in result["rows"])
    for row in result["rows"]:
        table.add_row(
            str(row["num_envs"]),
            f"{row['fps']['median']:,.0f}",
            f"{row['fps_per_env']:,.0f}",
            f"{row['sps']:,.0f}",
            f"{row['speedup']:.2f}x",
            f"{row['efficiency']:.0f} %",
            bar(row["speedup"] / most),
        )
    console.print(table)
    console.print(f"Baseline: {result['baseline_fps']:,.0f} fps at N = 1; medians of {_repetitions(result)}.")


def _repetitions(result: Figures) -> str:
    count = result["rows"][0]["fps"]["repetitions"]
    return f"{count} measurement{'s' * (count > 1)} of {result['seconds']:g} s"


def bar(share: float) -> str:
    """Return a bar of eighths of a character."""
    whole, rest = divmod(round(share * BAR * 8), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()


@app.command
def transports(*, quick: Quick = False, json: Json = False) -> int:
    """Round trip of a step of every backend, on environments that do nothing."""
    with telling("transports") as tell:
        result = measure_transports(quick=quick, tell=tell)
    if json:
        return show_json({"transports": result, "facts": facts()})
    table = plain_table("backend", "N", "p50", "p95", "p99", "steps/s")
    for row in result.values():
        times = [f"{row[f'{name}_us']:,.1f} us" for name in ("p50", "p95", "p99")]
        table.add_row(row["backend"], str(row["num_envs"]), *times, f"{1e6 / row['p50_us']:,.0f}")
    console.print(table)
    return 0


def measure_transports(*, quick: bool, tell: Told) -> Figures:
    """Time a step of each backend at N = 1."""
    from ..backends import BACKENDS
    from ..backends.bench import round_trip

    result = {}
    names = [name for name in BACKENDS if name != "threads"]  # it steps native tasks only
    for number, name in enumerate(names):
        tell(name, number / len(names))
        result[name] = round_trip(1, name, 1.0 if quick else 5.0)
    return result


@app.command
def engine(*, quick: Quick = False, json: Json = False) -> int:
    """Placements per second of the bottle game alone, on one core."""
    with telling("engine") as tell:
        result = measure_engine(quick=quick, tell=tell)
    return _show("engine", result, json=json)


def measure_engine(*, quick: bool, tell: Told) -> Figures:
    """Play random legal placements in one thread."""
    from ..envs.drmario.bench import placements_per_second

    repeat, seconds = (1, 1.0) if quick else (5, 2.0)
    samples = []
    for number in range(repeat):
        tell("random legal placements", number / repeat)
        samples.append(placements_per_second(seconds))
    return {"placements_per_second": summed_up(samples)}


@app.command
def peers(*, quick: Quick = False, json: Json = False) -> int:
    """Compare with Gymnasium's vector environments and with Stable-Baselines3, on the same work."""
    with telling("peers") as tell:
        result = {"peers": measure_peers(quick=quick, tell=tell), "sb3": measure_sb3(quick=quick, tell=tell)}
    return _show("peers", result, json=json)


def measure_peers(*, quick: bool, tell: Told) -> Figures:
    """Compare `shm` with a plain loop and with Gymnasium's asynchronous environments."""
    from ..backends.bench import async_ratio, python_env_ratio

    rounds = 3 if quick else 7
    tell("a Python environment", 0.0)
    python = python_env_ratio(rounds=rounds)
    tell("AsyncVectorEnv", 0.5)
    return {"python_env": python, "async": async_ratio(rounds=rounds)}


def measure_sb3(*, quick: bool, tell: Told) -> Figures:
    """Compare rollouts and training with SB3-contrib's MaskablePPO."""
    from ..training.bench.sb3 import compare

    return compare(seconds=4.0, pairs=1, progress=tell) if quick else compare(progress=tell)


@app.command(name="app")
def cost_of_app(*, quick: Quick = False, json: Json = False) -> int:
    """What watching costs: training with the app over training without; the app's CPU and memory."""
    with telling("app") as tell:
        result = measure_app(quick=quick, tell=tell)
    return _show("app", result, json=json)


def measure_app(*, quick: bool, tell: Told) -> Figures:
    """Train with the app on a terminal and headless, in turn."""
    from ..training.bench.app_cost import app_cost

    return app_cost(seconds=5.0 if quick else 20.0, pairs=3 if quick else 7, progress=tell)


@app.command
def keys(*, quick: Quick = False, json: Json = False) -> int:
    """Time from a key press to the screen, during training."""
    with telling("keys") as tell:
        result = measure_keys(quick=quick, tell=tell)
    return _show("keys", result, json=json)


def measure_keys(*, quick: bool, tell: Told) -> Figures:
    """Press keys in the app on a terminal, and time the screen."""
    from .bench import key_latency

    tell("pressing keys", 0.0)
    return key_latency(presses=20 if quick else 100)


@app.command
def start(*, quick: Quick = False, json: Json = False) -> int:
    """Time from the command to the first screen, and to the first moving board."""
    with telling("start") as tell:
        result = measure_start(quick=quick, tell=tell)
    return _show("start", result, json=json)


def measure_start(*, quick: bool, tell: Told) -> Figures:
    """Start the app on a terminal."""
    from .bench import start_up

    tell("starting the app", 0.0)
    return start_up(repetitions=1 if quick else 5)


PARTS: Mapping[str, Callable[..., Figures]] = {
    "engine": measure_engine,
    "transports": measure_transports,
    "peers": measure_peers,
    "sb3": measure_sb3,
    "app": measure_app,
    "keys": measure_keys,
    "start": measure_start,
}


@app.command(name="all")
def everything(*, quick: Quick = False, json: Json = False, output: Path | None = None) -> int:
    """Measure everything and print the README's table.

    Args:
        quick: Measure shorter and less often: an impression, not a figure.
        json: Print one JSON object and nothing else on stdout.
        output: Write the results as JSON to this file, for `pac-tui bench table FILE`.
    """
    from ..training.bench.table import markdown

    results: Figures = {}
    for name, measure in PARTS.items():
        begun = time.monotonic()
        try:
            with telling(name) as tell:
                results[name] = measure(quick=quick, tell=tell)
        except (PacError, ImportError) as error:
            results[name] = {"error": str(error)}
            print(f"{name} was not measured: {error}", file=sys.stderr)
        else:
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    results["facts"] = facts()
    if output is not None:
        output.write_text(json_module.dumps(results, indent=2) + "\n")
    if json:
        return show_json(results)
    print(markdown(results))
    return 0


@app.command
def table(file: Path) -> int:
    """Print the README's table from the results that `pac-tui bench all --output FILE` wrote.

    Args:
        file: The results.
    """
    from ..training.bench.table import markdown

    try:
        text = markdown(json_module.loads(file.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadParameter(f"{file} is not what `pac-tui bench all --output {file}` writes: {error}") from error
    print(text)
    return 0


def _show(name: str, result: Figures, *, json: bool) -> int:
    """Print figures, nested names joined by points."""
    if json:
        return show_json({name: result, "facts": facts()})
    shown = plain_table("", "")
    shown.show_header = False
    for key, value in _flat(result):
        shown.add_row(key, _figure(value))
    console.print(shown)
    return 0


def _figure(value: Any) -> str:
    """Return a number with separators and no more digits than mean something."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)


def _flat(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
