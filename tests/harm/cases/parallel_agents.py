"""PettingZoo: a parallel environment whose agents come and go, and a sequential (AEC) one."""
# needs: pettingzoo
import gymnasium as gym
import numpy as np
from pettingzoo import AECEnv, ParallelEnv


class Arena(ParallelEnv):
    metadata = {"name": "arena", "render_modes": []}
    possible_agents = ["red", "blue", "medic"]

    def observation_space(self, agent):
        return gym.spaces.Box(-99, 99, (2,))

    def action_space(self, agent):
        return gym.spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.t, self.agents = 0, ["red", "blue"]
        return {agent: np.zeros(2, np.float32) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions):
        self.t += 1
        agents, over = list(self.agents), self.t >= 12
        if self.t == 4:
            agents.append("medic")
        found = {agent: np.full(2, self.t, np.float32) for agent in agents}
        rewards = {agent: float(actions.get(agent, 0)) for agent in agents}
        ends = {agent: over or (agent == "red" and self.t == 8) for agent in agents}
        self.agents = [agent for agent in agents if not ends[agent]]
        return found, rewards, ends, dict.fromkeys(agents, False), {agent: {"t": self.t} for agent in agents}


class Turns(AECEnv):
    metadata = {"name": "turns", "render_modes": []}
    possible_agents = ["a", "b"]

    def observation_space(self, agent):
        return gym.spaces.Box(-99, 99, (1,))

    def action_space(self, agent):
        return gym.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.t, self.agents, self.agent_selection = 0, list(self.possible_agents), "a"
        self.rewards = self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent):
        return np.array([self.t], np.float32)

    def step(self, action):
        self.t += 1
        self.rewards = {"a": float(action or 0), "b": -float(action or 0)}
        self._cumulative_rewards = dict(self.rewards)
        self.agent_selection = "b" if self.agent_selection == "a" else "a"
        if self.t >= 10:
            self.terminations = dict.fromkeys(self.agents, True)


arena, total = Arena(), 0.0
for episode in range(10):
    arena.reset(seed=episode)
    while arena.agents:
        _, rewards, ends, _, _ = arena.step({agent: (arena.t + i) % 3 for i, agent in enumerate(arena.agents)})
        total += sum(rewards.values())
print(total, ends, type(arena) is Arena)
turns, total = Turns(), 0.0
for episode in range(5):
    turns.reset(seed=episode)
    for agent in turns.agent_iter(12):
        observation, reward, terminated, truncated, _ = turns.last()
        if terminated:
            break
        total += reward + float(observation[0])
        turns.step(turns.t % 2)
print(total, type(turns) is Turns, turns.agents)
