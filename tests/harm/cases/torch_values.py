"""Environments that return PyTorch tensors, single, batched and vector; with gradients, and on another dtype."""
# needs: torch
import gymnasium as gym
import torch

torch.manual_seed(0)
torch.set_num_threads(1)


class Single(gym.Env):
    observation_space = gym.spaces.Box(-9, 9, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.x = torch.zeros(2, requires_grad=True)
        return self.x, {}

    def step(self, action):
        self.x = self.x * 0.9 + torch.randn(2)
        return self.x, self.x.sum(), torch.tensor(False), torch.tensor(False), {"norm": self.x.norm()}


class Vector(gym.vector.VectorEnv):
    num_envs = 4
    single_observation_space = gym.spaces.Box(-9, 9, (2,))
    single_action_space = gym.spaces.Box(-1, 1, (2,))
    observation_space = gym.vector.utils.batch_space(single_observation_space, 4)
    action_space = gym.vector.utils.batch_space(single_action_space, 4)

    def reset(self, *, seed=None, options=None):
        self.x, self.t = torch.zeros(4, 2, dtype=torch.bfloat16), 0
        return self.x, {}

    def step(self, actions):
        self.t += 1
        self.x += actions.to(torch.bfloat16)
        over = torch.arange(4) == self.t % 9
        return self.x, self.x.float().norm(dim=1), over, torch.zeros(4, dtype=torch.bool), {"x": self.x.float().mean(1)}


env = Single()
env.reset()
loss = sum(env.step(0)[1] for _ in range(50))
loss.backward()
print(float(loss.detach()), env.step(1)[0].requires_grad)
envs = Vector()
envs.reset()
total = sum(float(envs.step(torch.rand(4, 2) - 0.5)[1].sum()) for _ in range(100))
print(total, envs.x.tolist(), torch.rand(3).tolist(), torch.is_grad_enabled(), torch.get_num_threads())
