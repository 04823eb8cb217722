"""The commands `pac-tui bench ...`: progress goes to stderr, results to stdout."""

from __future__ import annotations

import json as json_module
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter, validators

from ...envs import BadParameter, PacError
from ...envs.files import MIB, UnreadableFile, read_json
from ...training.bench import parts
from ...training.bench.facts import Figures, facts
from ...training.config import RUNS, Config
from ...training.exits import DONE, FAILED
from ...training.limits import MAX_ENVS
from ..progress import progress_bar
from . import bench_show as shown
from .flags import OPTIONS, Flags, Json, OptionalFlags, load_config
from .show import show_json

LIMIT = 16 * MIB
"""Maximum size of a results file in bytes."""
app = App(name="bench", default_parameter=OPTIONS)
Quick = Annotated[bool, Parameter(help="Take fewer and shorter measurements, for a rough estimate.")]
Interpreter = Annotated[Path | None, Parameter(validator=validators.Path(exists=True, dir_okay=False))]


class ScalingFlags(Flags):
    """The configuration as flags, without `num_envs`, which is a list here."""

    num_envs: Annotated[int | None, Parameter(parse=False)] = None


def _measured(name: str, *, quick: bool, json: bool, **options: Any) -> int:
    """Measure one of the parts and show it; return the exit code."""
    with progress_bar(name) as progress:
        result = parts.PARTS[name](quick=quick, progress=progress, **options)
    return shown.show(name, result, json=json)


def _command(name: str) -> Callable[..., int]:
    """Return the command that measures a part which has no options of its own."""

    def measured(*, quick: Quick = False, json: Json = False) -> int:
        return _measured(name, quick=quick, json=json)

    measured.__doc__ = parts.PARTS[name].help
    return measured


for _name in (name for name, part in parts.PARTS.items() if part.help):
    app.command(_command(_name), name=_name)


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

    counts = _counts("--num-envs", num_envs)
    config = load_config(flags)
    seconds, repeat = (3.0, 1) if quick else (config.seconds or 5.0, repeat)
    with progress_bar("scaling") as progress:
        result = measure(config, counts, seconds=seconds, repeat=repeat, progress=progress)
    return shown.show("scaling", result, json=json)


def _names(text: str) -> list[str]:
    """Return the names that `a,b` lists."""
    return [name for name in map(str.strip, text.split(",")) if name]


def _counts(option: str, text: str) -> list[int]:
    """Return the numbers that `1,2,4` names."""
    texts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MAX_ENVS for part in texts):
        raise BadParameter(f"{option} expects numbers from 1 to {MAX_ENVS:,} separated by commas, got {text!r}")
    return sorted({int(part) for part in texts})


@app.command
def learning(
    *,
    flags: OptionalFlags = None,
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 5,
    goal: float | None = None,
    every: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    stop: bool = False,
    sb3: bool = False,
    cleanrl: bool = False,
    quick: bool = False,
    json: Json = False,
) -> int:
    """Train with several seeds, and measure the mean return of 20 greedy episodes.

    Args:
        flags: The configuration. --steps is the number of decisions of each training, --seed the first seed. The
            default of --num-envs is 8.
        seeds: Number of seeds.
        goal: Report after how many decisions and seconds the mean return first reaches this value.
        every: Decisions between two measurements of the mean return. Default: a twentieth of the training.
        stop: Stop each training when it reaches the goal.
        sb3: Also train with Stable-Baselines3 and the settings of RL Zoo, alternately. Requires the extra [peers].
        cleanrl: Also train ppo or dqn in a loop like CleanRL's, with CleanRL's settings, alternately. With dqn and
            independent, pac-tui then trains with the same settings. Requires the extra [peers].
        quick: Train with one seed.
        json: Print one JSON object and nothing else on stdout.
    """
    from ...training.bench.learning import learning as measure

    config = load_config(flags)
    with progress_bar("learning") as progress:
        result = measure(
            config,
            seeds=1 if quick else seeds,
            goal=goal,
            every=every,
            stop=stop,
            sb3=sb3,
            cleanrl=cleanrl,
            progress=progress,
        )
    return shown.show("learning", result, json=json)


