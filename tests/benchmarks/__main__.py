"""Measures what the documentation claims, and compares with other libraries: python -m tests.benchmarks NAME.

Run it from the repository's folder. `pac-tui bench` has the benchmarks that users run on their own machines.
"""

from __future__ import annotations

import json as json_module
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter, validators

from pac.envs import BadParameter, PacError
from pac.envs.files import MIB, UnreadableFile, read_json
from pac.training.bench.facts import Results, facts
from pac.training.config import RUNS, Config
from pac.training.exits import DONE, FAILED
from pac.tui.cli import commands
from pac.tui.cli.bench import Quick, add_commands, counts_of, measured, names_of
from pac.tui.cli.bench_show import show
from pac.tui.cli.flags import OPTIONS, Json, OptionalFlags, load_config
from pac.tui.cli.show import show_json
from pac.tui.terminal.output import guard_streams
from pac.tui.terminal.progress import progress_bar

from . import shown  # noqa: F401 - adds how results are printed
from .parts import COMPARISONS, PARTS

LIMIT = 16 * MIB
"""Maximum size of a results file in bytes."""
ROOT = Path(__file__).parents[2]
app = App(name="python -m tests.benchmarks", help=__doc__, default_parameter=OPTIONS, version_flags=[])
Interpreter = Annotated[Path | None, Parameter(validator=validators.Path(exists=True, dir_okay=False))]
add_commands(app, COMPARISONS)


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
    from .learning import learning as measure

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
    return show("learning", result, json=json)


@app.command
def returns(
    folder: Path,
    *,
    tasks: str = "",
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 3,
    steps: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 100_000,
    json: Json = False,
) -> int:
    """Train SAC and that of Stable-Baselines3 with the settings of RL Zoo, and compare their returns.

    Args:
        folder: Folder for the results of single trainings; those that it has are not repeated.
        tasks: Gymnasium environments, separated by commas. Default: HalfCheetah-v5, Hopper-v5 and Walker2d-v5.
        seeds: Number of seeds.
        steps: Decisions of each training.
        json: Print one JSON object and nothing else on stdout.
    """
    from .sac import TASKS, compare_returns

    with progress_bar("returns") as progress:
        result = compare_returns(folder, tasks=names_of(tasks) or TASKS, seeds=seeds, steps=steps, progress=progress)
    return show("returns", result, json=json)


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
    from .matrix_report import matrix_markdown, write_matrix

    options: dict[str, Any] = ({} if quick else {"repeat": repeat}) | ({"steps": steps} if steps else {})
    with progress_bar("matrix") as progress:
        config = Config(task=task, seed=seed)
        result = PARTS["matrix"](quick=quick, progress=progress, config=config, **options)
    kept = {"benchmark": "matrix", **result, "facts": facts()}
    files = write_matrix(kept, runs_dir / "bench")
    if json:
        return show_json({**kept, "files": files})
    print(matrix_markdown(kept))
    print(f"Saved {', '.join(files.values())}.", file=sys.stderr)
    return DONE


@app.command
def gameboy(*, rom: tuple[Path, ...] = (), quick: Quick = False, json: Json = False) -> int:
    """Measure frames per second of the Game Boy on one core, and compare with PyBoy if it is installed.

    Args:
        rom: ROMs to measure besides the built-in cartridges.
        quick: Take one short measurement, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
    """
    return measured("gameboy", PARTS["gameboy"], quick=quick, json=json, roms=rom)


@app.command
def peers(*, peer_python: Interpreter = None, quick: Quick = False, json: Json = False) -> int:
    """Compare pac-tui with other vector environments and with training in Stable-Baselines3, on the same workload.

    Args:
        peer_python: Python interpreter with PufferLib, which needs older versions of NumPy and Gymnasium.
        quick: Take fewer and shorter measurements, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
    """
    with progress_bar("peers") as progress:
        result = PARTS["peers"](quick=quick, progress=progress, python=peer_python)
        result["sb3"] = None
        if find_spec("sb3_contrib") is None:
            result["absent"]["sb3-training"] = "sb3-contrib is not installed; the extra [peers] has it"
        else:
            result["sb3"] = PARTS["sb3"](quick=quick, progress=progress)
    return show("peers", result, json=json)


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
    from .cluster import Network
    from .cluster import simulate as model

    if not simulate:
        raise BadParameter("cluster computes a model and starts nothing on other machines; add --simulate")
    network = Network(latency * 1e-6, bandwidth * 1e9 / 8)
    options: dict[str, Any] = {"seconds": 6.0, "rounds": 1} if quick else {}
    with progress_bar("cluster") as progress:
        result = model(counts_of("--ranks", ranks), network, check=check, progress=progress, **options)
    return show("cluster", result, json=json)


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
    from .envelopes import STEPS, check_envelopes, record_envelopes

    names = names_of(tasks) or list(STEPS)
    if unknown := [name for name in names if name not in STEPS]:
        raise BadParameter(f"--tasks expects tasks from {', '.join(STEPS)}, got {unknown[0]!r}")
    with progress_bar("envelopes") as progress:
        measure = record_envelopes if record else partial(check_envelopes, seeds=seeds)
        result = measure(tasks=names, progress=progress)
    show("envelopes", result, json=json)
    return DONE if result.get("within", True) else FAILED


@app.command(name="all")
def everything(
    *, peer_python: Interpreter = None, quick: Quick = False, json: Json = False, output: Path | None = None
) -> int:
    """Run all benchmarks and print the table of docs/benchmarks.md.

    Args:
        peer_python: Python interpreter with PufferLib.
        quick: Take fewer and shorter measurements, for a rough estimate.
        json: Print one JSON object and nothing else on stdout.
        output: Write the results as JSON to this file, for `python -m tests.benchmarks table FILE`.
    """
    from pac.tui.terminal.report_file import check_writable

    from .table import markdown

    if output is not None:
        check_writable("--output", output)
    results: Results = {"facts": facts()}
    measures: dict[str, Callable[..., Results]] = {
        **PARTS,
        "peers": partial(PARTS["peers"], python=peer_python),
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
    """Print the table of docs/benchmarks.md from the results of `python -m tests.benchmarks all --output FILE`.

    Args:
        file: The file with the results.
    """
    from .table import markdown

    advice = "write one with `python -m tests.benchmarks all --output FILE`"
    try:
        text = markdown(read_json(file, LIMIT))
    except UnreadableFile as error:
        raise BadParameter(f"{error}; {advice}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadParameter(f"{file} does not contain the results of all benchmarks; {advice}") from error
    print(text)
    return DONE


def main(arguments: list[str] | None = None) -> int:
    """Run a benchmark and return its exit code. The processes that it starts find this package."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return commands.main(arguments, app)


if __name__ == "__main__":
    guard_streams()
    sys.exit(main())
