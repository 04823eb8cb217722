"""The benchmarks that users run on their own machines, each in full or quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...envs.openmp import unavailable
from ...envs.task import load
from .facts import Progress, Results

WATCHED = 1.0
"""Default seconds of training of each half of a pair."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        function: `module:function`, which is imported when it is measured.
        quick: Its options in a quick run. In a full run it has its defaults.
        help: What its command measures, if the command has no other options.
    """

    function: str
    quick: dict[str, Any]
    help: str = ""

    def __call__(self, *, quick: bool, progress: Progress, **options: Any) -> Results:
        """Run the benchmark; `options` override those of a full or quick run."""
        results: Results = self.load()(progress=progress, **((self.quick if quick else {}) | options))
        return results

    def load(self) -> Callable[..., Results]:
        """Import the function; load OpenMP before PyTorch does, so that its threads sleep, as in a session."""
        unavailable()
        found: Callable[..., Results] = load(self.function)
        return found


PARTS = {
    "engine": Benchmark(
        "pac.training.bench.games.engine:measure_engine",
        {"repeat": 1, "seconds": 1.0},
        "Measure the decisions per second of the built-in games on one core, without a trainer.",
    ),
    "transports": Benchmark("pac.training.bench.backends.transports:compare_transports", {"trips": 1000}),
    "device": Benchmark(
        "pac.training.bench.device:measure_device",
        {"seconds": 0.3, "training": 4.0, "rounds": 1, "large": 1_024},
        "Measure the device backend on the CPU, compared with threads and worker processes.",
    ),
    "gpu": Benchmark(
        "pac.training.bench.gpu:measure_gpu",
        {"seconds": 0.5, "clearing": 10.0, "limit": 180.0},
        "Measure environments on a GPU, alone, with inference and with training, and the time to a cleared bottle. "
        "Takes up to 8 minutes. Without a GPU, it measures few environments on the CPU.",
    ),
    "app": Benchmark(
        "pac.training.bench.app:app_cost",
        {"seconds": 5.0, "pairs": 3},
        "Measure the training speed with the app attached relative to headless, and the CPU and memory use of the app.",
    ),
    "drawing": Benchmark(
        "pac.training.bench.drawing:drawing_cost",
        {"milliseconds": (50.0,), "seconds": 3.0, "rounds": 1},
        "Measure how much pictures that take long slow down training while the app is attached.",
    ),
    "watch": Benchmark("pac.training.bench.watching:watch_cost", {"pairs": 10, "rounds": 3}),
    "keys": Benchmark(
        "pac.training.bench.app:key_latency",
        {"presses": 20},
        "Measure the time from a key press to the screen during training.",
    ),
    "start": Benchmark(
        "pac.training.bench.app:start_up",
        {"repetitions": 1},
        "Measure the time from the command to the first screen and to the first moving board.",
    ),
}
