"""A parallel environment of PettingZoo."""
# needs: pettingzoo
import gymnasium as gym
import numpy as np
from pettingzoo import ParallelEnv


class Arena(ParallelEnv):
    metadata = {"name": "arena", "render_modes": []}
    possible_agents = ["red", "blue", "green"]

    def observation_space(self, agent):
        return gym.spaces.Box(-99, 99, (2,))

    def action_space(self, agent):
        return gym.spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.rng = np.random.default_rng(seed)
        self.t, self.agents = 0, list(self.possible_agents)
        return {agent: np.zeros(2, np.float32) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions):
        self.t += 1
        agents, over = list(self.agents), self.t >= 30
        found = {agent: self.rng.normal(size=2).astype(np.float32) for agent in agents}
        rewards = {agent: float(actions[agent]) for agent in agents}
        ends = {agent: over or (agent == "red" and self.t == 20) for agent in agents}
        self.agents = [agent for agent in agents if not ends[agent]]
        return found, rewards, ends, dict.fromkeys(agents, False), {agent: {} for agent in agents}


arena, total = Arena(), 0.0
for episode in range(600):
    arena.reset(seed=episode)
    while arena.agents:
        found, rewards, *_ = arena.step({agent: (arena.t + i) % 3 for i, agent in enumerate(arena.agents)})
        total += sum(rewards.values()) + sum(float(each.sum()) for each in found.values())
print(total)
