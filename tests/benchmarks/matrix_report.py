"""Writes the results of `matrix` as Markdown, JSON and SVG."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pac.training.bench.facts import Results

from .chart import Group, bar_chart
from .matrix import COMBINATIONS
from .table import measured_on

HEAD = "| combination | steps/s | target | rollout only | games/s | CPU | memory | GPU | VRAM | mean return |"


def write_matrix(result: Results, folder: Path) -> dict[str, str]:
    """Write `DATE-matrix.md`, `.json` and `.svg` into `folder`; return their paths by ending."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = time.strftime("%Y%m%d-%H%M%S-matrix")
    texts = {
        "md": matrix_markdown(result, picture=f"{stem}.svg"),
        "json": json.dumps(result, indent=2) + "\n",
        "svg": matrix_svg(result),
    }
    for ending, text in texts.items():
        (folder / f"{stem}.{ending}").write_text(text)
    return {ending: str(folder / f"{stem}.{ending}") for ending in texts}


def matrix_markdown(result: Results, picture: str = "") -> str:
    """Return the table, the ratios, the machine and, if a file name is given, the picture."""
    known = result["network"]
    summary = (
        f"{result['trainer']}, {result['steps']:,} environment steps per session, {known['kind']} of "
        f"{known['layers']} x {known['hidden']} with {known['parameters']:,} parameters."
    )
    lines = [
        f"# {result['task']}: the same training over every transport",
        "",
        summary,
        "",
        HEAD,
        "|---" * HEAD.count(" | ") + "|---|",
        *(_line(row) for row in result["rows"]),
    ]
    lines += [f"| {name} | N/A: {reason} |" + " |" * 8 for name, reason in result["absent"].items()]
    lines.append("")
    for key, what in (("rollout_ratio", "rollout (environment and inference)"), ("training_ratio", "whole training")):
        if result[key] is not None:
            lines.append(f"- {what}, `shm` at N = 32 over `http` at N = 1: {result[key]:.1f}x")
    if picture:
        lines += ["", f"![steps per second]({picture})"]
    return "\n".join([*lines, "", measured_on(result["facts"]), ""])


def matrix_svg(result: Results) -> str:
    """Return a bar chart of the rates, with the targets."""
    rates = {row["name"]: (row["sps"], row["rollout_sps"]) for row in result["rows"]}
    combinations = [combination for combination in COMBINATIONS if combination.name in rates]
    groups = [Group(combination.name, rates[combination.name], combination.target) for combination in combinations]
    title = f"{result['task']}: environment steps per second"
    return bar_chart(title, ("training", "rollout only"), groups, "target")


def _line(row: Results) -> str:
    cells = (
        row["name"],
        _number(row["sps"]),
        _number(row["target"]),
        _number(row["rollout_sps"]),
        _number(row["games_per_s"], digits=2),
        _number(row["cpu"], " %"),
        _number(row["rss"] and row["rss"] / 1e6, " MB"),
        _number(row["gpu"], " %") or "N/A",
        _number(row["vram"] and row["vram"] / 1e6, " MB") or "N/A",
        _number(row["return_mean"], digits=2),
    )
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None, unit: str = "", digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}{unit}"