@app.command
def transports(*, task: str = "noop", quick: Quick = False, json: Json = False) -> int:
    """Measure the round-trip time of a step on each backend.

    Args:
        task: The task to step.
        quick: Take fewer and shorter measurements, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
    """
    return _measured("transports", quick=quick, json=json, task=task)


@app.command
def matrix(
    *,
    task: str = "autochess",
    steps: int | None = None,
    repeat: int = 3,
    seed: int = 0,
    runs_dir: Path = RUNS,
    quick: bool = False,
    json: Json = False,
) -> int:
    """Train over each transport, at N = 1 and 32, on CPU and GPU, and compare speed, load, memory and mean return.

    The results are saved as Markdown, JSON and an SVG image in the folder `bench` of the runs folder.

    Args:
        task: The task to train on, with PPO.
        steps: Environment steps of each session. Default: 32,768, or 8,192 with --quick.
        repeat: Number of sessions for each combination of transport, N and device.
        seed: Random seed.
        runs_dir: Folder that contains the runs.
        quick: Run one session for each combination.
        json: Print one JSON object and nothing else on stdout.
    """
    from ...training.bench.matrix_report import matrix_markdown, write_matrix

    options: dict[str, Any] = ({} if quick else {"repeat": repeat}) | ({"steps": steps} if steps else {})
    with progress_bar("matrix") as progress:
        config = Config(task=task, seed=seed)
        result = parts.PARTS["matrix"](quick=quick, progress=progress, config=config, **options)
    kept = {"benchmark": "matrix", **result, "facts": facts()}
    files = write_matrix(kept, runs_dir / "bench")
    if json:
        return show_json({**kept, "files": files})
    print(matrix_markdown(kept))
    print(f"Saved {', '.join(files.values())}.", file=sys.stderr)
    return DONE


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
            task, games=games, num_envs=num_envs, seed=seed, backends=_names(backends), progress=progress
        )
    shown.show("traces", result, json=json)
    return FAILED if result["difference"] else DONE


@app.command
def gameboy(*, rom: tuple[Path, ...] = (), quick: Quick = False, json: Json = False) -> int:
    """Measure frames per second of the Game Boy on one core, and compare with PyBoy if it is installed.

    Args:
        rom: ROMs to measure besides the built-in cartridges.
        quick: Take one short measurement, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
    """
    return _measured("gameboy", quick=quick, json=json, roms=rom)


@app.command
def peers(*, peer_python: Interpreter = None, quick: Quick = False, json: Json = False) -> int:
    """Compare pac-tui with other vector environments and with training in Stable-Baselines3, on the same workload.

    Args:
        peer_python: Python interpreter with PufferLib, which needs older versions of NumPy and Gymnasium.
        quick: Take fewer and shorter measurements, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
    """
    with progress_bar("peers") as progress:
        result = parts.PARTS["peers"](quick=quick, progress=progress, python=peer_python)
        result["sb3"] = None
        if find_spec("sb3_contrib") is None:
            result["absent"]["sb3-training"] = "sb3-contrib is not installed; the extra [peers] has it"
        else:
            result["sb3"] = parts.PARTS["sb3"](quick=quick, progress=progress)
    return shown.show("peers", result, json=json)


@app.command
def cluster(
    *,
    simulate: bool = False,
    ranks: str = "1,8,64,512",
    latency: Annotated[float, Parameter(validator=validators.Number(gt=0))] = 20.0,
    bandwidth: Annotated[float, Parameter(validator=validators.Number(gt=0))] = 25.0,
    check: bool = False,
    quick: bool = False,
    json: Json = False,
) -> int:
    """Estimate the speed of training in many processes from costs that are measured on this machine.

    Args:
        simulate: Required, because this is a model: nothing is started on other machines.
        ranks: Numbers of processes, separated by commas.
        latency: Latency of a message in microseconds.
        bandwidth: Bandwidth of each link in Gbit/s.
        check: Compare the prediction for two processes with a measurement of two processes on this machine.
        quick: Take one short measurement of each kind.
        json: Print one JSON object and nothing else on stdout.
    """
    from ...training.bench.cluster import Network
    from ...training.bench.cluster import simulate as model

    if not simulate:
        raise BadParameter("cluster computes a model and starts nothing on other machines; add --simulate")
    network = Network(latency * 1e-6, bandwidth * 1e9 / 8)
    options: dict[str, Any] = {"seconds": 6.0, "rounds": 1} if quick else {}
    with progress_bar("cluster") as progress:
        result = model(_counts("--ranks", ranks), network, check=check, progress=progress, **options)
    return shown.show("cluster", result, json=json)


