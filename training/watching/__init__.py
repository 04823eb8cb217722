"""Watches training scripts from another terminal: `envs = watch(envs)` in the script, then `pac-tui attach`.

Importing this module is cheap: its dependencies are imported at the first call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from stable_baselines3.common.callbacks import BaseCallback

AnyEnvs = TypeVar("AnyEnvs")


class WatchFunction:
    """The type of `watch`, which is called with environments and returns environments that can be shown and paused."""

    def __call__(self, envs: AnyEnvs, *, name: str | None = None) -> AnyEnvs:
        """Return `envs`, so that `pac-tui attach` can show, pause, step and slow them.

        Args:
            envs: A `gymnasium.Env`, a `gymnasium.vector.VectorEnv`, a Stable-Baselines3 `VecEnv` or a parallel
                environment of PettingZoo.
            name: The name of the session; by default the script's name.

        Returns:
            A wrapper of the same interface around a vector environment; any other environment itself. `pac-tui attach`
            finds it from its first `reset` until `close`.

        Raises:
            BadParameter: `envs` is something else.
        """
        from gymnasium import Env
        from gymnasium.vector import VectorEnv

        wrapped: Any
        if isinstance(envs, VectorEnv):
            from .vector_wrapper import WatchedVectorEnv

            wrapped = WatchedVectorEnv(envs, name)
        elif "stable_baselines3" in sys.modules and _is_vec_env(envs):
            from .sb3 import WatchedVecEnv

            wrapped = WatchedVecEnv(envs, name)  # type: ignore[arg-type]
        elif isinstance(envs, Env):
            from .hooked_envs import env_methods

            wrapped = _watched_itself(envs, env_methods, name)
        elif "pettingzoo" in sys.modules and _is_parallel_env(envs):
            from .hooked_envs import parallel_env_methods

            wrapped = _watched_itself(envs, parallel_env_methods, name)
        else:
            from ...envs import BadParameter

            hint = ": give gymnasium.vector.SyncVectorEnv a function for each environment, and watch that"
            raise BadParameter(
                f"watch expects an environment or a vector environment of Gymnasium, a Stable-Baselines3 VecEnv or a "
                f"parallel environment of PettingZoo, got {type(envs).__name__}"
                f"{hint if isinstance(envs, list | tuple) else ''}"
            )
        return wrapped  # type: ignore[no-any-return]

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Show metrics of the training as curves, in every session of this process.

        A call ends an iteration: throughput is then measured from call to call.

        Args:
            metrics: Numbers by name: whatever `float` accepts, also a tensor of one element.

        Raises:
            BadParameter: A value is not a number.
        """
        from .script import log

        log(metrics)

    def sb3_callback(self) -> BaseCallback:
        """Return a Stable-Baselines3 callback that shows what the model logs."""
        from .sb3 import LogCallback

        return LogCallback()


def _is_vec_env(envs: object) -> bool:
    from stable_baselines3.common.vec_env import VecEnv

    return isinstance(envs, VecEnv)


def _is_parallel_env(envs: object) -> bool:
    from pettingzoo import ParallelEnv

    return isinstance(envs, ParallelEnv)


def _watched_itself(env: Any, methods: Callable[[Any], dict[str, Any]], name: str | None) -> Any:
    """Return the same environment, watched from its next reset on."""
    from .interception import watch_object

    try:
        watch_object(env, methods, name)
    except TypeError as error:
        from ...envs import BadParameter

        raise BadParameter(
            f"{type(env).__name__} cannot be watched ({error}): wrap it in a class that derives from gymnasium.Wrapper"
        ) from error
    return env


watch = WatchFunction()
