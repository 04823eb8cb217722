"""Prints the results of `pac-tui bench ...`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from ...training.bench.facts import Figures, facts
from ...training.exits import DONE
from .show import console, flat, listed, plain_table, show_json, show_table

BAR = 30


def show(name: str, result: Figures, *, json: bool) -> int:
    """Print the figures of a benchmark, or one JSON object with the machine as well; return the exit code."""
    if json:
        return show_json({"benchmark": name, **result, "facts": facts()})
    OWN_FORM.get(name, _listed)(result)
    return DONE


def _listed(result: Figures) -> None:
    """Print figures, nested names joined by points."""
    shown = listed("", "")
    for key, value in flat(result).items():
        shown.add_row(key, _figure(value))
    show_table(shown)


def kernels(result: Figures) -> None:
    """Print a row per kernel and architecture."""
    table = _numbers("kernel", "target", "registers", "stack", "spilled", "occupancy", "")
    for row in result["rows"]:
        figures = [str(row.get(name, "")) for name in ("registers", "stack_bytes", "spill_stores")]
        share = f"{100 * row['occupancy']:.0f} %" if "occupancy" in row else ""
        table.add_row(row["kernel"], row["target"], *figures, share, row.get("error", ""))
    show_table(table)


def cluster(result: Figures) -> None:
    """Print the measured costs, a row per number of ranks, and the assumptions of the model."""
    costs, network = result["costs"], result["network"]
    console.print("This is a model, not a measurement.", style="bold")
    console.print(
        f"measured: an iteration of one rank on one core computes for {1000 * costs['iteration']:.0f} ms, and has "
        f"{costs['sums']} all-reduces of at most {costs['gradients'] / 1e3:,.0f} kB\n"
        f"network: {1e6 * network['latency']:.0f} us and {8 * network['bandwidth'] / 1e9:.0f} Gbit/s per message"
    )
    table = _numbers("ranks", "decisions/s", "efficiency", "waiting", "all-reduce")
    for row in result["rows"]:
        shares = (f"{100 * row[name]:.1f} %" for name in ("efficiency", "waiting_share", "sums_share"))
        table.add_row(f"{row['ranks']:,}", f"{row['decisions_per_second']:,.0f}", *shares)
    show_table(table)
    for line in result["assumptions"]:
        console.print(f"- {line}", style="dim")
    if (check := result.get("check")) is not None:
        predicted, measured = (check[name]["median"] for name in ("predicted", "measured"))
        errors = (100 * (check[name] - 1) for name in ("ratio", "ratio_min", "ratio_max"))
        console.print(
            f"two ranks on this machine: predicted {predicted:,.0f}, measured {measured:,.0f} decisions/s "
            "(error {:+.1f} %, in single rounds {:+.1f} to {:+.1f} %)".format(*errors)
        )


def scaling(result: Figures) -> None:
    """Print the table with a bar per speedup. The scale ends at the ideal or the best speedup."""
    console.print("{task} · {trainer} · {backend} · {device}".format(**result), style="bold")
    table = _numbers("N", "fps", "fps/env", "sps", "speedup", "efficiency", "marginal", "", "")
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


def _repetitions(result: Figures) -> str:
    count = result["rows"][0]["fps"]["repetitions"]
    return f"{count} measurement{'s' * (count > 1)} of {result['seconds']:g} s"


def learning(result: Figures) -> None:
    """Print the mean returns per side, and when the goal was reached."""
    what = "{task}: mean return of 20 episodes after {steps:,} decisions, N = {num_envs}".format(**result)
    console.print(what, style="bold")
    goal = () if result["goal"] is None else (f"{result['goal']:g} reached after", "in")
    table = _numbers("", "median", "lowest", "highest", "seeds", *goal)
    for side, found in result["sides"].items():
        final, reached = found["final"], (found.get("decisions"), found.get("seconds"))
        when = ("not reached", "") if reached[0] is None else (f"{reached[0]:,.0f}", f"{reached[1]:.1f} s")
        values = [f"{final[key]:,.1f}" for key in ("median", "min", "max")]
        table.add_row(side, *values, str(final["repetitions"]), *(when if goal else ()))
    show_table(table)


def bar(share: float) -> str:
    """Return a bar of eighths of a character."""
    whole, rest = divmod(round(share * BAR * 8), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()


def transports(result: Figures) -> None:
    """Print the round-trip times of each backend."""
    console.print(f"{result['task']}: a step of all environments", style="bold")
    table = _numbers("transport", "N", "p50", "p95", "p99", "steps/s")
    for row in result["rows"]:
        times = [f"{row[f'{name}_us']:,.1f} us" for name in ("p50", "p95", "p99")]
        table.add_row(row["transport"], str(row["num_envs"]), *times, f"{row['sps']:,.0f}")
    show_table(table)
    if result["http_over_shm"]:
        console.print(f"A round trip over http takes {result['http_over_shm']:.0f} times one over shm, at N = 1.")
    _absent(result)


def traces(result: Figures) -> None:
    """Print the hash of each backend's trace and the first difference."""
    console.print("{task}, seed {seed}, N = {num_envs}".format(**result), style="bold")
    table = plain_table("transport", "hash", "")
    for row in result["rows"]:
        table.add_row(
            row["transport"], row["hash"], "identical" if row["identical"] else Text("differs", style="bold red")
        )
    show_table(table)
    _absent(result)
    compared = "{games:,} games, {steps:,} steps, {bytes:,} bytes per backend".format(**result)
    found = result["difference"]
    if found:
        where = "{transport} differs in {field} of environment {environment} at step {step}".format(**found)
        console.print(f"{compared}: {where}.", style="bold red")
    else:
        console.print(f"{compared}: all identical.")


