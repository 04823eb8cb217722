"""The parts of `pac-tui bench all`, each in full or quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .facts import Figures, Progress

WATCHED = 4.0
"""Default seconds of training of each half of a pair."""


@dataclass(frozen=True)
class Part:
    """A benchmark.

    Attributes:
        function: `module:function` of this package, which is imported when it is measured.
        quick: Its options in a quick run. In a full run it has its defaults.
    """

    function: str
    quick: dict[str, Any]

    def __call__(self, *, quick: bool, progress: Progress, **options: Any) -> Figures:
        """Measure it; `options` replace those of a full or quick run."""
        figures: Figures = self.load()(progress=progress, **((self.quick if quick else {}) | options))
        return figures

    def load(self) -> Callable[..., Figures]:
        """Import the function."""
        module, _, name = self.function.partition(":")
        found: Callable[..., Figures] = getattr(import_module(f".{module}", __package__), name)
        return found


PARTS = {
    "engine": Part("games.engine:measure_engine", {"repeat": 1, "seconds": 1.0}),
    "gameboy": Part("games.gameboy:measure_gameboy", {"repeat": 1, "seconds": 0.5}),
    "transports": Part("backends.transports:compare_transports", {"trips": 1000, "steps": 300}),
    "matrix": Part("matrix:matrix", {"steps": 8192}),
    "peers": Part("peers:measure_peers", {"rounds": 5, "async_rounds": 3}),
    "sb3": Part("sb3:compare", {"seconds": 4.0, "pairs": 1}),
    "overlap": Part("overlap:measure_overlap", {"seconds": 2.0, "rounds": 3}),
    "dqn": Part("dqn:measure_dqn", {"seconds": 1.0, "rounds": 3}),
    "packed": Part("packed:measure_packed", {"rounds": 5, "num_envs": (256,)}),
    "ray": Part("ray_nodes:measure_ray", {"seconds": 1.0, "rounds": 1}),
    "ranks": Part("ranks:measure_ranks", {"seconds": 5.0, "rounds": 1}),
    "relay": Part("relay:measure_relay", {"seconds": 3.0, "rounds": 2, "presses": 10}),
    "device": Part("device:measure_device", {"seconds": 0.3, "training": 4.0, "rounds": 1, "large": 1_024}),
    "kernels": Part("kernels:measure_kernels", {"targets": (90,)}),
    "fights": Part("games.fights:measure_fights", {"seconds": 2.0}),
    "evaluation": Part("evaluation:evaluation_cost", {"seconds": 6.0, "pairs": 1}),
    "independent": Part("independent:compare", {"seconds": 5.0, "rounds": 1}),
    "poker": Part("poker:compare_solvers", {"seconds": 0.5, "rounds": 1, "long": 1.0, "seeds": 1}),
    "checkpoints": Part("checkpoints:saving_cost", {"every": 4.0, "times": 1}),
    "app": Part("app:app_cost", {"seconds": 5.0, "pairs": 3}),
    "watch": Part("watching:watch_cost", {"seconds": 3.0, "pairs": 3}),
    "keys": Part("app:key_latency", {"presses": 20}),
    "start": Part("app:start_up", {"repetitions": 1}),
}
