"""Exceptions of all kinds out of step and reset: exits, stops, groups, contexts, causes, and what remains of them."""
import sys
import traceback
import gymnasium as gym
import numpy as np

ERRORS = [
    ValueError("value"), StopIteration(3), GeneratorExit(), SystemExit(4), KeyboardInterrupt("key"),
    ExceptionGroup("group", [OSError(2, "none"), TypeError("type")]), BaseException("base"), RecursionError("deep"), MemoryError(),
]


class Raises(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        if options:
            raise options["error"]
        return np.zeros(1, np.float32), {}

    def step(self, action):
        if isinstance(action, BaseException):
            try:
                {}[1]
            except KeyError:
                raise action
        return np.zeros(1, np.float32), 1.0, False, False, {}


env = gym.wrappers.OrderEnforcing(Raises())
env.reset(seed=1)
for error in ERRORS:
    for call in (lambda: env.step(error), lambda: env.reset(options={"error": error})):
        error.__traceback__ = error.__context__ = None
        try:
            call()
        except BaseException as caught:
            frames = [(each.name, each.lineno) for each in traceback.extract_tb(caught.__traceback__) if "gymnasium" not in each.filename]
            print(caught is error, repr(caught), frames, repr(caught.__context__), caught.__cause__, caught.__suppress_context__)
            notes = getattr(caught, "__notes__", None)
            print(notes, sys.exc_info()[1] is error)
        print(env.step(0)[1], sys.exc_info())


def generator():
    while True:
        yield env.step(0)[1]
        env.step(StopIteration("inner"))


try:
    print(list(generator()))
except RuntimeError as error:
    print(repr(error), repr(error.__cause__))
try:
    raise LookupError("outer")
except LookupError:
    try:
        env.step(ArithmeticError("inner"))
    except ArithmeticError:
        traceback.print_exc()
sys.excepthook = lambda kind, value, trace: print("hook", kind.__name__, value, len(traceback.extract_tb(trace)))
env.step(ValueError("last"))
