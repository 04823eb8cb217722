"""Prints the results of `pac-tui bench ...`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table
from rich.text import Text

from ...training.bench.facts import Results, facts
from ...training.exits import DONE
from ..run_table import flat
from .show import console, listed, plain_table, show_json, show_table

BAR = 30


def show(name: str, result: Results, *, json: bool) -> int:
    """Print the results of a benchmark, or one JSON object with the machine as well; return the exit code."""
    if json:
        return show_json({"benchmark": name, **result, "facts": facts()})
    FORMS.get(name, _listed)(result)
    return DONE


def _listed(result: Results) -> None:
    """Print results, nested names joined by points."""
    shown = listed("", "")
    for key, value in flat(result).items():
        shown.add_row(key, shown_value(value))
    show_table(shown)


def scaling(result: Results) -> None:
    """Print the table with a bar per speedup. The scale ends at the ideal or the best speedup."""
    console.print("{task} · {trainer} · {backend} · {device}".format(**result), style="bold")
    table = numbers("N", "fps", "fps/env", "sps", "speedup", "efficiency", "marginal", "", "")
    table.columns[-1].justify = table.columns[-2].justify = "left"
    most = max(row["speedup"] for row in result["rows"])
    for row in result["rows"]:
        table.add_row(
            str(row["num_envs"]),
            f"{row['fps']['median']:,.0f}",
            f"{row['fps_per_env']:,.0f}",
            f"{row['sps']:,.0f}",
            f"{row['speedup']:.2f}x",
            f"{row['efficiency']:.0f} %",
            f"{row['marginal_efficiency']:.0f} %",
            "knee" if row["num_envs"] == result["knee"] else "",
            bar(row["speedup"] / most),
        )
    show_table(table)
    console.print(f"Baseline: {result['baseline_fps']:,.0f} fps at N = 1; medians of {_repetitions(result)}.")
    if result["knee"] is not None:
        console.print(f"Knee: {result['knee_sentence']}.")


def _repetitions(result: Results) -> str:
    count = result["rows"][0]["fps"]["repetitions"]
    return f"{count} measurement{'s' * (count > 1)} of {result['seconds']:g} s"


def bar(share: float) -> str:
    """Return a bar of eighths of a character."""
    whole, rest = divmod(round(share * BAR * 8), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()


def transports(result: Results) -> None:
    """Print the round-trip times of each backend."""
    console.print(f"{result['task']}: a step of all environments", style="bold")
    table = numbers("transport", "N", "p50", "p95", "p99", "steps/s")
    for row in result["rows"]:
        times = [f"{row[f'{name}_us']:,.1f} us" for name in ("p50", "p95", "p99")]
        table.add_row(row["transport"], str(row["num_envs"]), *times, f"{row['sps']:,.0f}")
    show_table(table)
    if result["http_over_shm"]:
        console.print(f"A round trip over http takes {result['http_over_shm']:.0f} times one over shm, at N = 1.")
    say_absent(result)


def traces(result: Results) -> None:
    """Print the hash of each backend's trace and the first difference."""
    console.print("{task}, seed {seed}, N = {num_envs}".format(**result), style="bold")
    table = plain_table("transport", "hash", "")
    for row in result["rows"]:
        table.add_row(
            row["transport"], row["hash"], "identical" if row["identical"] else Text("differs", style="bold red")
        )
    show_table(table)
    say_absent(result)
    compared = "{games:,} games, {steps:,} steps, {bytes:,} bytes per backend".format(**result)
    found = result["difference"]
    if found:
        where = "{transport} differs in {field} of environment {environment} at step {step}".format(**found)
        console.print(f"{compared}: {where}.", style="bold red")
    else:
        console.print(f"{compared}: all identical.")


def gpu(result: Results) -> None:
    """Print the steps per second of environments and of PPO, and the seconds until the bottle was cleared."""
    console.print(result["device"], style="bold")
    if "note" in result:
        console.print(result["note"])
    table = plain_table("task", "N", "", "steps/s", "GPU memory")
    for name in ("N", "steps/s", "GPU memory"):
        next(column for column in table.columns if column.header == name).justify = "right"
    for row in result["rows"]:
        shown = {"environments": row.get("steps_per_second"), "with inference": row.get("with_inference")}
        shown |= {f"PPO, {name}": found["steps_per_second"] for name, found in row["with_training"].items()}
        for name, rate in shown.items():
            peak = row["with_training"].get(name.removeprefix("PPO, "), {}).get("peak_gpu_bytes")
            memory = f"{peak / 1e9:.1f} GB" if peak else ""
            if rate is not None:
                table.add_row(row["task"], f"{row['num_envs']:,}", name, f"{rate:,.0f}", memory)
    show_table(table)
    for row in result["rows"]:
        for error in row.get("errors", ()):
            console.print(f"{row['task']}, N = {row['num_envs']:,}: {error}", style="bold red")
    for device, found in result["cleared"].items():
        console.print(f"Bottle cleared on {device}: {_clearing(found)}")
    if result["left_out"]:
        console.print(f"There was no time for: {'; '.join(result['left_out'])}.")


def _clearing(found: Results) -> str:
    if "error" in found:
        return str(found["error"])
    counts = f"N = {found['num_envs']:,}, {found['decisions']:,} decisions, {found['viruses']:.2f} of 4 viruses"
    if found["seconds"] is None:
        return f"not in this time ({counts})."
    return f"{found['seconds']:.1f} s, of which starting took {found['first_step']:.1f} s ({counts})."


FORMS: dict[str, Callable[[Results], None]] = {
    "gpu": gpu,
    "scaling": scaling,
    "transports": transports,
    "traces": traces,
}
"""Functions that print the results of a benchmark; those of others are listed."""


def say_absent(result: Results) -> None:
    """Print what was not measured, and why."""
    for name, reason in result["absent"].items():
        console.print(f"{name} was not measured: {reason}", style="dim")


def numbers(first: str, *others: str) -> Table:
    """Return an empty table whose numbers are aligned."""
    table = plain_table(first, *others)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def shown_value(value: Any) -> str:
    """Return a number with separators and significant digits only."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)
