"""Compares PPO with SB3-contrib's `MaskablePPO`: same game, network, N, batch, epochs, minibatch (extra `[peers]`).

Each measurement has its own process, because threads and memory are set up per process; the sides alternate. Rollouts
and updates are timed separately within the same training. SB3 runs as its users run it: with `DummyVecEnv`, which is
faster than its processes for environments this fast, and with PyTorch's default threads.

    python -m tests.benchmarks sb3
"""

from __future__ import annotations

import time
from functools import partial
from statistics import median

from pac.envs import find
from pac.training.bench.alone import started
from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.measured_process import results_of
from pac.training.bench.turns import alternate
from pac.training.config import Config

from .matrix import network
from .sb3_network import SETTINGS, check_same, sb3_policy

TASK, NUM_ENVS, BACKEND = "drmario", 16, "threads"
LIMIT = 120.0  # s in addition to the training time


def compare(*, seconds: float = 8.0, pairs: int = 3, progress: Progress) -> Results:
    """Train alternately with both; return their decisions per second and the ratios of the medians.

    Args:
        seconds: Length of each measurement, after one iteration to warm up.
        pairs: Repetitions.
        progress: Called with the current measurement.

    Returns:
        `rollout` and `training`, each with `ours`, `sb3` and `ratio`; the `network`.

    Raises:
        MeasurementFailed: A measurement failed, for instance because the extra `[peers]` is missing.
    """
    sides = {
        side: partial(results_of, function, seconds, limit=seconds + LIMIT)
        for side, function in (("ours", measure_ours), ("sb3", measure_sb3))
    }
    samples = alternate(sides, pairs, progress)
    return {
        "task": TASK,
        "num_envs": NUM_ENVS,
        "backend": BACKEND,
        "settings": SETTINGS,
        "network": network(Config(task=TASK, settings=SETTINGS)),
        "rollout": _ratio(samples, "rollout_sps"),
        "training": _ratio(samples, "training_sps"),
    }


def _ratio(samples: dict[str, list[Results]], key: str) -> Results:
    ours, theirs = ([run[key] for run in samples[side]] for side in ("ours", "sb3"))
    return {"ours": summary_of(ours), "sb3": summary_of(theirs), "ratio": median(ours) / median(theirs)}


def _figures(decisions: int, rollout: float, update: float) -> Results:
    return {"rollout_sps": decisions / rollout, "training_sps": decisions / (rollout + update)}


def measure_ours(seconds: float) -> Results:
    """Measure our side for `seconds` after one iteration."""
    with started("ppo", find(TASK), SETTINGS, NUM_ENVS, BACKEND) as (trainer, timer):
        trainer.iterate()
        timer.lap("python")
        before, update, begun = trainer.learner.decisions, timer.seconds["learner"], time.perf_counter()
        while time.perf_counter() - begun < seconds:
            trainer.iterate()
        whole, update = time.perf_counter() - begun, timer.seconds["learner"] - update
    return _figures(trainer.learner.decisions - before, whole - update, update)


def measure_sb3(seconds: float) -> Results:
    """Measure SB3-contrib for `seconds` after one iteration."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    from pac.envs.gym import TaskEnv

    task = find(TASK)

    class Stopwatch(BaseCallback):
        """Records when rollouts start and end, and stops the training. The first iteration is not counted."""

        def __init__(self) -> None:
            super().__init__()
            self.starts: list[float] = []
            self.ends: list[float] = []

        def _on_rollout_start(self) -> None:
            self.starts.append(time.perf_counter())

        def _on_rollout_end(self) -> None:
            self.ends.append(time.perf_counter())

        def _on_step(self) -> bool:
            return len(self.starts) < 2 or self.starts[-1] - self.starts[1] < seconds

    model = MaskablePPO(
        sb3_policy(),
        DummyVecEnv([lambda: TaskEnv(task)] * NUM_ENVS),
        learning_rate=SETTINGS["learning_rate"],
        n_steps=SETTINGS["batch"] // NUM_ENVS,
        batch_size=SETTINGS["minibatch"],
        n_epochs=SETTINGS["epochs"],
        gamma=SETTINGS["gamma"],
        gae_lambda=SETTINGS["gae_lambda"],
        clip_range=SETTINGS["clip"],
        ent_coef=SETTINGS["entropy_coefficient"],
        vf_coef=SETTINGS["value_coefficient"],
        max_grad_norm=SETTINGS["max_grad_norm"],
        policy_kwargs={"task": task},
        device="cpu",
        seed=0,
    )
    check_same(model.policy, task)
    watch = Stopwatch()
    model.learn(10**9, callback=watch)
    rollout = sum(end - start for start, end in zip(watch.starts[1:-1], watch.ends[1:], strict=True))
    whole = watch.starts[-1] - watch.starts[1]
    return _figures(len(watch.ends[1:]) * SETTINGS["batch"], rollout, whole - rollout)
