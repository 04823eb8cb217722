"""The command `pac-tui eval` for what a solver has learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...training.config import Config
from ...training.loading import trainer_of
from ...training.runs.folder import RunFolder
from ...training.trainers import evaluator, trainer_kind
from ..progress import progress_bar
from .show import console, plain_table, show_json, show_table

if TYPE_CHECKING:
    from ...training.mccfr.playing.estimate import Estimate
    from ...training.mccfr.playing.evaluation import Evaluation

RESOLVER = "resolver."
HANDS, RESOLVED_HANDS = 1_000_000, 400
"""Hands of a match by default, without and with a resolver; the help of `pac-tui eval` names both."""


def thinking(given: Sequence[str], *, resolve: bool) -> tuple[dict[str, str] | None, tuple[str, ...]]:
    """Return the resolver's settings among some `section.setting=value`, None if it is not asked for; and the rest.

    Args:
        given: What `--resolver.max-depth 3` and the like have become.
        resolve: Whether it is asked for without any.
    """
    parts = [(text, *text.removeprefix(RESOLVER).partition("=")) for text in given]
    found = {name.replace("-", "_"): value for text, name, _, value in parts if text.startswith(RESOLVER)}
    return found if found or resolve else None, tuple(text for text in given if not text.startswith(RESOLVER))


def solves(config: Config) -> bool:
    """Whether what a run learned is measured, and not played."""
    return bool(trainer_kind(trainer_of(config)).evaluate)


def evaluate_solved(
    config: Config,
    name: str,
    *,
    hands: int | None,
    against: str,
    resolver: Mapping[str, Any] | None,
    json: bool = False,
) -> int:
    """Measure a run of the solver, and print the result; return the exit code.

    Args:
        config: The run's configuration.
        name: The run: its name or its folder.
        hands: Hands to play, where not all deals can be gone through; `HANDS` or `RESOLVED_HANDS` if None.
        against: Who to play against: see `training.mccfr.playing.matches.BOTS`, or a run.
        resolver: Settings with which the run's strategy thinks again at its decisions; None if it does not.
        json: Print one JSON object.

    Raises:
        BadParameter: What is asked for does not fit.
    """
    evaluate = evaluator(trainer_of(config))
    run = RunFolder.find(config.runs_dir, name)
    wanted = hands or (HANDS if resolver is None else RESOLVED_HANDS)
    with progress_bar(f"eval {run.name}") as tell:
        found = evaluate(
            run, config.runs_dir, hands=wanted, against=against, resolver=resolver, seed=config.seed, on_progress=tell
        )
    if json:
        return show_json(found.plain())
    for sentence in found.skipped:
        console.print(sentence, markup=False)
    _show(found)
    return 0


def _show(found: Evaluation) -> None:
    thinking = ", thinking again at its decisions" if found.resolved else ""
    console.print(f"{found.run}: {found.task} after {found.iterations:,} iterations{thinking}", markup=False)
    table = plain_table("measured", "per hand", "95 %", "hands")
    table.add_row(f"won against {found.against}", *_columns(found.won, found.unit))
    if found.nash_conv is not None:
        table.add_row("NashConv, what best responses gain", f"{found.nash_conv:.6f} chips", "exact", "all")
        table.add_row("exploitability, half of it", f"{found.nash_conv / 2:.6f} chips", "exact", "all")
    if found.local_best_response is not None:
        table.add_row("lost to a local best response", *_columns(found.local_best_response, found.unit))
    show_table(table)
    if found.hands_played:
        console.print(f"Hands requested: {found.hands_requested:,}. Hands played: {found.hands_played:,}.")
    else:
        console.print("All deals were computed; the number of hands does not matter.")


def _columns(estimate: Estimate, unit: int) -> tuple[str, str, str]:
    """Return what is won, how far it may be off, and of how many hands: in chips, or in thousandths of a big blind."""
    scale, name = (1.0, "chips") if unit == 1 else (1000 / unit, "mbb")
    digits = 4 if unit == 1 else 1
    won = f"{estimate.mean * scale:+.{digits}f} {name}"
    if not estimate.hands:
        return won, "exact", "all"
    return won, f"± {estimate.margin * scale:.{digits}f}", f"{estimate.hands:,}"
