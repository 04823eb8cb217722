"""The `pac-tui` command: what can be typed. What the commands do stands beside this file."""

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
from ..output import json_text
from .errors import told
from .flags import AnyFlags, Json, Switch, load_config, load_flags, with_settings
from .stdout import named_stdout

Port = Annotated[int, Parameter(validator=Number(gte=1, lte=65535))]

app = App(
    name="pac-tui",
    help="Run reinforcement-learning training over many environments, and watch every one of them.",
    help_epilogue=(
        "`pac-tui` alone is `pac-tui run`. Every option of the configuration is also a variable (`PAC_NUM_ENVS`) and a "
        "key of the file that `--config` names (`num_envs`); `pac-tui config` lists them, the trainer's settings too. "
        "Exit codes: 0 fine, 1 failed, 2 bad usage, 130 interrupted."
    ),
    default_parameter=Parameter(negative=()),
    help_format="markdown",
    version=lambda: version("pac-tui"),
    version_flags=["--version"],
)
app.command("pac.tui.cli.bench:app", name="bench", help="Measure speed and what it costs, alone and beside others.")
app.command("pac.tui.cli.runs:app", name="runs", help="List, show, compare or remove runs.")


@app.default
@app.command
def run(
    *,
    flags: AnyFlags = None,
    headless: Switch = False,
    json: Json = False,
    report: Path | None = None,
    in_process: Switch = False,
) -> int:
    """Train, and watch it.

    Args:
        flags: The configuration.
        headless: Show a progress line instead of the app.
        json: With --headless: print the report as one JSON object on stdout.
        report: Write the report as JSON to this file at the end.
        in_process: Run the session in a thread of the app, for a debugger.
    """
    with importing():
        from .run import run_session

    return run_session(load_config(flags), headless=headless, json=json, report=report, in_process=in_process)


@app.command
def attach(
    name: Annotated[str | None, Parameter(name="RUN")] = None,
    *,
    runs_dir: Path = RUNS,
    json: Json = False,
) -> int:
    """Show a session that runs already, or a script that is watched; without a name, list them.

    Args:
        name: The run's name or the beginning of it, the number of its process, or `latest`.
        runs_dir: Where runs are kept: the last state of one that failed is shown, too.
        json: Print the sessions that run as one JSON object, and show none.
    """
    from .attach import attach_session

    return attach_session(name, runs_dir, json=json)


@app.command(name="eval")
def evaluate(
    name: Annotated[str, Parameter(name="RUN")],
    *,
    flags: AnyFlags = None,
    sample: Switch = False,
    hands: Annotated[int | None, Parameter(validator=Number(gte=4))] = None,
    against: str | None = None,
    resolve: Switch = False,
    headless: Switch = False,
    json: Json = False,
    report: Path | None = None,
) -> int:
    """Let a run's trained policy play, without learning; measure what a solver has learned.

    Args:
        name: The run: its name or its folder.
        flags: The configuration; what is not given is as in the run.
        sample: Draw the actions from the policy instead of taking the likeliest.
        hands: Of a solver: hands to play, an even number, by default 1,000,000, or 400 with --resolve. Of small games
            all deals are computed instead.
        against: Of a solver: another run of the same game, or uniform, call, fold or allin; by default uniform.
        resolve: Of a solver: let the run think again at every decision; --resolver.max-depth 3 and the like say how.
        headless: Show a progress line instead of the app; plays 100 episodes unless told otherwise.
        json: With --headless: print the report as one JSON object on stdout.
        report: Write the report as JSON to this file at the end.
    """
    from ...envs import BadParameter
    from .eval import evaluate_solved, solves, thinking
    from .run import run_session

    resolver, rest = thinking(flags.set if flags else (), resolve=resolve)
    flags = flags.model_copy(update={"set": rest}) if flags else None
    config = load_config(flags, resume=name, learn=False, greedy=not sample)
    if solves(config):
        return evaluate_solved(config, name, hands=hands, against=against or "uniform", resolver=resolver, json=json)
    if hands or against or resolver is not None:
        raise BadParameter(f"--hands, --against and --resolve are for runs of a solver; {name} was trained by another")
    if headless and config.steps is config.frames is config.episodes is config.seconds is None:
        config = config.model_copy(update={"episodes": 100})
    return run_session(config, headless=headless, json=json, report=report)


