"""The commands of `pac-tui` and their options. Other modules of this package implement them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ...training.config import RUNS
from ...training.exits import DONE, INTERRUPTED
from ...training.imports import importing
from ...training.limits import MAX_PROCESSES
from ..terminal.output import json_text
from .errors import describe_error
from .flags import (
    OPTIONS,
    Json,
    OptionalFlags,
    load_config,
    load_flags,
    refuse_repeated_settings,
    with_script_arguments,
    with_settings,
)
from .stdout import named_stdout

TraceSeconds = Annotated[float, Parameter(validator=Number(gte=0.1, lte=60))]
Port = Annotated[int, Parameter(validator=Number(gte=1, lte=65535))]
Fps = Annotated[float | None, Parameter(validator=Number(gte=0.1, lte=240))]
Enlarged = Annotated[int | None, Parameter(validator=Number(gte=1, lte=32))]

app = App(
    name="pac-tui",
    help="A debugger and monitor for reinforcement learning on many environments in parallel.",
    help_epilogue=(
        "`pac-tui` without a command is `pac-tui run`. Each configuration option is also an environment variable "
        "(`PAC_NUM_ENVS`) and a key of the `--config` file (`num_envs`). `pac-tui config` lists all of them and the "
        "trainer's settings. Exit codes: 0 success, 1 failure, 2 bad usage, 130 interrupted."
    ),
    default_parameter=OPTIONS,
    help_format="markdown",
    version=lambda: version("pac-tui"),
    version_flags=["--version"],
)
app.command("pac.tui.cli.bench:app", name="bench", help="Measure speed and overhead on this machine.")
app.command("pac.tui.cli.runs:app", name="runs", help="List, show, compare or remove runs.")


@app.default
@app.command
def run(
    *,
    flags: OptionalFlags = None,
    headless: bool = False,
    json: bool = False,
    report: Path | None = None,
    in_process: bool = False,
    ranks: Annotated[int, Parameter(validator=Number(gte=1, lte=MAX_PROCESSES))] = 1,
    seeds: str | None = None,
    parallel: Annotated[int | None, Parameter(validator=Number(gte=1, lte=MAX_PROCESSES))] = None,
    trace: Path | None = None,
    trace_seconds: TraceSeconds = 5.0,
) -> int:
    """Start training and show it in the app.

    With --seeds, or several values of a setting such as --set ppo.clip=0.1,0.2, all combinations are trained, one per
    core at a time, and shown on one screen. The same command with the --name that it had continues.

    Args:
        flags: The configuration.
        headless: Show a progress line instead of the app.
        json: Print the report as one JSON object on stdout. Requires --headless.
        report: Write the report as JSON to this file when the session ends.
        in_process: Run the session in a thread of the app's process, for use with a Python debugger.
        ranks: Number of processes that train together, each with its own environments and share of the cores.
        seeds: Seeds to train with, such as 0..4 or 1,5,7..9.
        parallel: With several trainings, how many at a time. Default: one per core, or one on a GPU.
        trace: Record the first seconds of training in this file, as a trace that https://ui.perfetto.dev opens.
        trace_seconds: For how long --trace records.
    """
    with importing():
        from ...envs import BadParameter
        from .grid import is_grid, run_grid
        from .ranks import run_ranks
        from .run import run_session

    if trace is not None and (ranks > 1 or is_grid(flags, seeds)):
        raise BadParameter("--trace is for one training: `pac-tui trace RUN` records a running one and all its ranks")
    if is_grid(flags, seeds):
        if ranks > 1 or in_process or (json and not headless):
            raise BadParameter("several trainings are neither --ranks nor --in-process, and --json needs --headless")
        return run_grid(flags, seeds, parallel=parallel, headless=headless, json=json, report=report)
    if parallel is not None:
        raise BadParameter("--parallel is for several trainings: set --seeds, or several values of a setting")

    if ranks > 1:
        if not headless:
            if json or in_process:
                raise BadParameter("--ranks with --json or --in-process needs --headless")
            load_config(flags)
        return run_ranks(ranks, headless=headless)

    config, traced = load_config(flags), None
    if trace is not None:
        from ...training.trace_recorder import TraceLater

        traced = TraceLater(trace, trace_seconds)
    return run_session(config, headless=headless, json=json, report=report, in_process=in_process, traced=traced)


@app.command
def attach(
    *names: Annotated[str, Parameter(name="RUN")],
    together: Annotated[bool, Parameter(name="--all")] = False,
    runs_dir: Path = RUNS,
    json: bool = False,
    rsh: str = "ssh",
    command: str = "pac-tui",
) -> int:
    """Show a running session or a watched script in the app. Without RUN, ask for one if several are running.

    The app shows all ranks of a training in several processes, if they run on this machine or on HOST.

    Args:
        names: Name of the run or the beginning of it, process id, or `latest`. HOST:RUN is a session on another
            machine. Several HOST:RUN are shown on one screen.
        together: Without RUN, show all running sessions on one screen, including those that start later.
        runs_dir: Folder that contains the runs. For a failed run, the app shows its last state.
        json: Print the running sessions as one JSON object. Does not open the app.
        rsh: For HOST:RUN, the remote shell command and its options.
        command: For HOST:RUN, the pac-tui command on HOST, such as `venv/bin/pac-tui`.
    """
    from .attach import attach_session
    from .remote import attach_remote, is_remote

    if len(names) > 1 or (names and is_remote(names[0])):
        return attach_remote(names, rsh=rsh, command=command)
    return attach_session(names[0] if names else None, runs_dir, json=json, together=together)


@app.command
def stop(name: Annotated[str, Parameter(name="RUN")], *, runs_dir: Path = RUNS) -> int:
    """Have a running session save and end.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        runs_dir: Folder that contains the runs.
    """
    from .stop import stop_session

    return stop_session(name, runs_dir)


@app.command(name="set")
def change(
    name: Annotated[str, Parameter(name="RUN")],
    *settings: Annotated[str, Parameter(name="SETTING=VALUE")],
    runs_dir: Path = RUNS,
) -> int:
    """Change settings of the trainer of a running session, such as ppo.learning_rate=1e-4.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        settings: The settings and their new values, which can be schedules.
        runs_dir: Folder that contains the runs.
    """
    from .set import change_settings

    return change_settings(name, settings, runs_dir)


@app.command
def diagnose(name: Annotated[str, Parameter(name="RUN")], *, runs_dir: Path = RUNS, json: Json = False) -> int:
    """Say what is or was wrong with a run, with evidence, and what to try.

    Args:
        name: Name or folder of the run, or `latest`. It may be running or have ended, and be of a watched script.
        runs_dir: Folder that contains the runs.
        json: Print one JSON object and nothing else on stdout.
    """
    from .diagnose import diagnose_run

    return diagnose_run(name, runs_dir, json=json)


@app.command
def report(
    name: Annotated[str, Parameter(name="RUN")],
    *,
    html: Path | None = None,
    limit: Annotated[int, Parameter(validator=Number(gte=0, lte=1024))] = 24,
    trust: bool = False,
    runs_dir: Path = RUNS,
) -> int:
    """Write all that is known of a run into one HTML file: results, curves, films, settings, machine.

    Args:
        name: Name or folder of the run, or `latest`. It may be running or have ended, and be of a watched script.
        html: The file. Default: the run's name with the ending `.html`, in the working directory.
        limit: MiB of films in it, the newest first.
        trust: Draw the boards of recorded episodes and name recommended settings even if the task runs code.
        runs_dir: Folder that contains the runs.
    """
    from .report import report_run

    return report_run(name, runs_dir, html, limit=limit, trust=trust)


@app.command
def profile(
    name: Annotated[str, Parameter(name="RUN")],
    *,
    seconds: Annotated[float | None, Parameter(validator=Number(gte=1, lte=3600))] = None,
    speedscope: Path | None = None,
    kernels: bool = False,
    runs_dir: Path = RUNS,
    json: Json = False,
) -> int:
    """Find the lines and functions in which a running session or watched script spends its time.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        seconds: For how long to sample, 100 times per second. Default: 10, with --kernels 1 and at most 5.
        speedscope: Also write the stacks to this file, which https://www.speedscope.app shows.
        kernels: Instead list the GPU's kernels, and say when it computes and when it waits, by PyTorch's profiler; on
            the CPU, the same of PyTorch's operators.
        runs_dir: Folder that contains the runs.
        json: Print one JSON object and nothing else on stdout.
    """
    if kernels:
        from ...envs import BadParameter
        from .kernels import profile_kernels

        if speedscope is not None:
            raise BadParameter("--speedscope writes stacks, which --kernels has none of: leave one of them out")
        return profile_kernels(name, runs_dir, 1.0 if seconds is None else seconds, json=json)
    from .profile import profile_session

    return profile_session(name, runs_dir, 10.0 if seconds is None else seconds, speedscope=speedscope, json=json)


@app.command
def trace(
    name: Annotated[str, Parameter(name="RUN")],
    *,
    seconds: TraceSeconds = 5.0,
    out: Path | None = None,
    kernels: bool = False,
    runs_dir: Path = RUNS,
    json: Json = False,
) -> int:
    """Record what all processes of a running session do, as a trace that https://ui.perfetto.dev opens.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        seconds: For how long to record.
        out: The file, compressed if its name ends with .gz. Default: NAME-trace.json.gz in this folder.
        kernels: Also record the GPU's kernels with PyTorch's profiler, or the operators on the CPU, for the first 5 s.
        runs_dir: Folder that contains the runs.
        json: Print one JSON object and nothing else on stdout.
    """
    from .trace import trace_session

    return trace_session(name, runs_dir, seconds, out, kernels=kernels, json=json)


@app.command
def stacks(name: Annotated[str, Parameter(name="RUN")], *, runs_dir: Path = RUNS, json: Json = False) -> int:
    """Show where every thread of a running session or watched script is now, also if it is stuck.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        runs_dir: Folder that contains the runs.
        json: Print one JSON object and nothing else on stdout.
    """
    from .profile import show_stacks

    return show_stacks(name, runs_dir, json=json)


@app.command
def memory(
    name: Annotated[str, Parameter(name="RUN")],
    *,
    lines: Annotated[bool, Parameter(negative="")] = False,
    seconds: Annotated[float, Parameter(validator=Number(gte=1, lte=60))] = 10.0,
    runs_dir: Path = RUNS,
    json: Json = False,
) -> int:
    """Show the memory of each process of a running session or watched script, its growth, and what it is for.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        lines: Also follow the allocations of all processes, which slows them, and list the lines that keep memory.
        seconds: For how long to follow them.
        runs_dir: Folder that contains the runs.
        json: Print one JSON object and nothing else on stdout.
    """
    from .memory import show_memory

    return show_memory(name, runs_dir, seconds if lines else None, json=json)


@app.command
def relay(name: Annotated[str, Parameter(name="RUN")], *, runs_dir: Path = RUNS) -> int:
    """Send a running session over stdin and stdout; `pac-tui attach HOST:RUN` runs this command on HOST.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        runs_dir: Folder that contains the runs.
    """
    from .remote import run_relay

    return run_relay(name, runs_dir)


@app.command
def watch(
    *arguments: Annotated[str, Parameter(name="SCRIPT", allow_leading_hyphen=True)],
    module: Annotated[str | None, Parameter(name=["--module", "-m"])] = None,
    python: str | None = None,
    headless: bool = False,
    leaves: Annotated[bool, Parameter(name="--exit", negative=())] = False,
    keep: Annotated[bool, Parameter(name="--keep-run", negative="--no-run")] = True,
) -> int:
    """Run a training script unchanged, and show its environments and curves in the app.

    Everything after SCRIPT or MODULE is passed to the script. See docs/watch.md.

    Args:
        arguments: The script and its arguments.
        module: Run a module as a script, as `python -m` does.
        python: The interpreter that runs the script. Default: that of the active virtual environment, or that of
            pac-tui without one.
        headless: Run the script in this terminal without the app. `pac-tui attach` in another terminal shows its
            environments.
        leaves: Leave the app when the script has ended. Without it, the app shows the last state until a key is
            pressed.
        keep: Keep curves, episodes, events and output as a run, which `R` and `pac-tui runs` show. It is in the folder
            ~/.local/state/pac-tui/watched.
    """
    from .watch import watch_script

    return watch_script(arguments, module=module, python=python, headless=headless, leaves=leaves, keep=keep)


@app.command(name="eval")
def evaluate(
    name: Annotated[str, Parameter(name="RUN")],
    *,
    flags: OptionalFlags = None,
    sample: bool = False,
    hands: Annotated[int | None, Parameter(validator=Number(gte=4))] = None,
    against: str | None = None,
    resolve: bool = False,
    headless: bool = False,
    json: bool = False,
    report: Path | None = None,
) -> int:
    """Run a trained policy without learning, or measure the strategy of a poker solver.

    Args:
        name: Name or folder of the run, or `latest`.
        flags: The configuration. Values that are not set come from the run.
        sample: Sample actions from the policy instead of taking the most likely one.
        hands: Poker solver: even number of hands to play. Default: 1,000,000, or 400 with --resolve. Has no effect
            on small games, where all deals are computed.
        against: Poker solver: the opponent. One of uniform (the default), call, fold and allin, or another run of the
            same game.
        resolve: Poker solver: re-solve every decision. Resolver settings such as --resolver.max-depth 3 imply it.
        headless: Show a progress bar instead of the app, and measure: play 100 episodes, or --episodes, to their end.
            With --episodes and without this, they are then listed in the terminal, where Enter replays one.
        json: Print the report as one JSON object on stdout. Requires --headless.
        report: Write the report as JSON to this file at the end.
    """
    from ...envs import BadParameter
    from ..trust import asking
    from .eval import evaluate_policy, evaluate_solved, is_evaluated, resolver_settings
    from .run import run_session

    resolver, rest = resolver_settings(flags.set if flags else (), resolve=resolve)
    flags = flags.model_copy(update={"set": rest}) if flags else None
    config = load_config(flags, resume=name, learn=False, greedy=not sample)
    if is_evaluated(config):
        return evaluate_solved(
            config,
            name,
            hands=hands,
            against=against or "uniform",
            resolver=resolver,
            vouch=asking(trust=bool(flags and flags.trust)),
            json=json,
        )
    if hands or against or resolver is not None:
        raise BadParameter(f"--hands, --against and --resolve are for runs of a poker solver, and {name} is not one")
    if headless or config.episodes:
        return evaluate_policy(config, json=json, report=report, listed=not headless)
    return run_session(config, headless=headless, json=json, report=report)


@app.command
def compare(
    a: Annotated[str, Parameter(name="A")],
    b: Annotated[str, Parameter(name="B")],
    *,
    seeds: Annotated[int, Parameter(validator=Number(gte=1, lte=1000))] = 20,
    seed: Annotated[int, Parameter(validator=Number(gte=0))] = 0,
    sample: bool = False,
    runs_dir: Path = RUNS,
    trust: bool = False,
    headless: bool = False,
    json: Json = False,
) -> int:
    """Have two policies play the same seeds, and show how they differ and at which steps. See docs/compare.md.

    Args:
        a: A run, by its name or folder; one of its checkpoints: RUN@best or RUN@STEPS; or random.
        b: The other one, of the same task. The differences are B - A.
        seeds: How many seeds both play. Up to 64 are the episodes of `pac-tui eval`.
        seed: Random seed of the environments.
        sample: Sample actions from the policies instead of taking the most likely ones.
        runs_dir: Folder that contains the runs.
        trust: Use the task that a run names, even if it runs code.
        headless: Print the table instead of showing both side by side.
        json: Print one JSON object and nothing else on stdout.
    """
    from .compare import compare_policies

    return compare_policies(
        (a, b), seeds=seeds, seed=seed, sample=sample, runs_dir=runs_dir, trust=trust, headless=headless, json=json
    )


@app.command
def play(
    task: str = "drmario",
    *,
    seed: int = 0,
    against: str = "random",
    run: str | None = None,
    resolve: bool = False,
    set: tuple[str, ...] = (),  # noqa: A002 - the flag's name
    runs_dir: Path = RUNS,
) -> int:
    """Play a game yourself: drmario and gameboy with the arrow keys, kuhn, leduc, liars_dice and holdem with numbers.

    In gameboy, keys also save start states, goal pictures and a task, and search memory for addresses.

    Args:
        task: The game and its parameters, for example drmario:level=5.
        seed: Random seed of the game.
        against: Opponent in games with cards or dice: random, or myself to play both seats.
        run: Play against the strategy of this run. Name or folder of the run, or `latest`.
        resolve: With --run: re-solve every decision of the opponent.
        set: A setting of the resolver. --resolver.max-depth 3 is short for --set resolver.max-depth=3.
        runs_dir: Folder that contains the runs.
    """
    from ...envs import find
    from ...envs.poker.families import has_game
    from ...envs.specs import split_spec
    from ..play.play import play as play_game
    from ..play.poker import play_against, play_against_run
    from .eval import resolver_settings

    name, given = split_spec(task)
    if name == "gameboy":  # also a ROM for which there is no file of a game yet
        from ..play.handheld import play_handheld

        return play_handheld(given.get("rom", ""), given.get("game", ""))
    if not has_game(find(task)):
        return play_game(task, seed)
    if run is None:
        return play_against(task, seed, against)
    return play_against_run(task, seed, run, runs_dir, resolver_settings(set, resolve=resolve)[0])


@app.command
def tune(
    *,
    flags: OptionalFlags = None,
    within: float = 120.0,
    json: Json = False,
) -> int:
    """Find the number of environments, workers and the backend that are fastest for a task on this machine.

    Args:
        flags: The configuration, whose backend, N and workers are where the search starts.
        within: Seconds for which to search, about.
        json: Print one JSON object and nothing else on stdout.
    """
    from .tune import tune_training

    return tune_training(load_config(flags), within, json=json)


@app.command(name="env-server")
def env_server(
    *,
    task: str = "drmario",
    backend: str = "socket",
    num_envs: int = 1,
    seed: int = 0,
    path: Path | None = None,
    port: int | None = None,
    token_file: Path | None = None,
) -> int:
    """Serve environments to another trainer, in any language, until Ctrl-C or SIGTERM. See docs/transports.md.

    Args:
        task: The task and its parameters, for example autochess:players=8.
        backend: Protocol: socket (binary frames over a Unix socket) or http (JSON on 127.0.0.1).
        num_envs: Number of environments.
        seed: Random seed.
        path: Path of the Unix socket. Default: TRAINING_SOCKET_PATH, or a new path, printed on stderr.
        port: Port of the HTTP server. Default: a free port, printed on stderr.
        token_file: File that contains the token for HTTP. Default: PAC_TOKEN, or a new token, printed on stderr.
    """
    from .serve import serve_environments

    return serve_environments(task, backend, num_envs, seed, path=path, port=port, token_file=token_file)


@app.command
def replay(
    file: Path,
    *more: Annotated[Path, Parameter(name="FILE")],
    headless: Annotated[bool, Parameter(name=["--check", "--headless"])] = False,
    json: bool = False,
    export: Path | None = None,
    video: Path | None = None,
    fps: Fps = None,
    scale: Enlarged = None,
    against: str | None = None,
    policy: str | None = None,
    runs_dir: Path = RUNS,
    trust: bool = False,
) -> int:
    """Show a recorded episode. Space plays it, and the arrow keys step through it.

    Args:
        file: The recorded episode: runs/NAME/episodes/*.jsonl. In the app, press `r` to record one.
        more: With --video, further episodes, which are shown side by side.
        headless: Replay the episode without the app and compare every byte. Exits with code 1 at the first difference.
        json: Like --check, but prints the result as one JSON object.
        export: Write the screens of the app to FILE.cast (a terminal recording) or FILE.gif (an animated image).
        video: Write the board with a caption to this file: FILE.mp4, FILE.webm, FILE.gif or FILE.cast.
        fps: With --video, steps per second. Default: so many that the film takes ten seconds, but from 4 to 30.
        scale: With --video, by what the board is enlarged.
        against: What this policy would do at each step: a run, RUN@best, RUN@STEPS or random. See docs/compare.md.
        policy: With --against, whose episode it is. Default: the run in whose folder it is, or whose name it has.
        runs_dir: Folder that contains the runs.
        trust: Use the task of the episode, even if it runs code or names a file.
    """
    from ...envs import BadParameter
    from .film import film_episodes
    from .replay import replay_against, replay_episode

    if video is not None:
        if headless or json or export is not None:
            raise BadParameter("--video is used alone, without --check, --json and --export")
        return film_episodes((file, *more), video, fps=fps, scale=scale, trust=trust)
    if more or fps is not None or scale is not None:
        raise BadParameter("several episodes, --fps and --scale are for films: add --video FILE.mp4")
    if against is not None and export is None:
        return replay_against(
            file, against, policy=policy, runs_dir=runs_dir, headless=headless, json=json, trust=trust
        )
    if against is not None or policy is not None:
        raise BadParameter("--policy needs --against RUN, which is used without --export")
    return replay_episode(file, headless=headless, json=json, export=export, trust=trust)


@app.command
def film(
    name: Annotated[str, Parameter(name="RUN")],
    target: Annotated[Path, Parameter(name="FILE")],
    *,
    flags: OptionalFlags = None,
    sample: bool = False,
    fps: Fps = None,
    scale: Enlarged = None,
) -> int:
    """Make a film of a training: the same episode as each kept checkpoint plays it. Train with --keep every:NUMBER.

    Args:
        name: Name or folder of the run, or `latest`.
        target: The film: FILE.mp4, FILE.webm, FILE.gif or FILE.cast.
        flags: The configuration. Values that are not set come from the run; --seed chooses the episode.
        sample: Sample actions from the policy instead of taking the most likely one.
        fps: Steps per second. Default: so many that the film takes ten seconds, but from 4 to 30.
        scale: By what the board is enlarged.
    """
    from .film import film_training

    config = load_config(flags, resume=name, learn=False, greedy=not sample)
    return film_training(config, target, fps=fps, scale=scale)


@app.command
def tasks(*, json: Json = False) -> int:
    """List the built-in and installed tasks."""
    from .show import show_tasks

    return show_tasks(json=json)


@app.command
def config(*, flags: OptionalFlags = None, json: Json = False) -> int:
    """Show every setting and its source."""
    from .show import show_config

    return show_config(load_flags(flags), json=json)


@app.command
def serve(*arguments: Annotated[str, Parameter(name="COMMAND", allow_leading_hyphen=True)], port: Port = 8000) -> int:
    """Show the app in a browser on this machine. Requires the extra [web].

    Each browser tab starts its own app: `pac-tui serve run --num-envs 16` starts one session per tab.

    Args:
        arguments: The command to run in the browser, with its options. Default: `run`.
        port: Port on 127.0.0.1.
    """
    from .web import serve as serve_app

    return serve_app(arguments, port)


@app.command
def preferences(*, schema: bool = False, json: Json = False) -> int:
    """Show the theme, characters, refresh rates and keys, and the file that sets them.

    Args:
        schema: Print the JSON schema of the file, for use in an editor.
        json: Print one JSON object and nothing else on stdout.
    """
    from .show import show_preferences

    return show_preferences(schema=schema, json=json)


@app.command
def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print a shell script that completes commands and options. In bash, it also completes tasks, backends and runs.

    For bash: pac-tui completion bash > ~/.local/share/bash-completion/completions/pac-tui

    Args:
        shell: The shell.
    """
    from .completion import bash_values

    print(app.generate_completion(shell=shell))
    if shell == "bash":
        print(bash_values())
    return DONE


@app.command
def doctor(*, json: Json = False) -> int:
    """Check this machine: shared memory, cores, GPU, terminal and caches."""
    from .show import show_doctor

    return show_doctor(json=json)


@named_stdout()
def main(arguments: Sequence[str] | None = None, commands: App | None = None) -> int:
    """Run one of the commands, by default of `app`, and return its exit code. An error is one sentence on stderr."""
    given = sys.argv[1:] if arguments is None else arguments
    watches = commands is None and given[:1] == ["watch"]
    tokens = with_script_arguments(given) if watches else with_settings(given)
    try:
        if not watches:
            refuse_repeated_settings(tokens)
        done = (commands or app)(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return int(done or DONE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        title, text, code = describe_error(error)
        if not isinstance(error, BrokenPipeError):  # the reader of stdout has closed it
            print(f"pac-tui: {text}", file=sys.stderr)
        try:
            if "--json" in tokens and not watches:
                print(json_text({"title": title, "error": text, "code": code}))
            sys.stdout.flush()
        except OSError:  # otherwise Python reports an error when it flushes stdout at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code
