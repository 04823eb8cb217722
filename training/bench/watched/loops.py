"""Trains in one of several ways for as long as it is asked to: python loops.py NAME.

A request is a line with two numbers of seconds: for how long to train before measuring, and for how long to measure.
The answer has the number of iterations, their wall-clock time and the CPU time of the process. The script knows nothing
of pac-tui.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

NUM_ENVS, STEPS, REPLAY, EPOCHS, ROWS = 8, 128, 10_000, 4, 4096
Iterate = Callable[[], None]


def gymnasium_loop() -> Iterate:
    """Return an actor-critic in the style of CleanRL, with environments that render."""
    import torch
    from torch import nn

    envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync", render_mode="rgb_array")
    actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    state: list[Any] = [envs.reset(seed=1)[0]]

    def iterate() -> None:
        log_probs, rewards = [], []
        for _ in range(STEPS):
            policy: Any = torch.distributions.Categorical(logits=actor(torch.as_tensor(state[0], dtype=torch.float32)))
            action = policy.sample()
            state[0], reward, *_ = envs.step(action.numpy())
            log_probs.append(policy.log_prob(action))
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
        returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        loss: Any = -(torch.stack(log_probs) * (returns - returns.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return iterate


def ppo_loop() -> Iterate:
    """Return a small PPO with a vector environment."""
    import torch
    from torch import nn

    envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync")
    actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2.5e-4)
    seen, actions = torch.zeros(STEPS, NUM_ENVS, 4), torch.zeros(STEPS, NUM_ENVS, dtype=torch.long)
    log_probs, rewards = torch.zeros(STEPS, NUM_ENVS), torch.zeros(STEPS, NUM_ENVS)
    newest = [envs.reset(seed=1)[0]]

    def iterate() -> None:
        for step in range(STEPS):
            seen[step] = torch.as_tensor(newest[0])
            with torch.no_grad():
                policy: Any = torch.distributions.Categorical(logits=actor(seen[step]))
                actions[step] = policy.sample()
                log_probs[step] = policy.log_prob(actions[step])
            newest[0], reward, *_ = envs.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(reward)
        returns = rewards.flip(0).cumsum(0).flip(0)
        for _ in range(EPOCHS):
            policy = torch.distributions.Categorical(logits=actor(seen))
            values = critic(seen).squeeze(-1)
            advantages = (returns - values).detach()
            ratio = (policy.log_prob(actions) - log_probs).exp()
            clipped = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = 0.5 * (values - returns).square().mean() - clipped.mean() - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return iterate


def dqn_loop() -> Iterate:
    """Return a DQN with a single environment."""
    import torch
    from torch import nn

    env = gymnasium.make("CartPole-v1")
    network = nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=2.5e-4)
    seen, following = torch.zeros(REPLAY, 4), torch.zeros(REPLAY, 4)
    actions, rewards = torch.zeros(REPLAY, 1, dtype=torch.long), torch.zeros(REPLAY)
    noted, newest = [0], [env.reset(seed=1)[0]]

    def iterate() -> None:
        for _ in range(STEPS):
            at = noted[0] % REPLAY
            noted[0] += 1
            before = torch.as_tensor(newest[0])
            with torch.no_grad():
                action = int(network(before[None]).argmax(1)[0])
            observation, reward, terminated, truncated, _ = env.step(action)
            seen[at], following[at] = before, torch.as_tensor(observation)
            actions[at, 0], rewards[at] = action, float(reward)
            newest[0] = env.reset()[0] if terminated or truncated else observation
            if noted[0] % 10 == 0:
                rows = torch.randint(REPLAY, (128,))
                wanted = rewards[rows] + 0.99 * network(following[rows]).detach().amax(1)
                loss = (network(seen[rows]).gather(1, actions[rows]).squeeze(1) - wanted).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return iterate


def sb3_loop() -> Iterate:
    """Return PPO of Stable-Baselines3 with its default settings except for the length of a rollout."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")] * NUM_ENVS)
    model = PPO("MlpPolicy", envs, n_steps=STEPS, device="cpu", seed=1)
    _, callback = model._setup_learn(10**9)  # noqa: SLF001 - `learn` cannot be left in between
    callback.on_training_start({}, {})

    def iterate() -> None:
        model.collect_rollouts(model.env, callback, model.rollout_buffer, STEPS)
        model.train()

    return iterate


class Rows(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """A simulator of legged robots: a step of all rows takes 0.3 ms, with five reward terms in the infos."""

    num_envs = ROWS
    single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (48,))
    single_action_space = gymnasium.spaces.Box(-1, 1, (12,))
    observation_space = gymnasium.vector.utils.batch_space(single_observation_space, ROWS)
    action_space = gymnasium.vector.utils.batch_space(single_action_space, ROWS)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:  # noqa: ARG002 - as Gymnasium has it
        """Begin."""
        self._rng = np.random.default_rng(seed)
        self._seen, self._age = np.zeros((ROWS, 48), np.float32), np.arange(ROWS) % 1000
        return self._seen, {}

    def step(self, actions: Any) -> Any:
        self._seen[:, :12] += 0.1 * actions
        self._age += 1
        over = self._age >= 1000
        names = ("track", "torque", "slip", "height", "alive")
        terms = {f"reward_{name}": self._rng.normal(size=ROWS) for name in names}
        self._seen[over], self._age[over] = 0, 0
        return self._seen, sum(terms.values()), np.zeros(ROWS, bool), over, terms


def rows_loop() -> Iterate:
    """Return a loop that only steps a large vector environment."""
    envs, actions = Rows(), np.zeros((ROWS, 12), np.float32)
    envs.reset(seed=0)

    def iterate() -> None:
        for _ in range(STEPS // 4):
            envs.step(actions)

    return iterate


LOOPS: Mapping[str, Callable[[], Iterate]] = {
    "gymnasium": gymnasium_loop,
    "ppo": ppo_loop,
    "dqn": dqn_loop,
    "rows": rows_loop,
    "sb3": sb3_loop,
}


def main(name: str) -> None:
    """Train as requests ask for, on one thread: others would disturb the process that it is compared with."""
    os.environ["OMP_NUM_THREADS"] = "1"
    iterate = LOOPS[name]()
    iterate()
    print(json.dumps({"ready": name}), flush=True)
    for line in sys.stdin:
        settling, seconds = map(float, line.split())
        begun = time.perf_counter()
        while time.perf_counter() < begun + settling:
            iterate()
        iterations, begun, cpu = 0, time.perf_counter(), time.process_time()
        while (wall := time.perf_counter() - begun) < seconds:
            iterate()
            iterations += 1
        print(json.dumps({"iterations": iterations, "wall": wall, "cpu": time.process_time() - cpu}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
