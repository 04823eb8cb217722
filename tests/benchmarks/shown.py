"""Prints the results of the benchmarks of this folder."""

from __future__ import annotations

from collections.abc import Mapping

from pac.training.bench.facts import Results
from pac.tui.cli.bench_show import FORMS, numbers, say_absent, shown_value
from pac.tui.cli.show import console, show_table


def kernels(result: Results) -> None:
    """Print a row per kernel and architecture."""
    table = numbers("kernel", "target", "registers", "stack", "spilled", "occupancy", "")
    for row in result["rows"]:
        results = [str(row.get(name, "")) for name in ("registers", "stack_bytes", "spill_stores")]
        share = f"{100 * row['occupancy']:.0f} %" if "occupancy" in row else ""
        table.add_row(row["kernel"], row["target"], *results, share, row.get("error", ""))
    show_table(table)


def cluster(result: Results) -> None:
    """Print the measured costs, a row per number of ranks, and the assumptions of the model."""
    costs, network = result["costs"], result["network"]
    console.print("This is a model, not a measurement.", style="bold")
    console.print(
        f"measured: an iteration of one rank on one core computes for {1000 * costs['iteration']:.0f} ms, and has "
        f"{costs['sums']} all-reduces of at most {costs['gradients'] / 1e3:,.0f} kB\n"
        f"network: {1e6 * network['latency']:.0f} us and {8 * network['bandwidth'] / 1e9:.0f} Gbit/s per message"
    )
    table = numbers("ranks", "decisions/s", "efficiency", "waiting", "all-reduce")
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


def learning(result: Results) -> None:
    """Print the mean returns per side, and when the goal was reached."""
    what = "{task}: mean return of 20 episodes after {steps:,} decisions, N = {num_envs}".format(**result)
    console.print(what, style="bold")
    goal = () if result["goal"] is None else (f"{result['goal']:g} reached after", "in")
    table = numbers("", "median", "lowest", "highest", "seeds", *goal)
    for side, found in result["sides"].items():
        final, reached = found["final"], (found.get("decisions"), found.get("seconds"))
        when = ("not reached", "") if reached[0] is None else (f"{reached[0]:,.0f}", f"{reached[1]:.1f} s")
        values = [f"{final[key]:,.1f}" for key in ("median", "min", "max")]
        table.add_row(side, *values, str(final["repetitions"]), *(when if goal else ()))
    show_table(table)


def returns(result: Results) -> None:
    """Print the median returns of both sides per task, with those of the worst and the best seed, and their ratio."""
    console.print("median return after {steps:,} decisions, {seeds} seeds".format(**result), style="bold")
    sides = [name for name in result["rows"][0] if name not in {"task", "ratio"}]
    table = numbers("", *(text for side in sides for text in (side, "CPU time")), "ratio")
    for row in result["rows"]:
        cells = [
            text
            for found in (row[side] for side in sides)
            for text in ("{median:,.0f} ({low:,.0f} to {high:,.0f})".format(**found), f"{found['cpu_seconds']:,.0f} s")
        ]
        table.add_row(row["task"], *cells, "" if row["ratio"] is None else f"{row['ratio']:.2f}x")
    show_table(table)


def peers(result: Results) -> None:
    """Print each peer on each environment, the ratios, and the training."""
    cores = ", ".join(map(str, result["cores"]))
    console.print(f"Steps per second, N = {result['rows'][0]['num_envs']}, all on cores {cores}", style="bold")
    names = list(result["by_environment"])
    table = numbers("", *names)
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
    say_absent(result)
    own = "{task}, N = {num_envs}: shm {shm_sps:,} steps/s, Gymnasium's AsyncVectorEnv {async_sps:,}: {ratio:.1f}x"
    console.print(own.format(**result["async"]))
    if result["sb3"]:
        ratios = [result["sb3"][part]["ratio"] for part in ("rollout", "training")]
        what = "PPO on {task}, N = {num_envs}, {backend}, over SB3's MaskablePPO".format(**result["sb3"])
        console.print(f"{what}: {ratios[0]:.2f}x in rollouts, {ratios[1]:.2f}x in all")


def poker(result: Results) -> None:
    """Print each measured pair."""
    cores = ", ".join(map(str, result["cores"]))
    console.print(f"Solvers, medians, all on cores {cores}", style="bold")
    table = numbers("", "ours", "theirs", "ratio")
    for name, pair in result.items():
        if isinstance(pair, Mapping) and "ratio" in pair:
            unit = "" if "seconds" in pair else " it/s"
            results = [f"{shown_value(pair[side]['median'])}{unit}" for side in ("ours", "theirs")]
            table.add_row(name, *results, f"{pair['ratio']:.2f}x")
    show_table(table)
    say_absent(result)


FORMS |= {
    "learning": learning,
    "returns": returns,
    "kernels": kernels,
    "cluster": cluster,
    "peers": peers,
    "poker": poker,
}
