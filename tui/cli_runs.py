"""The commands `pac-tui runs list`, `show` and `rm`."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from ..training.runs import RunFolder
from ..training.sessions import live_folders, refuse_live
from .cli_show import console, plain_table, show_json

app = App(name="runs", help="List, show or remove runs.", default_parameter=Parameter(negative=()))

Folder = Annotated[Path, Parameter(help="Where runs are kept.")]
Json = Annotated[bool, Parameter(help="Print one JSON object and nothing else on stdout.", show_default=False)]
Name = Annotated[str, Parameter(name="RUN", help="The run: its name or its folder.")]
RUNS = Path("runs")


@app.default
@app.command(name="list")
def list_runs(*, runs_dir: Folder = RUNS, json: Json = False) -> int:
    """List the runs, the newest last."""
    live = live_folders()
    cards = [{"name": run.name, **run.card(), "live": run.path.resolve() in live} for run in RunFolder.all(runs_dir)]
    if json:
        return show_json({"runs": cards})
    if not cards:
        console.print(f"No runs in {runs_dir}: pac-tui run makes one.", markup=False)
        return 0
    table = plain_table("run", "N", "steps", "episodes", "return", "state", "started")
    for card in cards:
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(card.get("started", 0)))
        returned = card.get("return_mean")
        table.add_row(
            card["name"],
            str(card["num_envs"]),
            f"{card.get('steps', 0):,}",
            f"{card.get('episodes', 0):,}",
            f"{returned:.3f}" if isinstance(returned, float) else "",
            _state(card),
            started,
        )
    console.print(table)
    return 0


def _state(card: Mapping[str, Any]) -> str:
    """What a run does, or how it ended: a card that says `running` may be that of a process that was killed."""
    if card["live"]:
        return "live"
    return "died" if card["state"] == "running" else str(card["state"])


@app.command
def show(name: Name, *, runs_dir: Folder = RUNS, json: Json = False) -> int:
    """Show a run: what it was started with, how far it came, its checkpoints."""
    run = RunFolder.find(runs_dir, name)
    checkpoints = sorted(path.name for path in run.checkpoints.iterdir() if not path.name.startswith("."))
    card: dict[str, Any] = {"name": run.name, "folder": str(run.path), **run.card(), "checkpoints": checkpoints}
    if json:
        return show_json(card)
    table = plain_table("", "")
    table.show_header = False
    for key, value in card.items():
        for inner, item in value.items() if isinstance(value, dict) else (("", value),):
            if item is not None:
                table.add_row(f"{key}.{inner}" if inner else key, f"{item:,}" if type(item) is int else str(item))
    console.print(table, markup=False)
    return 0


@app.command
def rm(*names: Name, runs_dir: Folder = RUNS) -> int:
    """Remove runs with their checkpoints; asks nothing."""
    runs = [RunFolder.find(runs_dir, name) for name in names]
    for run in runs:
        refuse_live(run)
    for run in runs:
        shutil.rmtree(run.path)
    return 0
