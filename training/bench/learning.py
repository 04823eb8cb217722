"""Measures what a policy has learned after a number of decisions, with several seeds, each in its own process.

All environments are in the process, and PyTorch has one thread, so that the figures depend neither on the number of
cores nor on how busy they are. Only the seconds do.

    pac-tui bench learning --task CartPole-v1 --steps 100000
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from statistics import fmean, median
from typing import Any, TypeAlias

from ...envs import BadParameter, Task, find
from ..config import Config
from ..loading import effective_settings, trainer_of
from ..playing import context_of, play_episodes
from ..trainer import Trainer
from ..trainers import build_trainer
from .facts import Figures, Progress, summary_of
from .measured_process import MeasurementFailed, last_line

Report: TypeAlias = Callable[[Figures], None]
TRAINERS = ("ppo", "dqn", "iqn")
NUM_ENVS = 8
EPISODES = 20
CHECKS = 20
PLAYED_SEED = 1_000_000
"""Seed of the episodes that are played, which no training has."""
OURS, SB3 = "pac-tui", "SB3"
SB3_SETTINGS: Mapping[str, Figures] = {
    "CartPole-v1": {
        "num_envs": 8,
        "n_steps": 32,
        "batch_size": 256,
        "gae_lambda": 0.8,
        "gamma": 0.98,
        "n_epochs": 20,
        "ent_coef": 0.0,
        "learning_rate": 0.001,
        "clip_range": 0.2,
    },
}
"""Settings of Stable-Baselines3's PPO that RL Zoo publishes; learning rate and clip range fall to 0 at the end."""


def learning(
    config: Config, *, seeds: int, goal: float | None = None, sb3: bool = False, progress: Progress
) -> Figures:
    """Train with each seed, and play with the most likely actions at `CHECKS` times.

    Args:
        config: The task, the settings, `steps` and the first seed.
        seeds: Number of seeds.
        goal: A mean return; the result says when it was reached first.
        sb3: Whether Stable-Baselines3 trains too, alternately.
        progress: Called with the current measurement.

    Returns:
        For each of the `sides`: `runs`, whose `points` have decisions, seconds of training and mean return; `final`,
        the last mean returns of all seeds; `best`, their highest; and with a goal the medians `decisions` and `seconds`
        until it was reached, None if most seeds did not reach it.

    Raises:
        BadParameter: There is no limit of steps, the trainer is unknown, or SB3 has no settings for the task.
        MeasurementFailed: A training failed.
    """
    if config.steps is None:
        raise BadParameter("a training needs an end; set --steps, for instance to 100000")
    trainer = trainer_of(config)
    if trainer not in TRAINERS:
        raise BadParameter(f"learning is measured for the trainers {', '.join(TRAINERS)}, got {trainer}")
    if sb3 and (trainer != "ppo" or config.task not in SB3_SETTINGS):
        raise BadParameter(f"--sb3 trains ppo on {', '.join(SB3_SETTINGS)}, got {trainer} on {config.task}")
    sides = (OURS, SB3) if sb3 else (OURS,)
    runs: dict[str, list[Figures]] = {side: [] for side in sides}
    for number in range(seeds * len(sides)):
        side, seed = sides[number % len(sides)], config.seed + number // len(sides)
        points: list[Figures] = []
        for point in _points(side, config.model_copy(update={"seed": seed})):
            points.append(point)
            share = min(1.0, point["decisions"] / config.steps)
            progress(f"{side}, seed {seed}, {point['mean']:g}", (number + share) / (seeds * len(sides)))
        runs[side].append({"seed": seed, "points": points})
    return {
        "task": config.task,
        "steps": config.steps,
        "num_envs": config.num_envs or NUM_ENVS,
        "settings": effective_settings(config),
        "goal": goal,
        "sides": {side: summary(found, goal) for side, found in runs.items()},
    }


def summary(runs: list[Figures], goal: float | None) -> Figures:
    """Return the figures of some runs, as `learning` does for a side."""
    means = [[point["mean"] for point in run["points"]] for run in runs]
    found: Figures = {
        "runs": runs,
        "final": summary_of([mean[-1] for mean in means]),
        "best": summary_of(list(map(max, means))),
    }
    if goal is None:
        return found
    firsts = [next((point for point in run["points"] if point["mean"] >= goal), None) for run in runs]
    for key in ("decisions", "seconds"):
        middle = median(first[key] if first else math.inf for first in firsts)
        found[key] = middle if middle < math.inf else None
    return found