def peers(result: Figures) -> None:
    """Print each peer on each environment, the ratios, and the training."""
    cores = ", ".join(map(str, result["cores"]))
    console.print(f"Steps per second, N = {result['rows'][0]['num_envs']}, all on cores {cores}", style="bold")
    names = list(result["by_environment"])
    table = _numbers("", *names)
    for peer in dict.fromkeys(row["peer"] for row in result["rows"]):
        rates = {row["environment"]: row["sps"] for row in result["rows"] if row["peer"] == peer}
        table.add_row(peer, *(f"{rates[name]:,.0f}" if name in rates else "" for name in names))
    for key, text in (("shm_over_fastest", "shm over the fastest peer"), ("shm_over_loop", "shm over the loop")):
        table.add_row(text, *(f"{result['by_environment'][name][key]:.2f}x" for name in names))
    shares = (("share_of_limit", "share of twice the loop"), ("share_of_loops", "share of two loops at once"))
    for key, text in shares:
        table.add_row(text, *(f"{result['by_environment'][name][key]:.2f}" for name in names))
    show_table(table)
    for name, found in result["by_environment"].items():
        if not found["quiet"]:
            taken = "" if found["steal"] is None else f"the hypervisor took {found['steal']:.0%} of the CPU time, "
            console.print(
                f"The machine was noisy during {name}: {taken}the loop's rates vary by {found['spread']:.0%}."
            )
    _absent(result)
    own = "{task}, N = {num_envs}: shm {shm_sps:,} steps/s, Gymnasium's AsyncVectorEnv {async_sps:,}: {ratio:.1f}x"
    console.print(own.format(**result["async"]))
    if result["sb3"]:
        ratios = [result["sb3"][part]["ratio"] for part in ("rollout", "training")]
        what = "PPO on {task}, N = {num_envs}, {backend}, over SB3's MaskablePPO".format(**result["sb3"])
        console.print(f"{what}: {ratios[0]:.2f}x in rollouts, {ratios[1]:.2f}x in all")


def poker(result: Figures) -> None:
    """Print each measured pair."""
    cores = ", ".join(map(str, result["cores"]))
    console.print(f"Solvers, medians, all on cores {cores}", style="bold")
    table = _numbers("", "ours", "theirs", "ratio")
    for name, pair in result.items():
        if isinstance(pair, Mapping) and "ratio" in pair:
            unit = "" if "seconds" in pair else " it/s"
            figures = [f"{_figure(pair[side]['median'])}{unit}" for side in ("ours", "theirs")]
            table.add_row(name, *figures, f"{pair['ratio']:.2f}x")
    show_table(table)
    _absent(result)


OWN_FORM: Mapping[str, Callable[[Figures], None]] = {
    "learning": learning,
    "kernels": kernels,
    "cluster": cluster,
    "scaling": scaling,
    "transports": transports,
    "traces": traces,
    "peers": peers,
    "poker": poker,
}
"""Functions that print the figures of a benchmark; those of others are listed."""


def _absent(result: Figures) -> None:
    for name, reason in result["absent"].items():
        console.print(f"{name} was not measured: {reason}", style="dim")


def _numbers(first: str, *others: str) -> Table:
    """Return an empty table whose numbers are aligned."""
    table = plain_table(first, *others)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _figure(value: Any) -> str:
    """Return a number with separators and significant digits only."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)
