"""Aliases, stubs, reloads and second imports of gymnasium; an environment in a module that is reloaded; runpy and exec."""
import importlib
import runpy
import sys
import types
from pathlib import Path
import gymnasium

sys.modules["gym"] = gymnasium
import gym

sys.modules["stable_baselines3"] = types.ModuleType("stable_baselines3")
sys.modules["pettingzoo"] = None
sys.modules["wandb"] = stub = types.ModuleType("wandb")
stub.log = lambda *args, **kwargs: None
Path("walk.py").write_text("""
import gym
import numpy as np

class Walk(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}
    def step(self, action):
        return np.zeros(1, np.float32), 1.0, False, False, {}

total = sum(Walk().step(0)[1] for _ in range(5))
""")
importlib.invalidate_caches()
import walk


def run(env):
    env.reset(seed=1)
    return sum(env.step(0)[1] for _ in range(5))


old = walk.Walk()
print(run(old), gym is gymnasium, walk.total)
Path("walk.py").write_text(Path("walk.py").read_text().replace("1.0, False", "2.50, False"))
print(run(importlib.reload(walk).Walk()), run(old), isinstance(old, walk.Walk))
print(runpy.run_path("walk.py")["total"], runpy.run_module("walk")["total"])
space = {}
exec(compile(Path("walk.py").read_text(), "walk.py", "exec"), space)
print(run(space["Walk"]()), stub.log({"loss": 1}), hasattr(stub, "init"), vars(sys.modules["stable_baselines3"]).keys() - {"__builtins__"})
try:
    import pettingzoo
except ImportError as error:
    print(error)
try:
    import gymnasium.nothing
except ImportError as error:
    print(error, error.name)
print(importlib.util.find_spec("gymnasium").name, gymnasium.__spec__.loader.__class__.__name__, gymnasium.core.__spec__.loader.__class__.__name__, hasattr(gymnasium, "__wrapped__"))
