"""Watches training scripts from another terminal: `envs = watch(envs)` in the script, then `pac-tui attach`.

This module is light: what it needs is imported at the first call.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from stable_baselines3.common.callbacks import BaseCallback

AnyEnvs = TypeVar("AnyEnvs")


class WatchFunction:
    """What `watch` is: called with a vector environment, it returns one that can be seen and paused."""

    def __call__(self, envs: AnyEnvs, *, name: str | None = None) -> AnyEnvs:
        """Return `envs`, wrapped so that `pac-tui attach` can show, pause, step and slow them.

        Args:
            envs: A `gymnasium.vector.VectorEnv` or a Stable-Baselines3 `VecEnv`.
            name: What it is called in the list of sessions; default the script's name.

        Returns:
            A wrapper of the same interface; it is there to be attached to from its first `reset` until `close`.

        Raises:
            BadParameter: It is neither of the two.
        """
        from gymnasium.vector import VectorEnv

        wrapped: Any
        if isinstance(envs, VectorEnv):
            from .vector_wrapper import WatchedVectorEnv

            wrapped = WatchedVectorEnv(envs, name)
        elif "stable_baselines3" in sys.modules and _is_vec_env(envs):
            from .sb3 import WatchedVecEnv

            wrapped = WatchedVecEnv(envs, name)  # type: ignore[arg-type]
        else:
            from ...envs import BadParameter

            several = isinstance(envs, list | tuple)
            raise BadParameter(
                f"watch expects a gymnasium.vector.VectorEnv or a Stable-Baselines3 VecEnv, got {type(envs).__name__}: "
                + (
                    "give gymnasium.vector.SyncVectorEnv a function for each environment, and watch that"
                    if several
                    else "wrap a single environment in gymnasium.vector.SyncVectorEnv"
                )
            )
        return wrapped  # type: ignore[no-any-return]

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Show figures of the training as curves, in every watched script of this process.

        A call ends an iteration: throughput is then measured from call to call.

        Args:
            metrics: Numbers by name; whatever `float` takes, a tensor of one element too.

        Raises:
            BadParameter: One is no number.
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


watch = WatchFunction()
