"""The table of results in `docs/benchmarks.md`, from one run of all benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pac.training.bench.facts import Results

PERCENT, RATE = "{:.1f} %".format, "{:,.0f} /s".format
MICROSECONDS, MILLISECONDS, SECONDS = "{:.1f} us".format, "{:.0f} ms".format, "{:.2f} s".format


def _times(number: float) -> str:
    return f"{number:.2f}x" if number < 9.995 else f"{number:.1f}x"


def _share(number: float) -> str:
    return PERCENT(100 * number)


def _megabytes(number: float) -> str:
    return f"{number / 1e6:.0f} MB"


def _gigabytes(number: float) -> str:
    return f"{number / 1e9:.1f} GB"


@dataclass(frozen=True)
class Row:
    """A measurement with the values that it must and should reach.

    Attributes:
        what: The measurement.
        bound: The value that it must reach; a maximum if the goal is not above it.
        aim: The goal: the value that it should reach.
        show: Formats a value with its unit.
    """

    what: str
    bound: float
    aim: float
    show: Callable[[float], str] = _times

    @property
    def most(self) -> bool:
        """Whether the bound is a maximum rather than a minimum."""
        return self.aim <= self.bound

    def passed(self, number: float) -> bool:
        """Whether the bound is reached."""
        return number <= self.bound if self.most else number >= self.bound


ROWS = {
    "engine/placements_per_second/median": Row(
        "`drmario` engine on one core, observation and mask included: placements/s", 150_000, 300_000, RATE
    ),
    "engine/autochess_decisions_per_second/median": Row(
        "`autochess` engine on one core, eight seats, random legal play, fights included: decisions/s",
        50_000,
        100_000,
        RATE,
    ),
    "engine/treasure_agent_steps_per_second/median": Row(
        "`treasure` engine on one core, eight agents with views of 9 x 9, random actions: agent steps/s",
        2_000_000,
        4_000_000,
        RATE,
    ),
    "transports/p50_us/shm": Row("round trip of one `shm` step, N = 1, median", 5, 2, MICROSECONDS),
    "transports/p50_us/socket": Row("round trip of one `socket` step, N = 1, median", 60, 40, MICROSECONDS),
    "transports/http_over_shm": Row("round trip of one `noop` step, N = 1, median: `http` over `shm`", 60, 150),
    "matrix/rollout_ratio": Row(
        "rollout steps/s of `autochess` on the CPU, two towers of 2 x 256: `shm` at N = 32 over `http` at N = 1", 30, 50
    ),
    "peers/async/ratio": Row(
        "steps/s of `drmario`, random legal actions, N = 16: `shm` with 2 workers over Gymnasium's `AsyncVectorEnv`",
        10,
        30,
    ),
    "peers/by_environment/burn-20us/shm_over_loop": Row(
        "steps/s of a Python environment of 20 us per step, N = 32: `shm` with 2 workers over a plain loop", 1.6, 1.8
    ),
    "peers/by_environment/burn-20us/shm_over_fastest": Row(
        "steps/s of a Python environment of 20 us per step, N = 32, two cores: `shm` over the fastest peer", 1.6, 1.8
    ),
    "peers/by_environment/burn-100us/shm_over_fastest": Row("the same at 100 us per step", 1.5, 1.6),
    "peers/by_environment/burn-20us/share_of_limit": Row(
        "share of the limit of two cores (twice a plain loop) at 20 us per step", 0.85, 0.9, _share
    ),
    "peers/by_environment/burn-100us/share_of_limit": Row("the same at 100 us per step", 0.85, 0.9, _share),
    "sb3/rollout/ratio": Row(
        "rollout steps/s of `drmario` with masked inference, N = 16: `threads` over SB3-contrib's `MaskablePPO`", 2, 3
    ),
    "sb3/training/ratio": Row(
        "PPO training steps/s with the same network and settings: `threads` over SB3-contrib's `MaskablePPO`", 1.3, 1.7
    ),
    "overlap/waiting/ratio": Row(
        "PPO steps/s on an environment that waits 5 ms, N = 32, 4 workers, learning as long as collecting: "
        "`--ppo.overlap` over without",
        1.6,
        1.85,
    ),
    "overlap/http/ratio": Row("the same on `autochess` over `http`, N = 8", 1.2, 1.5),
    "overlap/burn-100us/ratio": Row(
        "the same on a Python environment of 100 us per step, N = 32, both cores busy, recommended settings", 0.98, 1.05
    ),
    "dqn/gradient_steps/ratio": Row(
        "gradient steps/s of DQN, batch 64, two layers of 128, one thread: pac-tui over Stable-Baselines3", 2, 4
    ),
    "dqn/replay/bytes": Row(
        "memory of a replay of one million transitions of 84 x 84 bytes, stacks of four", 7.8e9, 7.2e9, _gigabytes
    ),
    "dqn/replay/share_of_copy_stacks": Row(
        "drawing 256 transitions with two stacks of four from such a replay: speed relative to copying as many bytes "
        "as it returns, eight frames per transition",
        0.5,
        0.7,
        _share,
    ),
    "dqn/replay/share_of_copy_frames": Row(
        "the same, relative to copying only the five different frames of each transition", 0.5, 0.7, _share
    ),
    "sac/gradient_steps/ratio": Row(
        "gradient steps/s of SAC, batch 256, two layers of 256, one thread: pac-tui over Stable-Baselines3", 1.5, 3
    ),
    "packed/decoding/ratio": Row(
        "decoding 1,024 packed images of 72 x 80 to float32, one core: a table over the fastest NumPy or PyTorch code "
        "without one",
        2,
        4,
    ),
    "packed/distance/ratio": Row(
        "distance of 8,192 packed images to a goal: a table of byte pairs over unpacking and subtracting", 5, 10
    ),
    "packed/memory/two_rollouts": Row(
        "memory of two packed rollouts of 72 x 80 images, last observations included, N = 8,192, T = 128",
        3.3e9,
        3.1e9,
        _gigabytes,
    ),
    "ranks/over_one_core/ratio": Row(
        "decisions/s on `drmario`: two ranks on two cores over one on one core", 1.6, 1.85
    ),
    "ranks/over_two_cores/ratio": Row("decisions/s on `drmario`: two ranks on two cores over one on two", 0.95, 1.1),
    "ray/inline/ratio": Row(
        "steps/s of a Python environment of 5 ms per step, N = 32: `ray` on two nodes of one CPU over `inline`",
        1.6,
        1.9,
    ),
    "ray/rllib/ratio": Row(
        "steps/s of a Python environment of 100 us per step, N = 32: `ray` on two nodes of one CPU over RLlib's "
        "environment runners there",
        1.5,
        3,
    ),
    "relay/bits_per_second/median": Row(
        "bits/s of a relay, 16 boards on a 120x40 terminal", 1e6, 2e5, lambda number: f"{number / 1e3:.0f} kbit/s"
    ),
    "relay/p95": Row("key to screen through a relay, 95th percentile", 150, 80, MILLISECONDS),
    "relay/ratio": Row(
        "training speed with a remote viewer over without, its app on the same two cores", 0.97, 0.99, _share
    ),
    "relay/elsewhere/ratio": Row("the same with a remote viewer that draws on other cores", 0.97, 0.99, _share),
    "device/steps/ratio": Row("placements/s of `drmario` at N = 256 on two cores: `device` over `threads`", 1, 1.2),
    "device/ppo/ratio": Row("PPO steps/s on `drmario` at N = 256 on two cores: `device` over `shm`", 1, 1.3),
    "evaluation/beyond_percent": Row(
        "training speed of `drmario` lost to an evaluation of 20 episodes every 10 iterations, beyond the share of all "
        "steps that it makes",
        2,
        0,
        PERCENT,
    ),
    "independent/ratio": Row(
        "gradient steps/s of two independent IQN agents, two cores: a process each over one after the other", 1.4, 1.7
    ),
    "gameboy/catch/ratio": Row(
        "frames/s of a Game Boy on one core that draws nothing, cartridge `catch`: pac-tui over PyBoy", 1, 2
    ),
    "gameboy/steps/ratio": Row(
        "steps/s of 24 frames with one packed frame, cartridge `catch`, N = 64, two cores: `shm` over PyBoy in "
        "Gymnasium's `AsyncVectorEnv`",
        1.2,
        2.5,
    ),
    "poker/leduc/ratio": Row("iterations/s on Leduc, external sampling: one worker over OpenSpiel's C++", 40, 60),
    "poker/nash_conv/ratio": Row("NashConv on Leduc after 5 s: OpenSpiel's C++ over two workers", 7, 10),
    "poker/liars_dice/ratio": Row(
        "iterations/s on liar's dice, external sampling: one worker over OpenSpiel's C++", 30, 37
    ),
    "poker/holdem_fcpa/ratio": Row(
        "iterations/s on hold'em (fold, call, pot, all-in): two workers over OpenSpiel's `universal_poker`", 50, 100
    ),
    "poker/holdem_wide/ratio": Row(
        "iterations/s on hold'em, donksolver's heads-up tree, 50 buckets per street: two workers over donksolver", 2, 4
    ),
    "poker/cfr_plus/ratio": Row(
        "iterations/s on Leduc, CFR+ on the whole tree: pac-tui over OpenSpiel's C++", 100, 200
    ),
    "poker/leduc_workers/ratio": Row("iterations/s on Leduc: two workers over one", 1.4, 1.6),
    "poker/holdem_workers/ratio": Row("iterations/s on hold'em: two workers over one", 1.7, 1.9),
    "checkpoints/holdem/longest_pause_ms": Row(
        "longest pause of hold'em training for a checkpoint", 100, 50, MILLISECONDS
    ),
    "checkpoints/holdem/lost_percent": Row("hold'em training speed lost to a checkpoint every 30 s", 3, 1, PERCENT),
    "app/ratio/median": Row(
        "training speed with the app on a 200x60 terminal, 16 boards, relative to headless", 0.95, 0.98, _share
    ),
    **{
        f"drawing/{picture}/ratio": Row(
            f"training speed with the app over without, four environments of 1 ms per step, pictures of {picture}",
            0.97,
            0.99,
            _share,
        )
        for picture in ("0.1ms", "5ms", "50ms", "400ms")
    },
    **{
        f"watch/added/{key}/{looking}/median": Row(f"time that `watch` adds to {loop}, {viewers}", bound, aim, _share)
        for key, loop, bounds, aims in (
            ("gymnasium", "an actor-critic with 8 CartPoles", (0.02, 0.03), (0.01, 0.02)),
            ("ppo", "a small PPO with 8 CartPoles", (0.02, 0.03), (0.01, 0.02)),
            ("dqn", "DQN with a single CartPole", (0.03, 0.04), (0.01, 0.02)),
            ("rows", "4,096 rows whose step takes 0.3 ms, five reward terms", (0.25, 0.25), (0.05, 0.05)),
            ("sb3", "PPO of Stable-Baselines3", (0.02, 0.03), (0.01, 0.02)),
        )
        for looking, viewers, bound, aim in zip(
            ("nobody", "attached"), ("no app attached", "app attached"), bounds, aims, strict=True
        )
    },
    "watch/many/median": Row(
        "CPU time of a script with 200 environments of 100 steps each: with `watch` over without", 1.1, 1.02
    ),
    "watch/startup/added/median": Row(
        "time from `pac-tui watch` to the first board, beyond the time that the script takes to its first step",
        1.5,
        0.7,
        SECONDS,
    ),
    "app/app_cpu/median": Row("CPU time of the app, share of one core", 5, 5, PERCENT),
    "keys/p95": Row("time from a key press to the screen during training, N = 64, p95", 50, 25, MILLISECONDS),
    "app/app_rss/max": Row("peak memory of the app", 120e6, 80e6, _megabytes),
    "openings/kept": Row("memory that the app keeps after 100 openings of each dialog and view", 10e6, 5e6, _megabytes),
}
"""The rows by the keys under which the results contain their values."""


def value_at(results: Results, place: str) -> float | None:
    """Return the value that the keys in `place` lead to, or None if it was not measured."""
    found: Any = results
    for key in place.split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) else None


def markdown(results: Results) -> str:
    """Return the table in Markdown, followed by the machine and the versions."""
    lines = ["| measurement | result | bound | goal |", "|---|---|---|---|"]
    for place, row in ROWS.items():
        number = value_at(results, place)
        measured = "not measured" if number is None else row.show(number)
        if number is not None and not row.passed(number):
            measured += " (missed)"
        sign = "<=" if row.most else ">="
        lines.append(f"| {row.what} | {measured} | {sign} {row.show(row.bound)} | {row.show(row.aim)} |")
    return "\n".join([*lines, "", measured_on(results["facts"])])


def measured_on(facts: Results) -> str:
    """Return the machine, the versions, the revision and the time in one line."""
    versions = ", ".join(f"{name} {found}" for name, found in facts["versions"].items() if found)
    return f"{facts['cpu']}, {facts['cores']} cores, {versions}, revision {facts['revision']}, {facts['time']}."
