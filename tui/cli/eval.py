"""The command `pac-tui eval`: plays episodes with a policy, or measures the strategy of a poker solver."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ...envs import BadParameter
from ...envs.trust import Vouch, refuse
from ...training.checkpoint_choice import LAST
from ...training.config import RUNS, Config
from ...training.exits import DONE
from ...training.loading import trainer_of
from ...training.runs.folder import RunFolder
from ...training.trainers import evaluator, trainer_kind
from ..drawing.numbers import readable
from ..terminal.modes import borrowed_terminal, check_terminal
from ..terminal.progress import progress_bar
from ..terminal.report_file import check_writable, write_report
from .show import console, plain_table, show_json, show_table

if TYPE_CHECKING:
    from ...training.mccfr.playing.estimate import Estimate
    from ...training.mccfr.playing.evaluation import Evaluation
    from ...training.playing import EvaluatedRun

RESOLVER = "resolver."
BEST = 10
"""How many of the best and of the worst episodes are printed."""
EPISODES = 100
"""Default number of episodes, as in the help of `pac-tui eval`."""
HANDS, RESOLVED_HANDS = 1_000_000, 400
"""Default number of hands without and with a resolver, as in the help of `pac-tui eval`."""


def resolver_settings(given: Sequence[str], *, resolve: bool) -> tuple[dict[str, str] | None, tuple[str, ...]]:
    """Split `section.setting=value` texts into the resolver's settings, None without a resolver, and the rest."""
    parts = [(text, *text.removeprefix(RESOLVER).partition("=")) for text in given]
    found = {name.replace("-", "_"): value for text, name, _, value in parts if text.startswith(RESOLVER)}
    return found if found or resolve else None, tuple(text for text in given if not text.startswith(RESOLVER))


def is_evaluated(config: Config) -> bool:
    """Whether a run is evaluated by a function instead of by playing episodes."""
    return bool(trainer_kind(trainer_of(config)).evaluate)


def evaluate_policy(config: Config, *, json: bool, report: Path | None, listed: bool = False) -> int:
    """Play episodes with the policy of a run, each to its end, and print the result; return the exit code.

    Raises:
        BadParameter: The configuration has a limit that would end episodes early.
        NoTerminal: There is no terminal for the list.
    """
    from ...training.playing import evaluate_run

    for limit in ("steps", "frames", "seconds", "until"):
        if getattr(config, limit) is not None:
            raise BadParameter(
                f"--{limit} would cut long episodes, so the mean return would be that of short ones; set --episodes"
            )
    if report is not None:
        check_writable("--report", report)
    if listed:
        check_terminal()
    episodes = config.episodes or EPISODES
    with progress_bar(f"eval {config.resume}") as progress, printing_to_stderr():
        evaluated = evaluate_run(
            config,
            episodes=episodes,
            keep=listed,
            on_progress=lambda played: progress(f"{played:,} of {episodes:,} episodes", played / episodes),
        )
    found = evaluated.report
    code = show_json(found) if json else _print_found(config, evaluated, episodes, listed=listed)
    written = write_report(report, found) if report is not None else DONE
    return code or written


def _print_found(config: Config, evaluated: EvaluatedRun, episodes: int, *, listed: bool) -> int:
    """Print the results and the episodes, or list them in the terminal; return the exit code."""
    found = evaluated.report
    for sentence in found["skipped"]:
        console.print(sentence, markup=False)
    actions = "sampled actions" if found["sampled"] else "the most likely actions"
    console.print(f"{found['run']}: {found['task']} after {found['steps']:,} steps, with {actions}", markup=False)
    table = plain_table("measured", "mean", f"95 % of {episodes:,} episodes")
    metrics = dict(found["evaluation"])
    interval = " to ".join(readable(metrics.pop(f"return_{end}", None)) for end in ("low", "high"))
    for name, value in metrics.items():
        table.add_row(name, readable(value), interval if name == "return" else "")
    show_table(table)
    code = _show_list(evaluated) if listed else DONE
    where = [] if config.runs_dir == RUNS else ["--runs-dir", str(config.runs_dir)]
    chosen = [] if config.checkpoint == LAST else ["--checkpoint", config.checkpoint]
    command = ["pac-tui", "eval", str(config.resume), "--episodes", str(episodes), *chosen, *where]
    _print_episodes(found, [] if listed else [*command, *["--sample"] * (not config.greedy)])
    return code


