"""Other trainers that `bench learning` compares with: Stable-Baselines3, and a DQN like CleanRL's."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from pac.training.bench.facts import Results
from pac.training.config import Config
from pac.training.dqn.settings import DqnSettings
from pac.training.settings import scheduled

from .learning_checks import EPISODES, PLAYED_SEED, Checks, LearningCurve, Report

SB3_SETTINGS: Mapping[tuple[str, str], Results] = {
    ("ppo", "CartPole-v1"): {
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
    ("dqn", "CartPole-v1"): {
        "num_envs": 1,
        "learning_rate": 2.3e-3,
        "batch_size": 64,
        "buffer_size": 100_000,
        "learning_starts": 1000,
        "gamma": 0.99,
        "target_update_interval": 10,
        "train_freq": 256,
        "gradient_steps": 128,
        "exploration_fraction": 0.16,
        "exploration_final_eps": 0.04,
        "policy_kwargs": {"net_arch": [256, 256]},
    },
    ("sac", "Pendulum-v1"): {"num_envs": 1, "learning_rate": 1e-3},
    ("sac", "HalfCheetah-v5"): {"num_envs": 1, "learning_starts": 10_000},
    ("sac", "Hopper-v5"): {"num_envs": 1, "learning_starts": 10_000},
    ("sac", "Walker2d-v5"): {"num_envs": 1, "learning_starts": 10_000},
}
"""Settings that RL Zoo publishes, by algorithm and task. PPO's learning rate and clip range fall to 0 at the end."""
ZOO_STEPS = 50_000
"""Steps of RL Zoo's training of DQN, of which the exploration is a fraction."""
CLEANRL_SETTINGS: Mapping[str, Any] = {
    "learning_rate": 2.5e-4,
    "replay_size": 10_000,
    "gamma": 0.99,
    "target_update": 500,
    "batch": 128,
    "epsilon": "0:1,250000:0.05",
    "learning_starts": 10_000,
    "train_frequency": 10,
    "gradient_steps": 1,
    "n_step": 1,
    "double": False,
    "huber_loss": False,
    "max_grad_norm": 1e9,
    "layers": 2,
    "hidden": 120,
}
"""Defaults of CleanRL's DQN. Its second layer has a width of 84; here both sides have two layers of 120."""


def train_sb3(name: str, config: Config, checks: Checks, report: Report) -> None:
    """Train with Stable-Baselines3 and report the points."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)

    class Playing(BaseCallback):
        """Measures the policy."""

        def _on_training_start(self) -> None:
            self.curve = LearningCurve(checks, lambda: mean_return(config.task, self._action), report)

        def _on_step(self) -> bool:
            return not self.curve.over

        def _on_rollout_start(self) -> None:  # after the update, as on our side
            self.curve.add(self.num_timesteps)

        _on_training_end = _on_rollout_start

        def _action(self, observation: Any) -> Any:
            return self.model.predict(observation, deterministic=True)[0]

    settings = dict(SB3_SETTINGS[name, config.task])
    envs = make_vec_env(config.task, settings.pop("num_envs"), seed=config.seed)
    if name == "ppo":
        for key in ("learning_rate", "clip_range"):
            settings[key] = _falling(settings[key])
    elif name == "dqn":
        settings["exploration_fraction"] *= ZOO_STEPS / checks.steps
    kind = {"ppo": stable_baselines3.PPO, "dqn": stable_baselines3.DQN, "sac": stable_baselines3.SAC}[name]
    model = kind("MlpPolicy", envs, seed=config.seed, device="cpu", **settings)
    model.learn(checks.steps, callback=Playing())


def _falling(first: float) -> Callable[[float], float]:
    """Return a schedule of SB3 from `first` to 0."""
    return lambda left: left * first


def train_cleanrl(config: Config, checks: Checks, report: Report) -> None:
    """Train with a DQN like CleanRL's, in one loop over one environment, with SB3's buffer, and report the points.

    The settings are those of our side; `CLEANRL_SETTINGS` names the ones that are used.
    """
    import gymnasium
    import torch
    from stable_baselines3.common.buffers import ReplayBuffer
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    random.seed(config.seed)
    given = {**CLEANRL_SETTINGS, **config.settings}
    settings = DqnSettings.model_validate({name: given[name] for name in given.keys() & DqnSettings.model_fields})
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(config.task))],
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    envs.single_action_space.seed(config.seed)
    inputs, actions = int(np.prod(envs.single_observation_space.shape or ())), int(envs.single_action_space.n)  # type: ignore[attr-defined]

    def network() -> nn.Module:
        widths = [inputs, *[settings.hidden] * settings.layers]
        layers = [(nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths)]
        return nn.Sequential(*(one for pair in layers for one in pair), nn.Linear(widths[-1], actions))

    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=scheduled(settings.learning_rate, 0))
    kept = ReplayBuffer(
        settings.replay_size,
        envs.single_observation_space,
        envs.single_action_space,
        "cpu",
        handle_timeout_termination=False,
    )

    def greedy(observation: Any) -> Any:
        with torch.no_grad():
            return online(torch.as_tensor(observation[None])).argmax(1).numpy()[0]

    observations, _ = envs.reset(seed=config.seed)
    curve = LearningCurve(checks, lambda: mean_return(config.task, greedy), report)
    for step in range(checks.steps):
        if random.random() < scheduled(settings.epsilon, step):
            chosen = np.array([envs.single_action_space.sample()])
        else:
            chosen = online(torch.Tensor(observations)).argmax(1).numpy()
        following, rewards, terminations, truncations, infos = envs.step(chosen)
        real = following.copy()
        if truncations[0]:
            real[0] = infos["final_obs"][0]
        kept.add(observations, real, chosen, rewards, terminations, [infos])
        observations = following
        if step > settings.learning_starts and step % settings.train_frequency == 0:
            for _ in range(settings.gradient_steps):
                batch = kept.sample(settings.batch)
                with torch.no_grad():
                    best = target(batch.next_observations).max(dim=1).values
                    wanted = batch.rewards.flatten() + settings.gamma * best * (1 - batch.dones.flatten())
                loss = nn.functional.mse_loss(wanted, online(batch.observations).gather(1, batch.actions).squeeze())
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        if step > settings.learning_starts and step % settings.target_update == 0:
            target.load_state_dict(online.state_dict())
        curve.add(step + 1)
        if curve.over:
            break


def mean_return(task: str, act: Callable[[Any], Any]) -> float:
    """Return the mean return of `EPISODES` episodes with the actions that `act` chooses for observations."""
    return fmean(_return_of(task, act, number) for number in range(EPISODES))


def _return_of(task: str, act: Callable[[Any], Any], number: int) -> float:
    import gymnasium

    env = gymnasium.make(task)
    observation, _ = env.reset(seed=PLAYED_SEED + number)
    total, ended = 0.0, False
    while not ended:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total, ended = total + float(reward), terminated or truncated
    env.close()
    return total
