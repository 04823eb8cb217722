"""Environments that are also modules of PyTorch, threads, dicts, exceptions, contexts; own access to attributes, counted."""
# needs: torch
import threading
from dataclasses import dataclass
import gymnasium as gym
import numpy as np
import torch
from torch import nn

O, A = gym.spaces.Box(-99, 99, (2,)), gym.spaces.Discrete(2)
torch.manual_seed(1)


class Parts:
    observation_space, action_space = O, A

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.ones(2, np.float32), 1.0, False, False, {}


class Module(nn.Module, Parts):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)
        self.x = torch.zeros(2)

    @torch.no_grad()
    def step(self, action):
        self.x = self.net(self.x) + torch.randn(2)
        return self.x.numpy(), float(self.x.sum()), False, False, {}


class Both(gym.Env, nn.Module):
    observation_space, action_space = O, A

    def __init__(self):
        nn.Module.__init__(self)
        self.net = nn.Linear(2, 1)

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.ones(2, np.float32), float(self.net(torch.ones(2)).detach()), False, False, {}


class Thread(Parts, threading.Thread, gym.Env):
    def __init__(self):
        threading.Thread.__init__(self)
        self.total = 0.0

    def run(self):
        self.reset(seed=1)
        self.total = sum(self.step(0)[1] for _ in range(30))


class Counted(Parts, gym.Env):
    def __init__(self):
        self.asked = []

    def __getattribute__(self, name):
        if name != "asked" and not name.startswith("__"):
            object.__getattribute__(self, "asked").append(name)
        return super().__getattribute__(name)


@dataclass(slots=True)
class Slotted(Parts):
    size: int = 3


class Items(Parts, gym.Env, dict):
    pass


for kind in (Module, Both, Slotted, Items, Counted):
    env = kind()
    env.reset(seed=1)
    total = sum(env.step(0)[1] for _ in range(20))
    print(kind.__name__, total, list(getattr(env, "_modules", {})), dict(env) if kind is Items else "", sorted(set(getattr(env, "asked", []))))
    if isinstance(env, nn.Module):
        print([name for name, _ in env.named_parameters()], list(env.state_dict()), sorted(vars(env))[:5])
print(Counted.step.__name__, len(env.asked))
thread = Thread()
thread.start()
thread.join()
print(thread.total, torch.rand(1).item())
with gym.make("CartPole-v1") as cart:
    cart.reset(seed=1)
    print(cart.step(0)[0].tolist())
