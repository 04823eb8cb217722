"""The commands `pac-tui runs list`, `show`, `compare` and `rm`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from ...backends.system.segment import human_bytes
from ...envs import BadParameter
from ...training.config import RUNS
from ...training.diagnosis.of_run import FOUND, findings_of
from ...training.exits import DONE, FAILED
from ...training.runs.checkpoint import best_of, lasting_of
from ...training.runs.folder import CHECKPOINTS, METRICS, RunFolder, watched_runs
from ...training.runs.overview import RunOverview, goal_of, live_facts, overviews, units_and_figures
from ...training.runs.removal import Removal, check_removal, remove
from ...training.telemetry.changes import CHANGED, changes_in
from ...training.telemetry.findings import gravest_first
from ...training.units import STEPPED, Figure, Units, plural
from ..drawing.numbers import readable
from ..drawing.spark import sparkline
from .flags import OPTIONS, Json
from .show import console, flat, listed, plain_table, show_json, show_table

app = App(name="runs", default_parameter=OPTIONS)

Folder = Annotated[Path, Parameter(help="Folder that contains the runs.")]
Name = Annotated[str, Parameter(name="RUN", help="Name or folder of the run, or latest.")]
Listed = Annotated[str, Parameter(name="RUN")]
OF_ONE_RUN = frozenset({"id", "started", "written", "config.name"})
"""Keys that differ in any two runs and are not worth comparing."""
COLUMNS = ("run", "N", "done", "episodes", "goal", "", "state", "started")
LEFT_OUT = ("N", "", "started", "episodes", "state")
"""Columns that a narrow terminal does not show, the least important first."""
OF_EPISODES = frozenset({"episodes", "return_mean", "length_mean"})


@app.default
@app.command(name="list")
def list_runs(*, runs_dir: Folder = RUNS, json: Json = False) -> int:
    """List the runs, newest last."""
    folders = {runs_dir, watched_runs()}
    runs = [run for run in reversed(overviews(runs_dir)) if run.folder is not None and run.folder.parent in folders]
    if json:
        return show_json({"runs": [_facts(run) for run in runs]})
    if not runs:
        console.print(f"No runs in {runs_dir}. Start one with pac-tui run.", markup=False)
        return 0
    columns = {name: list(cells) for name, cells in zip(COLUMNS, zip(*map(_cells, runs), strict=True), strict=True)}
    for name in LEFT_OUT:
        if sum(max(map(len, (title, *cells))) + 2 for title, cells in columns.items()) > console.width + 2:
            del columns[name]
    table = plain_table(*columns)
    table.columns[0].min_width = max(len(run.name) for run in runs)  # other commands need the whole name
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*cells)
    show_table(table)
    for run in runs:
        if run.error:
            console.print(run.error, markup=False)
    return 0


def _cells(run: RunOverview) -> tuple[str, ...]:
    """Return a run's row of the list, in the order of `COLUMNS`."""
    goal, units, values = run.goal, run.units, [value for _, value in run.points("steps")]
    return (
        run.name,
        str(run.metadata.get("num_envs", "")),
        f"{run.metadata.get(units.over, 0):,} {units.counted}",
        f"{run.metadata.get('episodes', 0):,}" if units.episodes else "",
        f"{goal.title} {readable(values[-1])}" if values else "",
        sparkline(values, log=goal.log),
        run.state,
        _when(run.metadata.get("started", run.when)),
    )


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _facts(run: RunOverview) -> dict[str, Any]:
    error = {"error": run.error} if run.error else {}
    return {"name": run.name, **run.metadata, "live": run.pid is not None, **error}


@app.command
def compare(*names: Listed, runs_dir: Folder = RUNS, json: Json = False) -> int:
    """Compare the configuration and the results of runs.

    Args:
        names: Names or folders of two or more runs.
        runs_dir: Folder that contains the runs.
        json: Print one JSON object and nothing else on stdout.
    """
    if len(names) < 2:
        raise BadParameter(f"compare expects two or more runs, got {len(names)}; `pac-tui runs` lists them")
    runs = [RunFolder.find(runs_dir, name) for name in names]
    read = [run.read_metrics() for run in runs]
    metrics = [one.rows for one in read]
    goal = goal_of(runs[0].metadata(), metrics[0][-1] if metrics[0] else ())
    sheets = [_last(rows, goal) | flat(_compared(run)) for run, rows in zip(runs, metrics, strict=True)]
    keys = [key for key in dict.fromkeys(key for sheet in sheets for key in sheet) if _differs(key, sheets)]
    if json:
        return show_json(
            {"runs": {run.name: {key: sheet.get(key) for key in keys} for run, sheet in zip(runs, sheets, strict=True)}}
        )
    words = {units_and_figures(run.metadata())[0] for run in runs}
    units = words.pop() if len(words) == 1 else STEPPED
    table = plain_table("", *(run.name for run in runs))
    values = [[row[goal.name] for row in rows if goal.name in row] for rows in metrics]
    table.add_row(goal.title, *(sparkline(found, log=goal.log) for found in values))
    for key in keys:
        if name := _label(key, units):
            table.add_row(name, *(_shown(sheet.get(key)) for sheet in sheets))
    show_table(table)
    for run, one in zip(runs, read, strict=True):
        _warn(run, one.damaged)
    return 0