@app.command
def envelopes(
    *,
    tasks: str = "",
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 3,
    record: bool = False,
    json: Json = False,
) -> int:
    """Check that short trainings learn as recorded. Exits with code 1 if a curve leaves its envelope.

    Args:
        tasks: Tasks, separated by commas. Default: all that have an envelope.
        seeds: Number of seeds. Their median is compared.
        record: Train with five seeds, and replace the recorded envelopes in the source code.
        json: Print one JSON object and nothing else on stdout.
    """
    from ...training.bench.envelopes import STEPS, check_envelopes, record_envelopes

    names = _names(tasks) or list(STEPS)
    if unknown := [name for name in names if name not in STEPS]:
        raise BadParameter(f"--tasks expects tasks from {', '.join(STEPS)}, got {unknown[0]!r}")
    with progress_bar("envelopes") as progress:
        measure = record_envelopes if record else partial(check_envelopes, seeds=seeds)
        result = measure(tasks=names, progress=progress)
    shown.show("envelopes", result, json=json)
    return DONE if result.get("within", True) else FAILED


@app.command(name="app")
def cost_of_app(*, quick: Quick = False, json: Json = False) -> int:
    """Measure the training speed with the app attached relative to headless, and the CPU and memory use of the app."""
    return _measured("app", quick=quick, json=json)


@app.command
def watch(*, seconds: float = parts.WATCHED, quick: bool = False, json: Json = False) -> int:
    """Measure how much `watch` slows down a script, with and without the app attached. Takes about 10 minutes.

    Args:
        seconds: Seconds of training with `watch`, and as many without, in each of 24 pairs.
        quick: Measure ten pairs.
        json: Print one JSON object and nothing else on stdout.
    """
    return _measured("watch", quick=quick, json=json, seconds=seconds)


@app.command(name="all")
def everything(
    *, peer_python: Interpreter = None, quick: Quick = False, json: Json = False, output: Path | None = None
) -> int:
    """Run all benchmarks and print the table of docs/benchmarks.md.

    Args:
        peer_python: Python interpreter with PufferLib.
        quick: Take fewer and shorter measurements, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
        output: Write the results as JSON to this file, for `pac-tui bench table FILE`.
    """
    from ...training.bench.table import markdown
    from .run import check_writable

    if output is not None:
        check_writable("--output", output)
    results: Figures = {"facts": facts()}
    measures: dict[str, Callable[..., Figures]] = {
        **parts.PARTS,
        "peers": partial(parts.PARTS["peers"], python=peer_python),
    }
    for name, measure in measures.items():
        begun = time.monotonic()
        try:
            with progress_bar(name) as progress:
                results[name] = measure(quick=quick, progress=progress)
        except (PacError, ImportError) as error:
            results[name] = {"error": str(error)}
            print(f"{name} was not measured: {error}", file=sys.stderr)
        else:
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
        if output is not None:  # after every part, so that an interruption loses only the current one
            output.write_text(json_module.dumps(results, indent=2) + "\n")
    if json:
        return show_json(results)
    print(markdown(results))
    return DONE


@app.command
def table(file: Path) -> int:
    """Print the table of docs/benchmarks.md from the results of `pac-tui bench all --output FILE`.

    Args:
        file: The file with the results.
    """
    from ...training.bench.table import markdown

    advice = "write one with `pac-tui bench all --output FILE`"
    try:
        text = markdown(read_json(file, LIMIT))
    except UnreadableFile as error:
        raise BadParameter(f"{error}; {advice}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadParameter(f"{file} does not contain the results of all benchmarks; {advice}") from error
    print(text)
    return DONE
