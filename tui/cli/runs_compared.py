"""`pac-tui runs compare`: how runs, or groups of runs with several seeds, differ."""

from __future__ import annotations

import csv as csv_module
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from rich.table import Table

from ...envs.files import write_whole
from ...training.exits import DONE
from ...training.runs.folder import RunFolder
from ...training.runs.metrics import Metrics
from ...training.runs.overview import RunOverview
from ...training.units import STEPPED, Units
from ..drawing.numbers import readable
from ..drawing.spark import sparkline
from ..run_table import OPTIONS, Against, RunGroup, check_names, groups_of, sheet_of, value_of
from ..terminal.report_file import check_writable
from .run_words import label_of, shown_value
from .show import console, plain_table, show_json, show_table

OF_ONE_RUN = frozenset({"id", "started", "written", "config.name", "run"})
"""Keys that differ in any two runs and are not worth comparing."""


def compare_runs(
    runs: Sequence[RunOverview], *, columns: Sequence[str] = (), csv: Path | None, svg: Path | None, json: bool
) -> int:
    """Print what differs between runs, and write files of it; return the exit code.

    Args:
        columns: Names of settings and results to print instead of those that differ.

    Raises:
        UnknownName: No run has anything under one of these names.
    """
    for option, file in (("--csv", csv), ("--svg", svg)):
        if file is not None:
            check_writable(option, file)
    groups = groups_of(runs)
    read: dict[Path | None, Metrics] = {
        run.folder: RunFolder(run.folder).read_metrics() for run in runs if run.folder is not None and not run.error
    }
    sheets = [_with_best(run, groups[0], read) for run in runs]
    check_names(columns, sheets, "column")
    if csv is not None:
        write_whole(csv, _csv(runs, groups, sheets))
    if svg is not None:
        from .runs_picture import picture_of

        write_whole(svg, picture_of(groups))
    if json:
        shown = (
            {name: value_of(sheet, name) for name in columns}
            if columns
            else {key: sheet.get(key) for key in _differing(sheets)}
            for sheet in sheets
        )
        return show_json(
            {
                "runs": {run.name: one for run, one in zip(runs, shown, strict=True)},
                "groups": [_facts(group, groups[0]) for group in groups],
            }
        )
    show_table(_table(groups, dict(zip((run.name for run in runs), sheets, strict=True)), columns))
    for run in runs:
        if run.folder is not None and run.folder in read and (damaged := read[run.folder].damaged):
            warn_of_damage(RunFolder(run.folder), damaged)
    return DONE


def warn_of_damage(run: RunFolder, damaged: int) -> None:
    """Report how many damaged lines of a run's metrics were skipped."""
    lines = "1 line" if damaged == 1 else f"{damaged:,} lines"
    console.print(f"{run.entry('metrics.jsonl')}: {lines} skipped: damaged, truncated or changed", markup=False)


def _with_best(run: RunOverview, group: RunGroup, read: Mapping[Path | None, Metrics]) -> dict[str, Any]:
    """Return all that is known of a run; the best value is that of all lines."""
    goal, rows = group.goal, read[run.folder].rows if run.folder in read else []
    sheet = sheet_of(run)
    del sheet["best"]
    return {**sheet, f"best {goal.name}": goal.best(row[goal.name] for row in rows if goal.name in row)}


def _differing(sheets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys in which runs differ: settings and options first, sorted, and then results."""
    keys = dict.fromkeys(key for sheet in sheets for key in sheet)
    found = [
        key for key in keys if key not in OF_ONE_RUN and any(sheet.get(key) != sheets[0].get(key) for sheet in sheets)
    ]
    return sorted(found, key=lambda key: (not key.startswith(OPTIONS), key if key.startswith(OPTIONS) else ""))


def _table(groups: Sequence[RunGroup], sheets: Mapping[str, Mapping[str, Any]], columns: Sequence[str] = ()) -> Table:
    """Return a table with a column per group."""
    words = {run.units for group in groups for run in group.runs}
    units: Units = words.pop() if len(words) == 1 else STEPPED
    goal, several = groups[0].goal, any(len(group.runs) > 1 for group in groups)
    table = plain_table("", *(group.title for group in groups))
    curves = (group.band(units.over)[1].tolist() for group in groups)
    table.add_row(goal.title, *(sparkline(values, log=goal.log) for values in curves))
    if several:
        for name, cells in _statistics(groups).items():
            if any(cells):
                table.add_row(name, *cells)
    own = [group.sheet(sheets) for group in groups]
    for name in columns:
        table.add_row(name, *(shown_value(value_of(sheet, name)) for sheet in own))
    if columns:
        return table
    for key in _differing(own):
        if (name := label_of(key, units)) and any(shown_value(sheet.get(key)) for sheet in own):
            table.add_row(name, *(shown_value(sheet.get(key)) for sheet in own))
    return table


def _statistics(groups: Sequence[RunGroup]) -> dict[str, list[str]]:
    """Return the rows of the figures over seeds."""
    goal, figures = groups[0].goal, [group.figures() for group in groups]
    number: Callable[[Any], str] = lambda value: readable(value) if value is not None else ""  # noqa: E731
    against = [group.better_than(groups[0]) for group in groups[1:]]
    return {
        "seeds": [str(found["seeds"]) for found in figures],
        f"{goal.title}, mean": [number(found["mean"]) for found in figures],
        "interquartile mean": [number(found["iqm"]) for found in figures],
        "95 % interval": [_ends(found["low"], found["high"]) for found in figures],
        f"better than {groups[0].name}": ["", *map(_probability, against)],
    }


def _ends(low: float | None, high: float | None) -> str:
    return f"{readable(low)} to {readable(high)}" if low is not None else ""


def _probability(found: Against | None) -> str:
    if found is None:
        return ""
    ends = f" ({found.low:.0%} to {found.high:.0%})" if found.low is not None and found.high is not None else ""
    return f"{found.probability:.0%}{ends}"


def _facts(group: RunGroup, first: RunGroup) -> dict[str, Any]:
    """Return the figures of a group as JSON data."""
    against = group.better_than(first) if group is not first else None
    better = {"than": first.name, **against._asdict()} if against is not None else None
    return {
        "name": group.name,
        "runs": [run.name for run in group.runs],
        "goal": group.goal.name,
        **group.figures(),
        "better": better,
    }


def _csv(runs: Sequence[RunOverview], groups: Sequence[RunGroup], sheets: Sequence[Mapping[str, Any]]) -> str:
    """Return a table with a row per run: its group, what differs, and its results."""
    keys, text = _differing(sheets), StringIO()
    group_of = {(run.name, run.folder): group.name for group in groups for run in group.runs}
    writer = csv_module.writer(text, lineterminator="\n")
    writer.writerow(["run", "group", *keys])
    for run, sheet in zip(runs, sheets, strict=True):
        writer.writerow([run.name, group_of[run.name, run.folder], *(_cell(sheet.get(key)) for key in keys)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Return a value for a table; a text is no formula of a spreadsheet."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    return f"'{text}" if isinstance(value, str) and text[:1] in "=+-@" and text else value
