"""The parts of `pac-tui bench all`, each in full or quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...envs.openmp import unavailable
from ...envs.task import load
from .facts import Figures, Progress

WATCHED = 1.0
"""Default seconds of training of each half of a pair."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        function: `module:function` of this package, which is imported when it is measured.
        quick: Its options in a quick run. In a full run it has its defaults.
        help: What its command measures, if the command has no other options.
    """

    function: str
    quick: dict[str, Any]
    help: str = ""

    def __call__(self, *, quick: bool, progress: Progress, **options: Any) -> Figures:
        """Run the benchmark; `options` override those of a full or quick run."""
        figures: Figures = self.load()(progress=progress, **((self.quick if quick else {}) | options))
        return figures

    def load(self) -> Callable[..., Figures]:
        """Import the function; load OpenMP before PyTorch does, so that its threads sleep, as in a session."""
        unavailable()
        found: Callable[..., Figures] = load(f".{self.function}", __package__)
        return found


PARTS = {
    "engine": Benchmark(
        "games.engine:measure_engine",
        {"repeat": 1, "seconds": 1.0},
        "Measure the decisions per second of the built-in games on one core, without a trainer.",
    ),
    "gameboy": Benchmark("games.gameboy:measure_gameboy", {"repeat": 1, "seconds": 0.5, "frames": 300}),
    "transports": Benchmark("backends.transports:compare_transports", {"trips": 1000}),
    "matrix": Benchmark("matrix:matrix", {"steps": 8192}),
    "peers": Benchmark("peers:measure_peers", {"rounds": 5, "async_rounds": 3}),
    "sb3": Benchmark(
        "sb3:compare",
        {"seconds": 4.0, "pairs": 1},
        "Compare PPO with SB3-contrib's MaskablePPO: the same game, network and settings.",
    ),
    "overlap": Benchmark(
        "overlap:measure_overlap",
        {"seconds": 2.0, "rounds": 3},
        "Compare PPO with and without --ppo.overlap, which collects and learns at the same time.",
    ),
    "dqn": Benchmark(
        "dqn:measure_dqn",
        {"seconds": 1.0, "rounds": 3},
        "Compare gradient steps per second with Stable-Baselines3's DQN, and measure a replay of a million images.",
    ),
    "packed": Benchmark(
        "packed:measure_packed",
        {"rounds": 5, "num_envs": (256,)},
        "Measure packed pixels: decoding, distances, memory, and the parts of PPO at N = 256 and 8,192.",
    ),
    "ray": Benchmark(
        "ray_nodes:measure_ray",
        {"seconds": 1.0, "rounds": 1},
        "Compare the backend ray with inline and with RLlib's environment runners, on two nodes of one CPU.",
    ),
    "ranks": Benchmark(
        "ranks:measure_ranks",
        {"seconds": 5.0, "rounds": 1},
        "Compare training in two processes with one process on one core and on two cores.",
    ),
    "relay": Benchmark(
        "relay:measure_relay",
        {"seconds": 3.0, "rounds": 2, "presses": 10},
        "Measure a session shown through a relay: bandwidth, time from a key press to the screen, training speed.",
    ),
    "device": Benchmark(
        "device:measure_device",
        {"seconds": 0.3, "training": 4.0, "rounds": 1, "large": 1_024},
        "Measure the device backend on the CPU, compared with threads and worker processes.",
    ),
    "gpu": Benchmark(
        "gpu:measure_gpu",
        {"envs": (256,), "seconds": 1.0},
        "Measure environments on a GPU: steps with random actions, and whole PPO, for several N.",
    ),
    "kernels": Benchmark(
        "kernels:measure_kernels",
        {"targets": (90,)},
        "Compile the GPU kernels without a GPU, and report registers, stack, spills and occupancy.",
    ),
    "fights": Benchmark(
        "games.fights:measure_fights",
        {"seconds": 2.0},
        "Measure the fights of autochess: their duration and their share of a step.",
    ),
    "evaluation": Benchmark(
        "evaluation:evaluation_cost",
        {"seconds": 6.0, "pairs": 1},
        "Measure how much background evaluation slows down training.",
    ),
    "independent": Benchmark(
        "independent:compare",
        {"seconds": 5.0, "rounds": 1},
        "Compare two independent learners in parallel processes with the same learners in one process.",
    ),
    "poker": Benchmark(
        "poker:compare_solvers",
        {"seconds": 0.5, "rounds": 1, "long": 1.0, "seeds": 1},
        "Compare iterations per second and NashConv with OpenSpiel and donksolver, and two workers with one.",
    ),
    "checkpoints": Benchmark(
        "checkpoints:saving_cost",
        {"every": 4.0, "times": 1},
        "Measure how long a checkpoint pauses training, and how much checkpoints every 30 s slow it down.",
    ),
    "drawing": Benchmark(
        "drawing:drawing_cost",
        {"milliseconds": (50.0,), "seconds": 3.0, "rounds": 1},
        "Measure how much pictures that take long slow down training while the app is attached.",
    ),
    "app": Benchmark("app:app_cost", {"seconds": 5.0, "pairs": 3}),
    "watch": Benchmark("watching:watch_cost", {"pairs": 10, "rounds": 3}),
    "keys": Benchmark(
        "app:key_latency", {"presses": 20}, "Measure the time from a key press to the screen during training."
    ),
    "start": Benchmark(
        "app:start_up",
        {"repetitions": 1},
        "Measure the time from the command to the first screen and to the first moving board.",
    ),
}
