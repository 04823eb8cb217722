"""The table of results in `docs/benchmarks.md`, from one run of all benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .facts import Figures


@dataclass(frozen=True)
class Row:
    """A measurement with the values that it must and should reach.

    Attributes:
        what: The measurement.
        place: The keys under which the results contain it.
        bound: The value that it must reach.
        aim: The value that it should reach.
        show: Formats a value with its unit.
        most: Whether the bound is a maximum rather than a minimum.
    """

    what: str
    place: tuple[str, ...]
    bound: float
    aim: float
    show: Callable[[float], str]
    most: bool = False

    def read(self, results: Mapping[str, Any]) -> float | None:
        """Return the value, or None if it was not measured."""
        found: Any = results
        for key in self.place:
            if not isinstance(found, Mapping) or key not in found:
                return None
            found = found[key]
        return float(found) if isinstance(found, int | float) else None

    def passed(self, figure: float) -> bool:
        """Whether the bound is reached."""
        return figure <= self.bound if self.most else figure >= self.bound


def _times(figure: float) -> str:
    return f"{figure:.2f}x" if figure < 9.995 else f"{figure:.1f}x"


def _percent(figure: float) -> str:
    return f"{figure:.1f} %"


def _share(figure: float) -> str:
    return f"{100 * figure:.1f} %"


def _microseconds(figure: float) -> str:
    return f"{figure:.1f} us"


def _milliseconds(figure: float) -> str:
    return f"{figure:.0f} ms"


def _rate(figure: float) -> str:
    return f"{figure:,.0f} /s"


def _megabytes(figure: float) -> str:
    return f"{figure / 1e6:.0f} MB"


ROWS = (
    Row(
        "`drmario` engine on one core, observation and mask included: placements/s",
        ("engine", "placements_per_second", "median"),
        150_000,
        300_000,
        _rate,
    ),
    Row(
        "`autochess` engine on one core, eight seats, random legal play, fights included: decisions/s",
        ("engine", "autochess_decisions_per_second", "median"),
        50_000,
        100_000,
        _rate,
    ),
    Row(
        "round trip of one `shm` step, N = 1, median",
        ("transports", "p50_us", "shm"),
        5,
        2,
        _microseconds,
        most=True,
    ),
    Row(
        "round trip of one `socket` step, N = 1, median",
        ("transports", "p50_us", "socket"),
        60,
        40,
        _microseconds,
        most=True,
    ),
    Row(
        "round trip of one `noop` step, N = 1, median: `http` over `shm`",
        ("transports", "http_over_shm"),
        60,
        150,
        _times,
    ),
    Row(
        "rollout steps/s of `autochess` on the CPU, two towers of 2 x 256: `shm` at N = 32 over `http` at N = 1",
        ("matrix", "rollout_ratio"),
        30,
        50,
        _times,
    ),
    Row(
        "steps/s of `drmario`, random legal actions, N = 16: `shm` with 2 workers over Gymnasium's `AsyncVectorEnv`",
        ("peers", "async", "ratio"),
        10,
        30,
        _times,
    ),
    Row(
        "steps/s of a Python environment of 20 us per step, N = 32: `shm` with 2 workers over a plain loop",
        ("peers", "by_environment", "burn-20us", "shm_over_loop"),
        1.6,
        1.8,
        _times,
    ),
    Row(
        "steps/s of a Python environment of 20 us per step, N = 32, two cores: `shm` over the fastest peer",
        ("peers", "by_environment", "burn-20us", "shm_over_fastest"),
        1.6,
        1.8,
        _times,
    ),
    Row(
        "the same at 100 us per step",
        ("peers", "by_environment", "burn-100us", "shm_over_fastest"),
        1.5,
        1.6,
        _times,
    ),
    Row(
        "share of the limit of two cores (twice a plain loop) at 20 us per step",
        ("peers", "by_environment", "burn-20us", "share_of_limit"),
        0.85,
        0.9,
        _share,
    ),
    Row(
        "the same at 100 us per step",
        ("peers", "by_environment", "burn-100us", "share_of_limit"),
        0.85,
        0.9,
        _share,
    ),
    Row(
        "rollout steps/s of `drmario` with masked inference, N = 16: `threads` over SB3-contrib's `MaskablePPO`",
        ("sb3", "rollout", "ratio"),
        2,
        3,
        _times,
    ),
    Row(
        "PPO training steps/s with the same network and settings: `threads` over SB3-contrib's `MaskablePPO`",
        ("sb3", "training", "ratio"),
        1.3,
        1.7,
        _times,
    ),
    Row(
        "iterations/s on Leduc, external sampling: one worker over OpenSpiel's C++",
        ("poker", "leduc", "ratio"),
        40,
        60,
        _times,
    ),
    Row(
        "NashConv on Leduc after 5 s: OpenSpiel's C++ over two workers",
        ("poker", "nash_conv", "ratio"),
        7,
        10,
        _times,
    ),
    Row(
        "iterations/s on liar's dice, external sampling: one worker over OpenSpiel's C++",
        ("poker", "liars_dice", "ratio"),
        30,
        37,
        _times,
    ),
    Row(
        "iterations/s on hold'em (fold, call, pot, all-in): two workers over OpenSpiel's `universal_poker`",
        ("poker", "holdem_fcpa", "ratio"),
        50,
        100,
        _times,
    ),
    Row(
        "iterations/s on hold'em, donksolver's heads-up tree, 50 buckets per street: two workers over donksolver",
        ("poker", "holdem_wide", "ratio"),
        2,
        4,
        _times,
    ),
    Row(
        "iterations/s on Leduc, CFR+ on the whole tree: ours over OpenSpiel's C++",
        ("poker", "cfr_plus", "ratio"),
        100,
        200,
        _times,
    ),
    Row(
        "iterations/s on Leduc: two workers over one",
        ("poker", "leduc_workers", "ratio"),
        1.4,
        1.6,
        _times,
    ),
    Row(
        "iterations/s on hold'em: two workers over one",
        ("poker", "holdem_workers", "ratio"),
        1.7,
        1.9,
        _times,
    ),
    Row(
        "longest pause of hold'em training for a checkpoint",
        ("checkpoints", "holdem", "longest_pause_ms"),
        100,
        50,
        _milliseconds,
        most=True,
    ),
    Row(
        "hold'em training speed lost to a checkpoint every 30 s",
        ("checkpoints", "holdem", "lost_percent"),
        3,
        1,
        _percent,
        most=True,
    ),
    Row(
        "training speed with the app on a 200x60 terminal, 16 boards, relative to headless",
        ("app", "ratio", "median"),
        0.95,
        0.98,
        _share,
    ),
    *(
        Row(
            f"speed of {loop} under `watch`, {viewers}, relative to the same without `watch`",
            ("watch", "ratio", key, looking, "median"),
            bound,
            1,
            _share,
        )
        for key, loop in (("gymnasium", "a Gymnasium loop"), ("sb3", "PPO of Stable-Baselines3"))
        for looking, viewers, bound in (("nobody", "no app attached", 0.98), ("attached", "app attached", 0.96))
    ),
    Row("CPU time of the app, share of one core", ("app", "app_cpu", "median"), 5, 5, _percent, most=True),
    Row(
        "time from a key press to the screen during training, N = 64, p95",
        ("keys", "p95"),
        50,
        25,
        _milliseconds,
        most=True,
    ),
    Row("peak memory of the app", ("app", "app_rss", "max"), 120e6, 80e6, _megabytes, most=True),
)


def markdown(results: Figures) -> str:
    """Return the table in Markdown, followed by the machine and the versions."""
    lines = ["| measurement | result | bound | goal |", "|---|---|---|---|"]
    for row in ROWS:
        figure = row.read(results)
        measured = "not measured" if figure is None else row.show(figure)
        if figure is not None and not row.passed(figure):
            measured += " (missed)"
        sign = "<=" if row.most else ">="
        lines.append(f"| {row.what} | {measured} | {sign} {row.show(row.bound)} | {row.show(row.aim)} |")
    return "\n".join([*lines, "", measured_on(results["facts"])])


def measured_on(facts: Figures) -> str:
    """Return the machine, the versions, the revision and the time in one line."""
    versions = ", ".join(f"{name} {found}" for name, found in facts["versions"].items() if found)
    return f"{facts['cpu']}, {facts['cores']} cores, {versions}, revision {facts['revision']}, {facts['time']}."