def _points(side: str, config: Config) -> Iterator[Figures]:
    """Train in a process of its own; yield its points."""
    command = [sys.executable, "-m", __spec__.name, side, config.model_dump_json()]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
        if process.wait():
            errors.seek(0)
            status = f"status {process.returncode}: {last_line(errors.read())}"
            raise MeasurementFailed(f"the training of {side} ended with {status}")


def train_ours(config: Config, report: Report) -> None:
    """Train for `config.steps` decisions and report the points."""
    task, settings = find(config.task), effective_settings(config) | {"threads": 1}
    name = trainer_of(config)
    trainer = build_trainer(name, context_of(task, settings, config.seed)[0])
    trainer.start(config.num_envs or NUM_ENVS)
    decisions, seconds, check = 0, 0.0, next_check(config, 0)
    while decisions < check:
        begun = time.perf_counter()
        decisions = int(trainer.iterate()["decisions"])
        seconds += time.perf_counter() - begun
        if decisions >= check:
            returns = greedy_returns(name, task, settings, trainer)
            report({"decisions": decisions, "seconds": seconds, "mean": fmean(returns)})
            check = next_check(config, decisions)
    trainer.close()


def next_check(config: Config, decisions: int) -> int:
    """Return after how many decisions episodes are played next; `decisions` itself at the end of the training."""
    assert config.steps is not None
    number = decisions * CHECKS // config.steps + 1
    return math.ceil(config.steps * number / CHECKS) if number <= CHECKS else decisions


def greedy_returns(name: str, task: Task, settings: Mapping[str, Any], trainer: Trainer) -> list[float]:
    """Return the returns of all seats in the first episodes of `EPISODES` environments, with the likeliest actions."""
    played = play_episodes(name, task, settings, trainer.policy_state(), episodes=EPISODES, seed=PLAYED_SEED)
    return [value for episode in played for value in episode.returns]


def train_sb3(config: Config, report: Report) -> None:
    """Train with Stable-Baselines3 and report the points."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    settings = dict(SB3_SETTINGS[config.task])
    for key in ("learning_rate", "clip_range"):
        settings[key] = _falling(settings[key])

    class Playing(BaseCallback):
        """Stops the clock and plays."""

        def __init__(self) -> None:
            super().__init__()
            self.begun, self.seconds, self.check = 0.0, 0.0, next_check(config, 0)

        def _on_training_start(self) -> None:
            self.begun = time.perf_counter()

        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:  # after the update, as on our side
            if self.num_timesteps >= self.check:
                self.seconds += time.perf_counter() - self.begun
                returns = [_sb3_return(config.task, self.model, number) for number in range(EPISODES)]
                report({"decisions": self.num_timesteps, "seconds": self.seconds, "mean": fmean(returns)})
                self.check = next_check(config, self.num_timesteps)
                self.begun = time.perf_counter()

        _on_training_end = _on_rollout_start

    envs = make_vec_env(config.task, settings.pop("num_envs"), seed=config.seed)
    model = stable_baselines3.PPO("MlpPolicy", envs, seed=config.seed, device="cpu", **settings)
    assert config.steps is not None
    model.learn(config.steps, callback=Playing())


def _falling(first: float) -> Callable[[float], float]:
    """Return a schedule of SB3 from `first` to 0."""
    return lambda left: left * first


def _sb3_return(task: str, model: Any, number: int) -> float:
    """Return the return of an episode with the most likely actions."""
    import gymnasium

    env = gymnasium.make(task)
    observation, _ = env.reset(seed=PLAYED_SEED + number)
    total, ended = 0.0, False
    while not ended:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, ended = total + float(reward), terminated or truncated
    env.close()
    return total


if __name__ == "__main__":
    train = {OURS: train_ours, SB3: train_sb3}[sys.argv[1]]
    train(Config.model_validate_json(sys.argv[2]), lambda point: print(json.dumps(point), flush=True))
