"""PPO with a SyncVectorEnv and TensorBoard, in one file."""

import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch.utils.tensorboard import SummaryWriter

ENVS, ROLLOUT, GAMMA, CLIP = 4, 64, 0.99, 0.2


def make_env():
    """Return a function that makes an environment."""
    return lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))


class Agent(nn.Module):
    """A policy and a value function."""

    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))

    def act(self, observations, actions=None):
        """Return actions, their log probabilities, the entropy and the values."""
        policy = Categorical(logits=self.actor(observations))
        actions = policy.sample() if actions is None else actions
        return actions, policy.log_prob(actions), policy.entropy(), self.critic(observations).squeeze(-1)


def main():
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    writer = SummaryWriter("runs/ppo")
    envs = gym.vector.SyncVectorEnv([make_env() for _ in range(ENVS)])
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)
    seen = torch.Tensor(envs.reset(seed=args.seed)[0])
    for update in range(args.steps // (ENVS * ROLLOUT)):
        rows = []
        for _ in range(ROLLOUT):
            with torch.no_grad():
                actions, log_probs, _, values = agent.act(seen)
            observations, rewards, terminated, truncated, infos = envs.step(actions.numpy())
            over = torch.Tensor(np.logical_or(terminated, truncated))
            rows.append((seen, actions, log_probs, values, torch.Tensor(rewards), over))
            seen = torch.Tensor(observations)
            for value, ended in zip(infos.get("episode", {}).get("r", ()), infos.get("_episode", ()), strict=False):
                if ended:
                    writer.add_scalar("charts/episodic_return", value, update)
        batch = [torch.stack(column) for column in zip(*rows, strict=True)]
        with torch.no_grad():
            returns = [agent.critic(seen).squeeze(-1)]
        for rewards, ended in zip(reversed(batch[4]), reversed(batch[5]), strict=True):
            returns.insert(0, rewards + GAMMA * (1 - ended) * returns[0])
        returns = torch.stack(returns[:-1])
        advantages = returns - batch[3]
        for _ in range(4):
            _, log_probs, entropy, values = agent.act(batch[0], batch[1])
            ratio = (log_probs - batch[2]).exp()
            policy_loss = -torch.min(advantages * ratio, advantages * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            value_loss = (values - returns).square().mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
        writer.add_scalar("losses/policy_loss", policy_loss.item(), update)
        writer.add_scalar("losses/value_loss", value_loss.item(), update)
    print("weights", sum(part.double().sum().item() for part in agent.parameters()))
    envs.close()
    writer.close()


if __name__ == "__main__":
    main()
