"""Compares PPO with SB3-contrib's `MaskablePPO`: same game, network, N, batch, epochs, minibatch (extra `[peers]`).

Each measurement has its own process, because threads and memory are set up per process; the sides alternate. Rollouts
and updates are timed separately within the same training. SB3 runs as its users run it: with `DummyVecEnv`, which is
faster than its processes for environments this fast, and with PyTorch's default threads.

    python -m pac.training.bench.sb3
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from statistics import median

from ...envs import Task, find
from .facts import Figures, Progress, facts, summary_of
from .measured_process import figures_of
from .sb3_network import SETTINGS, check_same, sb3_policy
from .turns import alternate

GEMM = 1024
LIMIT = 120.0  # s in addition to the training time


def compare(
    task: str = "drmario",
    *,
    num_envs: int = 16,
    seconds: float = 8.0,
    pairs: int = 3,
    backend: str = "threads",
    progress: Progress = lambda _what, _share: None,
) -> Figures:
    """Train alternately with both; return their decisions per second and the ratios of the medians.

    Args:
        task: The task's text.
        num_envs: N of both.
        seconds: Length of each measurement, after one iteration to warm up.
        pairs: Repetitions.
        backend: The backend of our side.
        progress: Called with the current measurement.

    Returns:
        `rollout` and `training`, each with `ours`, `sb3` and `ratio`; `arithmetic` with the share of the machine's
        matrix product rate that each update reaches; and the machine.

    Raises:
        MeasurementFailed: A measurement failed, for instance because the extra `[peers]` is missing.
    """

    def figures(side: str) -> Figures:
        return dict(figures_of(__spec__.name, side, task, num_envs, seconds, backend, limit=seconds + LIMIT))

    samples = alternate({side: partial(figures, side) for side in ("ours", "sb3")}, pairs, progress)
    network = parameters_and_flops(find(task))
    done = {"ours": parameters_and_flops(find(task), scalars=True), "sb3": network}
    return {
        "task": task,
        "num_envs": num_envs,
        "backend": backend,
        "settings": SETTINGS,
        "network": network,
        "rollout": _ratio(samples, "rollout_sps"),
        "training": _ratio(samples, "training_sps"),
        "arithmetic": {side: _arithmetic(runs, done[side]["update_flops"]) for side, runs in samples.items()},
        **facts(),
    }


def _ratio(samples: dict[str, list[Figures]], key: str) -> Figures:
    ours, theirs = ([run[key] for run in samples[side]] for side in ("ours", "sb3"))
    return {"ours": summary_of(ours), "sb3": summary_of(theirs), "ratio": median(ours) / median(theirs)}


def _arithmetic(runs: list[Figures], flops: int) -> Figures:
    """Return the GFLOP/s of the update and of a large matrix product, and their ratio."""
    update = median(run["update_sps"] * flops / 1e9 for run in runs)
    peak = median(run["gemm_gflops"] for run in runs)
    return {"update_gflops": update, "gemm_gflops": peak, "share": update / peak}


def parameters_and_flops(task: Task, *, scalars: bool = False) -> Figures:
    """Return the board network's parameters and floating point operations per decision, forward and in an update.

    The backward pass has one product for the weights and one for the input, which the first layer does not need.

    Args:
        task: The task.
        scalars: Whether uniform planes are computed as scalars, as our side does and SB3 does not.
    """
    from ..nets.line_convolution import REACH
    from ..ppo.networks import VALUE_CHANNELS, build_network
    from ..ppo.settings import PpoSettings

    settings = PpoSettings.for_task(task, SETTINGS)
    network = build_network(task, settings)
    planes, height, width = task.observation.shape
    cells = height * width
    lo, hi = task.observation.uniform if scalars else (0, 0)
    first = 2 * cells * (2 * REACH + 1) * (planes - (hi - lo)) * settings.channels
    first += (height + width) * (hi - lo) * settings.channels
    rest = 2 * cells * settings.channels**2 * (settings.layers - 1)
    rest += 2 * cells * settings.channels * (task.action_shape[0] + VALUE_CHANNELS)
    rest += 2 * (VALUE_CHANNELS * cells + 1) * settings.hidden
    return {
        "channels": settings.channels,
        "layers": settings.layers,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "forward_flops": first + rest,
        "update_flops": settings.epochs * (2 * first + 3 * rest),
    }


def gemm_gflops(seconds: float = 0.5) -> float:
    """Return the highest rate of float32 matrix products on all cores, in GFLOP/s."""
    import torch

    threads = torch.get_num_threads()
    from ...backends import usable_cores

    torch.set_num_threads(usable_cores())
    left, right = torch.randn(GEMM, GEMM), torch.randn(GEMM, GEMM)
    best, end = 0.0, time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        torch.mm(left, right)
        best = max(best, 2 * GEMM**3 / (time.perf_counter() - begun) / 1e9)
    torch.set_num_threads(threads)
    return best


def _figures(decisions: int, rollout: float, update: float) -> Figures:
    return {
        "rollout_sps": decisions / rollout,
        "update_sps": decisions / update,
        "training_sps": decisions / (rollout + update),
        "gemm_gflops": gemm_gflops(),
    }


def measure_ours(task: Task, num_envs: int, seconds: float, backend: str) -> Figures:
    """Measure our side for `seconds` after one iteration."""
    from ...backends import make
    from ..ppo.trainer import PPO
    from ..trainer import Context, Envs, Timer
    from ..trainers import trainer_settings

    def envs(count: int, slots: int) -> Envs:
        return make(task, count, backend, slots=slots, seed=0)

    timer = Timer()
    trainer = PPO(Context(task, envs, trainer_settings("ppo", task, SETTINGS), "cpu", 0, timer))
    trainer.start(num_envs)
    trainer.iterate()
    timer.lap("python")
    before, update, begun = trainer.learner.decisions, timer.seconds["learner"], time.perf_counter()
    while time.perf_counter() - begun < seconds:
        trainer.iterate()
    whole, update = time.perf_counter() - begun, timer.seconds["learner"] - update
    trainer.close()
    return _figures(trainer.learner.decisions - before, whole - update, update)


def measure_sb3(task: Task, num_envs: int, seconds: float) -> Figures:
    """Measure SB3-contrib for `seconds` after one iteration."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    from ...envs.gym import TaskEnv

    class Stopwatch(BaseCallback):
        """Measures the time of rollouts and updates."""

        rollout = update = 0.0
        decisions = -SETTINGS["batch"]
        last = 0.0

        def _lap(self) -> float:
            now = time.perf_counter()
            spent, self.last = now - self.last, now
            return spent

        def _on_rollout_start(self) -> None:
            spent = self._lap()
            if self.decisions > 0:
                self.update += spent

        def _on_rollout_end(self) -> None:
            spent = self._lap()
            self.decisions += SETTINGS["batch"]
            if self.decisions > 0:
                self.rollout += spent

        def _on_step(self) -> bool:
            return self.decisions <= 0 or self.rollout + self.update < seconds

    model = MaskablePPO(
        sb3_policy(),
        DummyVecEnv([lambda: TaskEnv(task)] * num_envs),
        learning_rate=SETTINGS["learning_rate"],
        n_steps=SETTINGS["batch"] // num_envs,
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
    return _figures(watch.decisions, watch.rollout, watch.update)


def main() -> None:
    """Print the comparison as JSON; with arguments, one measurement."""
    if len(sys.argv) == 1:
        print(json.dumps(compare(), indent=2))
        return
    side, spec, num_envs, seconds, backend = sys.argv[1:]
    task = find(spec)
    if side == "ours":
        print(json.dumps(measure_ours(task, int(num_envs), float(seconds), backend)))
    else:
        print(json.dumps(measure_sb3(task, int(num_envs), float(seconds))))


if __name__ == "__main__":
    main()
