"""The command `pac-tui compare`: two policies on the same seeds, as a table, or in lockstep in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...envs import BadParameter
from ..drawing.numbers import readable
from ..terminal.modes import check_terminal
from ..terminal.progress import progress_bar
from ..trust import asking
from .eval import printing_to_stderr
from .show import console, plain_table, show_json, show_table

if TYPE_CHECKING:
    from ...envs import Task
    from ...training.compare.pairing import SavedPolicy
    from ...training.compare.seeds import Comparison

ROWS = 20
"""How many seeds are printed: those that differ most."""


def compare_policies(
    names: tuple[str, str],
    *,
    seeds: int,
    seed: int,
    sample: bool,
    runs_dir: Path,
    trust: bool,
    headless: bool,
    json: bool,
) -> int:
    """Have two policies play the same seeds, and show or print how they differ; return the exit code.

    Raises:
        BadParameter: The policies cannot be compared.
        NotTrusted: The user refused what a run names.
        NoTerminal: There is no terminal for the screen.
    """
    from ...training.compare.pairing import HUMAN, RANDOM, random_policy, unknown_policy
    from ...training.compare.seeds import common_task, compare, is_solver, saved_policy

    headless, apart = headless or json, {RANDOM: random_policy(), HUMAN: unknown_policy(HUMAN)}
    if any(is_solver(name, runs_dir) for name in names):
        return _compare_strategies(names, seed=seed, runs_dir=runs_dir, trust=trust, json=json)
    if not headless:
        check_terminal("add --headless to print the table")
    if set(names) <= set(apart):
        raise BadParameter("the task is that of a run: name at least one run")
    if HUMAN in names and headless:
        raise BadParameter("a person plays on the screen: leave out --headless and --json")
    found = {
        name: saved_policy(name, runs_dir, asking(trust=trust), greedy=not sample)
        for name in dict.fromkeys(names)
        if name not in apart
    }
    tasks = [found[name][1] for name in names if name in found]
    task = common_task(names, tasks) if len(tasks) > 1 else tasks[0]
    one, other = (found[name][0] if name in found else apart[name] for name in names)
    if HUMAN in names:
        return _play_against(task, (one, other), seeds=seeds, seed=seed, greedy=not sample)
    total = 2 * seeds
    with progress_bar(f"compare {names[0]} {names[1]}") as progress, printing_to_stderr():
        comparison = compare(
            task,
            (one, other),
            seeds=seeds,
            seed=seed,
            greedy=not sample,
            on_progress=lambda played: progress(f"{played:,} of {total:,} episodes", played / total),
        )
    if json:
        return show_json(comparison.plain())
    if headless:
        print_comparison(comparison)
        return 0
    from ..compare.app import show_comparison

    return show_comparison(comparison)


def _play_against(task: Task, policies: tuple[SavedPolicy, SavedPolicy], *, seeds: int, seed: int, greedy: bool) -> int:
    """Let a person play the seeds beside a policy; return the exit code.

    Raises:
        BadParameter: A person cannot play the task here.
    """
    from ...training.compare.pairing import Pairing
    from ...training.playing import evaluation_seed
    from ..compare.app import show_pairing

    if task.players > 1 or task.action.shape:
        why = f"{task.players} seats" if task.players > 1 else "actions of several numbers"
        raise BadParameter(f"a person cannot play {task.name} beside a policy, since it has {why}")
    return show_pairing(Pairing(task, policies, evaluation_seed(seed), 0, greedy=greedy), range(seeds))


def _compare_strategies(names: tuple[str, str], *, seed: int, runs_dir: Path, trust: bool, json: bool) -> int:
    """Print where two strategies of a poker game differ; return the exit code."""
    from ...training.compare.strategies import compare_strategies

    with progress_bar(f"compare {names[0]} {names[1]}") as progress, printing_to_stderr():
        found = compare_strategies(names, runs_dir, asking(trust=trust), seed=seed, on_progress=progress)
    if json:
        return show_json(found.plain())
    for letter, name, count in zip("AB", found.names, found.iterations, strict=True):
        trained = f", after {count:,} iterations" if count else ""
        console.print(f"{letter}: {name}{trained}", markup=False)
    won = f"{readable(found.won.mean)} ± {readable(found.won.margin)}" if found.won.hands else readable(found.won.mean)
    deals = "all deals" if found.exact else f"{found.deals:,} drawn deals"
    console.print(f"{found.task}: B wins {won} chips per hand against A")
    if found.nash_conv is not None:
        console.print(f"gains of best responses: {' against A, '.join(map(readable, found.nash_conv))} against B")
    console.print(f"They decide differently {readable(found.distance)} times per hand, over {deals}:\n")
    table = plain_table("weighted", "reach", "distance", "seat", "hand", "history", "action: A, B")
    for spot in found.spots[:ROWS]:
        actions = "   ".join(f"{name}: {a:.0%}, {b:.0%}" for name, (a, b) in spot.actions.items())
        numbers = (f"{spot.weighted:.3%}", f"{spot.reach:.2%}", f"{spot.distance:.0%}")
        table.add_row(*numbers, str(spot.player + 1), spot.hand, spot.history, actions)
    show_table(table)
    return 0


def print_comparison(found: Comparison) -> None:
    """Print the figures of both, and the seeds that differ most."""
    for letter, policy in zip("AB", found.policies, strict=True):
        console.print(f"{letter}: {policy.label}, {policy.trainer} after {policy.steps:,} steps", markup=False)
    table = plain_table("", "A", "B", "B - A", f"95 % of {len(found.pairs):,} seeds", "d", "B better", "A better")
    for name, (a, b, paired) in found.figures.items():
        table.add_row(
            name,
            readable(a),
            readable(b),
            readable(paired.mean),
            f"{readable(paired.low)} to {readable(paired.high)}",
            readable(paired.effect),
            f"{paired.better:.0%}",
            f"{paired.worse:.0%}",
        )
    show_table(table)
    console.print()
    table = plain_table("seed", "return A", "B", "B - A", "length A", "B", "end A", "B", "parts at step")
    for pair in found.ranked[:ROWS]:
        table.add_row(
            f"{pair.env + 1:,}",
            *(readable(value) for value in (pair.a.returns[0], pair.b.returns[0], pair.difference)),
            f"{pair.a.length:,}",
            f"{pair.b.length:,}",
            found.outcome(pair.a),
            found.outcome(pair.b),
            "never" if pair.parting is None else f"{pair.parting:,}",
        )
    show_table(table)
    if len(found.pairs) > ROWS:
        console.print(f"The {ROWS} seeds that differ most of {len(found.pairs):,}; --json has all.")
