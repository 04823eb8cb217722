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
    from ...training.compare.pairing import RANDOM, random_policy
    from ...training.compare.seeds import common_task, compare, saved_policy

    headless = headless or json
    if not headless:
        check_terminal("add --headless to print the table")
    if set(names) == {RANDOM}:
        raise BadParameter("the task is that of a run: name at least one run")
    found = {
        name: saved_policy(name, runs_dir, asking(trust=trust), greedy=not sample)
        for name in dict.fromkeys(names)
        if name != RANDOM
    }
    tasks = [found[name][1] for name in names if name != RANDOM]
    task = common_task([name for name in names if name != RANDOM], tasks) if len(tasks) > 1 else tasks[0]
    one, other = (found[name][0] if name != RANDOM else random_policy() for name in names)
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
