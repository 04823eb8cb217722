"""The commands `pac-tui runs list`, `show`, `compare` and `rm`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.table import Table

from ...backends.system.segment import human_bytes
from ...envs import BadParameter
from ...training.config import RUNS
from ...training.diagnosis.of_run import FOUND, findings_of
from ...training.exits import DONE, FAILED
from ...training.runs import notes
from ...training.runs.checkpoint import best_of, lasting_of
from ...training.runs.folder import CHECKPOINTS, RunFolder, is_run, watched_runs
from ...training.runs.overview import RunOverview, live_facts, overview_of, overviews, units_and_figures
from ...training.runs.removal import Removal, check_removal, remove
from ...training.runs.renaming import rename
from ...training.telemetry.changes import CHANGED, changes_in
from ...training.telemetry.findings import gravest_first
from ..drawing.numbers import readable
from ..drawing.spark import sparkline
from ..preferences import preferences
from ..run_table import check_names, chosen, flat, order_of, sheet_of, split_names, value_of
from .flags import OPTIONS, Json
from .run_words import label_of, shown_value
from .runs_compared import warn_of_damage
from .show import console, listed, plain_table, show_json, show_table

app = App(name="runs", default_parameter=OPTIONS)

Folder = Annotated[Path, Parameter(help="Folder that contains the runs.")]
Name = Annotated[str, Parameter(name="RUN", help="Name or folder of the run, or latest.")]
Listed = Annotated[str, Parameter(name="RUN")]
COLUMNS = ("run", "N", "done", "episodes", "goal", "", "state", "started")
LEFT_OUT = ("N", "", "started", "episodes", "state")
"""Columns that a narrow terminal does not show, the least important first."""


Columns = Annotated[
    str,
    Parameter(help="Columns beside the name, such as learning_rate,steps,return. Default: those of the preferences."),
]
Where = Annotated[
    str, Parameter(help="Only runs that fulfil this, such as \"return > 100 and task == 'CartPole-v1'\".")
]
Sort = Annotated[
    str, Parameter(allow_leading_hyphen=True, help="Name to sort by, the highest last; -NAME for the lowest last.")
]


@app.default
@app.command(name="list")
def list_runs(
    *, runs_dir: Folder = RUNS, columns: Columns | None = None, where: Where = "", sort: Sort = "", json: Json = False
) -> int:
    """List the runs, newest last. Columns, conditions and the order have names of settings, metrics, or `tag/WORD`."""
    runs = _listed(runs_dir, where, sort)
    if json:
        return show_json({"runs": [_facts(run) for run in runs]})
    if not runs:
        _say(f"No runs in {runs_dir}{' fulfil --where' if where else '. Start one with pac-tui run'}.")
        return 0
    names = split_names(columns) if columns is not None else preferences().runs.columns
    table = _chosen_table(runs, names) if names else _usual_table(runs)
    table.columns[0].min_width = max(len(run.name) for run in runs)  # other commands need the whole name
    show_table(table)
    for run in runs:
        if run.error:
            _say(run.error)
    return 0


def _listed(runs_dir: Path, where: str, sort: str) -> list[RunOverview]:
    """Return the runs that fulfil a condition, in order, the newest or the highest last."""
    folders = {runs_dir, watched_runs()}
    runs = [run for run in reversed(overviews(runs_dir)) if run.folder is not None and run.folder.parent in folders]
    sheets = [sheet_of(run) for run in runs] if where or sort else []
    if where and runs:
        hits = chosen(sheets, where)
        runs = [run for run, hit in zip(runs, hits, strict=True) if hit]
        sheets = [sheet for sheet, hit in zip(sheets, hits, strict=True) if hit]
    return [runs[index] for index in reversed(order_of(sheets, sort))] if sort else runs


def _say(text: str) -> None:
    console.print(text, markup=False)


def _usual_table(runs: Sequence[RunOverview]) -> Table:
    """Return the table of runs, with the columns for which a terminal has room."""
    cells = {name: list(cells) for name, cells in zip(COLUMNS, zip(*map(_cells, runs), strict=True), strict=True)}
    for name in LEFT_OUT:
        if sum(max(map(len, (title, *texts))) + 2 for title, texts in cells.items()) > console.width + 2:
            del cells[name]
    table = plain_table(*cells)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    return table


def _chosen_table(runs: Sequence[RunOverview], names: Sequence[str]) -> Table:
    """Return the table of runs with the columns that the user has chosen."""
    sheets = [sheet_of(run) for run in runs]
    check_names(names, sheets, "column")
    table = plain_table("run", *names)
    for run, sheet in zip(runs, sheets, strict=True):
        table.add_row(run.name, *(shown_value(value_of(sheet, name)) for name in names))
    return table


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
    said = {key: value for key, value in asdict(run.notes).items() if value}
    return {"name": run.name, **run.metadata, "live": run.pid is not None, **said, **error}


@app.command
def compare(
    *names: Listed,
    runs_dir: Folder = RUNS,
    where: Where = "",
    sort: Sort = "",
    columns: str = "",
    csv: Path | None = None,
    svg: Path | None = None,
    json: Json = False,
) -> int:
    """Compare the configuration and the results of runs; those that differ only in their seeds are one column.

    Args:
        names: Names or folders of two or more runs; none for all that fulfil --where.
        runs_dir: Folder that contains the runs.
        where: Only runs that fulfil this, such as "return > 100 and task == 'CartPole-v1'".
        sort: Name to sort by, the highest first; -NAME for the lowest first.
        columns: Show these settings and results, such as learning_rate,steps,return. Default: all that differ.
        csv: Write a table with a row per run to this file.
        svg: Write a picture of the curves to this file, of several seeds with their mean and standard deviation.
        json: Print one JSON object and nothing else on stdout.
    """
    from .runs_compared import compare_runs

    if names:
        runs = [overview_of(RunFolder.find(runs_dir, name)) for name in names]
        hits = chosen([sheet_of(run) for run in runs], where) if where else [True] * len(runs)
        runs = [run for run, hit in zip(runs, hits, strict=True) if hit]
        if sort:
            runs = [runs[index] for index in order_of([sheet_of(run) for run in runs], sort)]
    else:
        runs = list(reversed(_listed(runs_dir, where, sort))) if where or sort else []
    if len(runs) < 2:
        missing = " that fulfil --where" if where else ", or --where or --sort for all"
        raise BadParameter(f"compare expects two or more runs{missing}, got {len(runs)}; `pac-tui runs` lists them")
    return compare_runs(runs, columns=split_names(columns), csv=csv, svg=svg, json=json)


@app.command
def show(name: Listed, *, runs_dir: Folder = RUNS, json: Json = False) -> int:
    """Show the configuration, progress and checkpoints of a run; or the curves in logs of other programs.

    Args:
        name: Name or folder of the run, `latest`, or a folder or file of TensorBoard, W&B, Stable-Baselines3 or
            Lightning.
        runs_dir: Folder that contains the runs.
        json: Print one JSON object and nothing else on stdout.
    """
    if Path(name).exists() and not any(is_run(path) for path in (Path(name), runs_dir / name)):
        from .foreign_logs import show_logs

        return show_logs(Path(name), json=json)
    run = RunFolder.find(runs_dir, name)
    saved = run.entry(CHECKPOINTS).names("step-*")
    metadata: dict[str, Any] = {
        "name": run.name,
        "folder": str(run.path),
        **run.metadata(),
        **live_facts(run),
        "checkpoints": saved,
    }
    metadata |= {key: value for key, value in asdict(notes.read(run.entry())).items() if value}
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
        if value is not None and (name := label_of(key, units)):
            table.add_row(name, _when(value) if key in {"started", "written"} else shown_value(value))
    show_table(table)
    if damaged:
        warn_of_damage(run, damaged)
    return 0


@app.command
def tag(
    name: Name, *tags: Annotated[str, Parameter(name="TAG", allow_leading_hyphen=True)], runs_dir: Folder = RUNS
) -> int:
    """Give a run tags, words that `--where tag/WORD` finds; -TAG takes one away. Without TAG, show them.

    Args:
        name: Name or folder of the run, or `latest`.
        tags: The words, such as baseline.
        runs_dir: Folder that contains the runs.
    """
    entry = RunFolder.find(runs_dir, name).entry()
    found = notes.read(entry)
    if tags:
        found = notes.tagged(found, tags)
        notes.write(entry, found)
    _say(" ".join(found.tags) or "no tags")
    return DONE


@app.command
def note(name: Name, *text: Annotated[str, Parameter(name="TEXT")], runs_dir: Folder = RUNS) -> int:
    """Write a note about a run, or show it; an empty text removes it.

    Args:
        name: Name or folder of the run, or `latest`.
        text: The note.
        runs_dir: Folder that contains the runs.
    """
    entry = RunFolder.find(runs_dir, name).entry()
    found = notes.read(entry)
    if text:
        found = replace(found, note=" ".join(text).strip())
        notes.write(entry, found)
    _say(found.note or "no note")
    return DONE


@app.command(name="rename")
def rename_run(
    name: Annotated[str, Parameter(name="RUN")], new: Annotated[str, Parameter(name="NAME")], *, runs_dir: Folder = RUNS
) -> int:
    """Rename a run that is not being trained.

    Args:
        name: Name of the run: a folder directly inside --runs-dir.
        new: Its new name.
        runs_dir: Folder that contains the runs.
    """
    _say(f"{name} is now {rename(_parent_of(name, runs_dir), name, new).name}")
    return DONE


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
