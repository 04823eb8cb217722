"""Looks at itself: signatures, sources, names, the stack inside step, frames, module attributes."""
import inspect
import sys
import traceback
import types
import gymnasium as gym
import numpy as np


class Looks(gym.Env):
    """Looks around."""

    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        """Begin."""
        self.seen = [frame.function for frame in inspect.stack()]
        return np.zeros(2, np.float32), {}

    def step(self, action):
        """Look at the caller."""
        caller = sys._getframe(1)
        self.seen = [caller.f_code.co_name, caller.f_lineno, len(traceback.extract_stack()), sys._getframe().f_back.f_back is None]
        return np.zeros(2, np.float32), 1.0, False, False, {}


def loop(env):
    for _ in range(3):
        env.step(0)
        print(env.seen)


env = Looks()
env.reset(seed=0)
print(env.seen)
loop(env)
wrapped = gym.wrappers.TimeLimit(Looks(), 50)
wrapped.reset()
print(wrapped.unwrapped.seen)
for name in ("reset", "step"):
    function = getattr(Looks, name)
    print(name, inspect.getsource(function), function.__qualname__, function.__module__, function.__doc__, function.__defaults__, function.__kwdefaults__)
    print(inspect.signature(function), function.__code__.co_firstlineno, function.__globals__ is globals(), function.__closure__)
    print(type(function) is types.FunctionType, inspect.ismethod(getattr(env, name)), getattr(env, name).__func__ is function, vars(function), inspect.unwrap(function) is function)
print(sorted(vars(Looks)), sorted(vars(env)), inspect.getmro(type(wrapped)), repr(wrapped)[:40], sorted(vars(wrapped)))
print(inspect.getsourcefile(Looks), inspect.getmodule(Looks).__name__, inspect.getmodule(type(env).step).__name__, inspect.getsource(Looks)[:40])
print(gym.Env.step.__module__, inspect.signature(gym.Env.step), gym.make.__module__, inspect.signature(gym.make).parameters.keys(), gym.Wrapper.step.__qualname__)
