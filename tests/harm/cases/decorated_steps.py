"""step as a generator, a coroutine, a callable object, a property, a cached, jitted or built-in function, with own decorators."""
import asyncio
import contextlib
import functools
import gymnasium as gym
import numpy as np


def result(reward):
    return np.zeros(1, np.float32), reward, False, False, {}


class Base(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}


class Generator(Base):
    def step(self, action):
        yield 1
        yield 2


class Coroutine(Base):
    async def step(self, action):
        await asyncio.sleep(0)
        return result(3.0)


class Callable:
    def __init__(self):
        self.calls = 0

    def __get__(self, instance, owner):
        return functools.partial(self, instance)

    def __call__(self, env, action):
        self.calls += 1
        return result(float(self.calls))


class Object(Base):
    step = Callable()


class Property(Base):
    @property
    def step(self):
        return lambda action: result(5.0)


class Cached(Base):
    @functools.lru_cache
    def step(self, action):
        return result(6.0)


def doubled(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        observation, reward, *rest = function(*args, **kwargs)
        return observation, 2 * reward, *rest

    inner.marked = True
    return inner


class Decorated(Base):
    @doubled
    def step(self, action):
        return result(7.0)

    @doubled
    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), 4, {}


class Context(Base):
    @contextlib.contextmanager
    def lock(self):
        yield

    def step(self, action):
        with self.lock():
            return result(8.0)


class Dispatch(Base):
    @functools.singledispatchmethod
    def step(self, action):
        return result(9.0)

    @step.register
    def _(self, action: str):
        return result(10.0)


class Module(Base, dict):
    step = staticmethod(lambda action: result(11.0))


async def steps(env):
    return [(await env.step(0))[1] for _ in range(3)]


print(list(Generator().step(0)), asyncio.run(steps(Coroutine())))
for kind in (Object, Property, Cached, Decorated, Context, Dispatch, Module):
    env = kind()
    try:
        print(kind.__name__, env.reset(seed=1)[1], [env.step(action)[1] for action in (0, 1, "go")])
    except Exception as error:
        print(kind.__name__, type(error).__name__, error)
print(Decorated.step.marked, Decorated.step.__wrapped__.__name__, Cached.step.cache_info(), Object.__dict__["step"].calls)


async def together():
    carts = [gym.make("CartPole-v1") for _ in range(3)]

    async def run(seed, cart):
        cart.reset(seed=seed)
        total = 0.0
        for step in range(20):
            total += float(cart.step(step % 2)[0][0])
            await asyncio.sleep(0)
        return total

    return await asyncio.gather(*[run(seed, cart) for seed, cart in enumerate(carts)])


print(asyncio.run(together()))
