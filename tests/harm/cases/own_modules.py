"""Imports modules of its own that are called as ours: pac, envs, training, backends, tui, start, sitecustomize."""
import importlib
import sys
from pathlib import Path
import gymnasium as gym

NAMES = ("pac", "envs", "training", "backends", "tui", "start", "watch", "hidden")
for name in NAMES:
    Path(f"{name}.py").write_text(f"NAME = {name!r}\nclass PacMan: pass\n")
importlib.invalidate_caches()
env = gym.make("CartPole-v1")
env.reset(seed=0)
env.step(0)
for name in NAMES:
    module = importlib.import_module(name)
    print(name, module.NAME, module.PacMan, module.__spec__.origin.rpartition("/")[2])
print(sum(env.step(1)[1] for _ in range(5)), sys.modules["pac"].__file__.rpartition("/")[2])