def _show_list(evaluated: EvaluatedRun) -> int:
    """List the episodes in the terminal; return the exit code."""
    from ..drawing.theme import match_terminal
    from ..replay.evaluation import show_evaluation

    match_terminal()
    with borrowed_terminal():
        return show_evaluation(evaluated) or DONE


def _print_episodes(found: Mapping[str, Any], command: Sequence[str]) -> None:
    """Print the episodes, best first, the middle of many left out; and the command that replays them, if any."""
    played = sorted(found["played"], key=lambda episode: -episode["returns"][0])
    table = plain_table("return", "length", "end", "environment", "episode", "seed")
    for episode in played[:BEST] + (played[BEST:][-BEST:]):
        table.add_row(
            readable(episode["returns"][0]),
            f"{episode['length']:,}",
            episode["outcome"] or "",
            f"{episode['environment']:,}",
            f"{episode['episode']:,}",
            str(episode["seed"]),
        )
    console.print()
    show_table(table)
    if len(played) > 2 * BEST:
        console.print(f"The {BEST} best and the {BEST} worst of {len(played):,} episodes; --json has all.")
    if command:
        console.print(Text(f"replay them: {shlex.join(command)}"))


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what environments print to stderr, since stdout is for the result."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def evaluate_solved(
    config: Config,
    name: str,
    *,
    hands: int | None,
    against: str,
    resolver: Mapping[str, Any] | None,
    vouch: Vouch = refuse,
    json: bool = False,
) -> int:
    """Measure the strategy of a solver's run and print the result; return the exit code.

    Raises:
        NotTrusted: `vouch` refused a run.
        BadParameter: An argument does not fit.
    """
    evaluate = evaluator(trainer_of(config))
    run = RunFolder.find(config.runs_dir, name)
    wanted = hands or (HANDS if resolver is None else RESOLVED_HANDS)
    with progress_bar(f"eval {run.name}") as progress:
        found = evaluate(
            run,
            config.runs_dir,
            hands=wanted,
            against=against,
            resolver=resolver,
            seed=config.seed,
            choice=config.checkpoint,
            vouch=vouch,
            on_progress=progress,
        )
    if json:
        return show_json(found.plain())
    for sentence in found.skipped:
        console.print(sentence, markup=False)
    _show(found)
    return 0


def _show(found: Evaluation) -> None:
    resolved = ", re-solving every decision" if found.resolved else ""
    console.print(f"{found.run}: {found.task} after {found.iterations:,} iterations{resolved}", markup=False)
    table = plain_table("measured", "per hand", "95 %", "hands")
    table.add_row(f"winnings against {found.against}", *_columns(found.won, found.unit))
    if found.nash_conv is not None:
        table.add_row("NashConv: gain of both best responses", f"{found.nash_conv:.6f} chips", "exact", "all")
        table.add_row("exploitability: half of NashConv", f"{found.nash_conv / 2:.6f} chips", "exact", "all")
    if found.local_best_response is not None:
        table.add_row("loss to a local best response", *_columns(found.local_best_response, found.unit))
    show_table(table)
    if found.hands_played:
        console.print(f"Hands requested: {found.hands_requested:,}. Hands played: {found.hands_played:,}.")
    else:
        console.print("All deals were computed; the number of hands does not matter.")


def _columns(estimate: Estimate, unit: int) -> tuple[str, str, str]:
    """Return the mean, the margin of the 95 % interval and the hands, in chips or thousandths of a big blind."""
    scale, name = (1.0, "chips") if unit == 1 else (1000 / unit, "mbb")
    digits = 4 if unit == 1 else 1
    won = f"{estimate.mean * scale:+.{digits}f} {name}"
    if not estimate.hands:
        return won, "exact", "all"
    return won, f"± {estimate.margin * scale:.{digits}f}", f"{estimate.hands:,}"