@app.command
def play(
    task: str = "drmario",
    *,
    seed: int = 0,
    against: str = "random",
    run: str | None = None,
    resolve: Switch = False,
    set: Annotated[tuple[str, ...], Parameter(show_default=False)] = (),  # noqa: A002 - the flag's name
    runs_dir: Path = RUNS,
) -> int:
    """Play a game yourself: drmario with the arrow keys, kuhn, leduc, liars_dice and holdem with numbers.

    Args:
        task: The game, with its parameters: drmario:level=5.
        seed: Seed of the game.
        against: Who holds the other cards: random, or myself.
        run: Play against what this run has learned: its name or its folder, or latest.
        resolve: Let the run think again at every decision.
        set: A setting of how it thinks; --resolver.max-depth 3 is short for --set resolver.max-depth=3.
        runs_dir: Where runs are kept.
    """
    from ...envs import find
    from ...envs.poker.families import has_game
    from ..play.play import play as play_game
    from ..play.poker import play_against, play_against_run
    from .eval import thinking

    if not has_game(find(task)):
        return play_game(task, seed)
    if run is None:
        return play_against(task, seed, against)
    return play_against_run(task, seed, run, runs_dir, thinking(set, resolve=resolve)[0])


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
    """Serve environments to a trainer elsewhere, in any language, until Ctrl-C or SIGTERM; docs/transports.md has more.

    Args:
        task: The task, with its parameters: autochess:players=8.
        backend: How: socket, the binary protocol, or http, JSON on 127.0.0.1.
        num_envs: Environments.
        seed: Seed of everything.
        path: Where the socket goes; a path of our own is told otherwise.
        port: The port of http; a free one is told otherwise.
        token_file: A file with the token that http wants; else PAC_TOKEN, or one that is made and told.
    """
    from .serve import serve_environments

    return serve_environments(task, backend, num_envs, seed, path=path, port=port, token_file=token_file)


@app.command
def replay(
    file: Path,
    *,
    headless: Annotated[bool, Parameter(name=["--check", "--headless"], show_default=False)] = False,
    json: Json = False,
    export: Path | None = None,
    trust: Switch = False,
) -> int:
    """Show a recorded episode: Space plays it, the arrow keys step through it.

    Args:
        file: What `r` recorded: runs/NAME/episodes/*.jsonl.
        headless: Show nothing; play it again and compare every step byte for byte, exit code 1 at the first difference.
        json: Check, and print the result as one JSON object.
        export: Write it as a recording of a terminal, FILE.cast, or as a picture that moves, FILE.gif.
        trust: Use the episode's task, even if it runs code which is not installed as a task.
    """
    from .replay import replay_episode

    return replay_episode(file, headless=headless, json=json, export=export, trust=trust)


@app.command
def tasks(*, json: Json = False) -> int:
    """List the tasks that can be trained on."""
    from .show import show_tasks

    return show_tasks(json=json)


@app.command
def config(*, flags: AnyFlags = None, json: Json = False) -> int:
    """Show the effective configuration, and where each value came from."""
    from .show import show_config

    return show_config(load_flags(flags), json=json)


@app.command
def serve(*arguments: Annotated[str, Parameter(name="COMMAND", allow_leading_hyphen=True)], port: Port = 8000) -> int:
    """Show the app in a browser on this machine; needs the extra [web].

    Every tab is an app of its own: `pac-tui serve run --num-envs 16` trains once per tab.

    Args:
        arguments: What the app is to do, as on the command line; `run` if nothing is said.
        port: Port on 127.0.0.1.
    """
    from ..web import serve as serve_app

    return serve_app(arguments, port)


@app.command
def preferences(*, schema: Switch = False, json: Json = False) -> int:
    """Show theme, characters, rates and keys, and the file that changes them.

    Args:
        schema: Print the JSON schema of the file, for editors.
        json: Print one JSON object and nothing else on stdout.
    """
    from .show import show_preferences

    return show_preferences(schema=schema, json=json)


@app.command
def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print a script that completes commands and options in a shell, in bash also tasks, backends and runs.

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
    """Check this machine: shared memory, cores, GPU, terminal, caches."""
    from .show import show_doctor

    return show_doctor(json=json)


@named_stdout()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; an error is one sentence on stderr."""
    tokens = with_settings(sys.argv[1:] if arguments is None else arguments)
    try:
        done = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return int(done or DONE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        title, text, code = told(error)
        if not isinstance(error, BrokenPipeError):  # whoever read stdout has seen enough
            print(f"pac-tui: {text}", file=sys.stderr)
        try:
            if "--json" in tokens:
                print(json_text({"title": title, "error": text, "code": code}))
            sys.stdout.flush()
        except OSError:  # Python would complain when it flushes the rest
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code
