"""The environment classes that are watched without the script's help, and the functions that make them."""

from __future__ import annotations

import functools
from importlib import import_module
from time import perf_counter
from types import ModuleType
from typing import Any

from .after_import import Hook
from .interception import (
    CannotWatch,
    MakeWatch,
    adopt,
    common_methods,
    fail,
    intercept_instances,
    making,
    may_watch,
    open_session,
    report,
    reset_and_note,
)


def _made_by(place: str) -> MakeWatch:
    """Return a function that makes a watch of the class `module:Class` of this package, imported when needed."""
    module, _, name = place.partition(":")

    def make(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(module, __package__), name)(*args, **kwargs)

    return make


def vector_env_methods(plain: Any) -> dict[str, Any]:
    """Return the methods of a watched vector environment of Gymnasium."""

    @functools.wraps(plain.reset)
    def reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        mask = (kwargs.get("options") or {}).get("reset_mask")  # before Gymnasium takes it out
        return reset_and_note(
            self, lambda watch, result: watch.begin(self, result[0], result[1], mask), *args, **kwargs
        )

    @functools.wraps(plain.step)
    def step(self: Any, actions: Any) -> Any:
        watch = self._pac_watch
        step_log = watch.step_log if watch is not None else None
        if step_log is None and (step_log := open_session(self)) is None:
            return plain.step(self, actions)
        if step_log.attention[0]:
            step_log.wait_for(actions)
        entered = perf_counter()
        result = plain.step(self, actions)
        try:
            infos = result[4]
            step_log.note(actions, entered, result, infos.get(watch.last_observations) if infos else None)
        except Exception as error:
            fail(self, error)
        return result

    return {**common_methods(plain, _made_by(".vector:VectorWatch")), "reset": reset, "step": step}


def env_pool_methods(plain: Any) -> dict[str, Any]:
    """Return the methods of a watched EnvPool vector environment, whose calls may be for some environments only."""
    methods = vector_env_methods(plain)

    @functools.wraps(plain.reset)
    def reset(self: Any, env_id: Any = None, **kwargs: Any) -> Any:
        return methods["reset"](self, **kwargs) if _is_for_all(self, env_id) else plain.reset(self, env_id, **kwargs)

    @functools.wraps(plain.step)
    def step(self: Any, action: Any, env_id: Any = None) -> Any:
        return methods["step"](self, action) if _is_for_all(self, env_id) else plain.step(self, action, env_id)

    return {**methods, "reset": reset, "step": step}


def _is_for_all(env: Any, env_id: Any) -> bool:
    """Whether a call is for all environments in their order; otherwise, watching ends."""
    if env_id is None or list(env_id) == list(range(env.num_envs)):
        return True
    fail(env, CannotWatch("the script resets or steps only some of its environments at a time"))
    return False


def vec_env_methods(plain: Any) -> dict[str, Any]:
    """Return the methods of a watched vector environment of Stable-Baselines3."""

    @functools.wraps(plain.reset)
    def reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        return reset_and_note(self, lambda watch, result: watch.begin(self, result, self.reset_infos), *args, **kwargs)

    @functools.wraps(plain.step_async)
    def step_async(self: Any, actions: Any) -> None:
        watch = self._pac_watch
        if watch is not None and (watch.step_log is not None or open_session(self) is not None):
            watch.before(actions)
        plain.step_async(self, actions)

    @functools.wraps(plain.step_wait)
    def step_wait(self: Any) -> Any:
        result = plain.step_wait(self)
        if self._pac_watch is not None:
            try:
                self._pac_watch.after(result)
            except Exception as error:
                fail(self, error)
        return result

    methods = {"reset": reset, "step_async": step_async, "step_wait": step_wait}
    return {**common_methods(plain, _made_by(".sb3:VecEnvWatch")), **methods}


def env_methods(plain: Any) -> dict[str, Any]:
    """Return the methods of a watched single environment of Gymnasium."""

    @functools.wraps(plain.step)
    def step(self: Any, action: Any) -> Any:
        watch = self._pac_watch
        step_log = watch.step_log if watch is not None else None
        if step_log is None and (step_log := open_session(self)) is None:
            return plain.step(self, action)
        if step_log.attention[0]:
            step_log.wait_for(action)
        entered = perf_counter()
        result = plain.step(self, action)
        try:
            step_log.note(action, entered, result)
        except Exception as error:
            fail(self, error)
        return result

    return {**common_methods(plain, _made_by(".single:SingleWatch")), "step": step}


def parallel_env_methods(plain: Any) -> dict[str, Any]:
    """Return the methods of a watched parallel environment of PettingZoo."""

    @functools.wraps(plain.step)
    def step(self: Any, actions: Any) -> Any:
        watch = self._pac_watch
        if watch is None or (watch.step_log is None and open_session(self) is None):
            return plain.step(self, actions)
        watch.before(actions)
        result = plain.step(self, actions)
        try:
            watch.after(result)
        except Exception as error:
            fail(self, error)
        return result

    return {**common_methods(plain, _made_by(".parallel:ParallelWatch")), "step": step}


def _hook_make(registration: ModuleType) -> None:
    """Watch what `gymnasium.make` returns, where no other environment contains it."""
    original = registration.make

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        with making():
            env = original(*args, **kwargs)
        if may_watch():
            adopt(env, env_methods)
        return env

    registration.make = make  # type: ignore[attr-defined]


def _hook_env_pool(registration: ModuleType) -> None:
    """Watch what EnvPool makes with Gymnasium's interface. Its compiled classes have their own `__new__`."""
    registry = registration.EnvRegistry
    original = registry.make

    @functools.wraps(original)
    def make(self: Any, *args: Any, **kwargs: Any) -> Any:
        env = original(self, *args, **kwargs)
        if may_watch() and hasattr(env, "single_observation_space"):
            if env.is_async:
                report(env, CannotWatch("batch_size is less than num_envs; omit it to watch the environments"))
            else:
                adopt(env, env_pool_methods)
        return env

    registry.make = make


def environment_hooks() -> dict[str, Hook]:
    """Return the function to call after the import of each module that defines environments."""
    return {
        "gymnasium.core": lambda module: intercept_instances(module.Env, env_methods),
        "gymnasium.envs.registration": _hook_make,
        "gymnasium.vector.vector_env": lambda module: intercept_instances(module.VectorEnv, vector_env_methods),
        "stable_baselines3.common.vec_env.base_vec_env": lambda module: intercept_instances(
            module.VecEnv, vec_env_methods
        ),
        "envpool.registration": _hook_env_pool,
        "pettingzoo.utils.env": lambda module: intercept_instances(module.ParallelEnv, parallel_env_methods),
    }