def _compared(run: RunFolder) -> dict[str, Any]:
    """Return what is compared of a run: not its findings and changes, which have texts."""
    return {name: value for name, value in run.metadata().items() if name not in {FOUND, CHANGED}}


def _last(rows: Sequence[Mapping[str, Any]], goal: Figure) -> dict[str, Any]:
    """Return the figures of a run's last iteration and its best value of the goal."""
    best = goal.best(row[goal.name] for row in rows if goal.name in row)
    return {**(rows[-1] if rows else {}), f"best {goal.name}": best}


def _label(key: str, units: Units) -> str:
    """Return the trainer's word for a key; empty if the trainer does not count it."""
    if units is STEPPED:
        return key
    words = {
        "num_envs": plural(units.environment),
        "steps": plural(units.step),
        "frames": plural(units.frame),
        "iterations": "",  # already shown as frames
        "fps": units.fps,
        "sps": units.sps,
    }
    return "" if key in OF_EPISODES and not units.episodes else words.get(key, key)


def _differs(key: str, sheets: Sequence[Mapping[str, Any]]) -> bool:
    return key not in OF_ONE_RUN and any(sheet.get(key) != sheets[0].get(key) for sheet in sheets)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if type(value) is int else "" if value is None else str(value)


@app.command
def show(name: Name, *, runs_dir: Folder = RUNS, json: Json = False) -> int:
    """Show the configuration, progress and checkpoints of a run."""
    run = RunFolder.find(runs_dir, name)
    saved = run.entry(CHECKPOINTS).names("step-*")
    metadata: dict[str, Any] = {
        "name": run.name,
        "folder": str(run.path),
        **run.metadata(),
        **live_facts(run),
        "checkpoints": saved,
    }
    if lasting := lasting_of(run.entry(CHECKPOINTS)):
        metadata["kept_checkpoints"] = lasting
    if found := best_of(run.entry(CHECKPOINTS)):
        metadata["best"] = {"checkpoint": found[0], "metric": found[1].metric, "value": found[1].value}
    if damaged := run.read_metrics().damaged:
        metadata["damaged_metrics"] = damaged
    if json:
        return show_json(metadata)
    table = listed("", "")
    units = units_and_figures(metadata)[0]
    findings = gravest_first(findings_of(run))
    for key, value in flat(
        {
            **metadata,
            FOUND: [f"{one.severity.name.lower()}: {one.text}" for one in findings],
            CHANGED: [change.text for change in changes_in(metadata)],
        }
    ).items():
        if value is not None and (name := _label(key, units)):
            table.add_row(name, _when(value) if key in {"started", "written"} else _shown(value))
    show_table(table)
    _warn(run, damaged)
    return 0


def _warn(run: RunFolder, damaged: int) -> None:
    """Report how many damaged lines of a run's metrics were skipped."""
    if damaged:
        lines = "1 line" if damaged == 1 else f"{damaged:,} lines"
        console.print(f"{run.path / METRICS}: {lines} skipped: damaged, truncated or changed", markup=False)


@app.command
def rm(*names: Listed, runs_dir: Folder = RUNS, yes: bool = False) -> int:
    """Remove runs and their checkpoints, after confirmation.

    Args:
        names: Names of the runs: folders directly inside --runs-dir.
        runs_dir: Folder that contains the runs.
        yes: Do not ask for confirmation.
    """
    if not names:
        raise BadParameter("name the runs to remove; `pac-tui runs` lists them")
    removals = [check_removal(_parent_of(name, runs_dir), name) for name in dict.fromkeys(names)]
    if not yes and (sys.stdin is None or not sys.stdin.isatty()):
        raise BadParameter(
            "runs rm asks for confirmation, but stdin is not a terminal; add --yes to remove without confirmation"
        )
    try:
        for removal in removals:
            removal.run.claim()
        if not yes and not _confirmed(removals):
            console.print("Nothing was removed.")
            return FAILED
        for removal in removals:
            remove(removal.run)
    finally:
        for removal in removals:
            removal.run.release()
    return DONE


def _parent_of(name: str, runs_dir: Path) -> Path:
    """Return the folder that contains a run: that of all runs, or that of watched scripts."""
    watched = watched_runs()
    alone = watched is not None and not (runs_dir / name).exists() and Path(name).name == name
    return watched if alone and watched is not None and (watched / name).is_dir() else runs_dir


def _confirmed(removals: Sequence[Removal]) -> bool:
    """Show the runs to remove, and ask for confirmation."""
    for removal in removals:
        count = removal.checkpoints
        saved = f"{count} checkpoint{'' if count == 1 else 's'}"
        console.print(f"{removal.run.path}: {human_bytes(removal.size)}, {saved}")
    try:
        return input("Remove? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False
