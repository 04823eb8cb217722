"""Watches training scripts from another terminal: `watch(envs)` in the script, then `pac-tui attach`.

Importing this module is cheap: its dependencies are imported at the first call.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from stable_baselines3.common.callbacks import BaseCallback

AnyEnvs = TypeVar("AnyEnvs")


KINDS = {
    "EnvPoolMixin": ("env_pool", "EnvPool"),
    "VecEnv": ("libraries", "VecEnv"),
    "VectorEnv": ("libraries", "VectorEnv"),
    "ParallelEnv": ("libraries", "ParallelEnv"),
    "AECEnv": ("libraries", "TurnEnv"),
    "Env": ("libraries", "SingleEnv"),
}
"""What follows the instances of a library's class, as module and class, by the name of that class."""
PRIVATE = "_pac_tui.training.watching"
"""The same modules, if this process was started by `pac-tui watch`."""


class WatchFunction:
    """The type of `watch`, which is called with environments that are to be shown and paused."""

    def __call__(self, envs: AnyEnvs, *, name: str | None = None) -> AnyEnvs:
        """Let `pac-tui attach` show, pause, step and slow environments, and return them, the same object.

        It finds them from the first step after their next `reset` on, until the process ends.

        Args:
            envs: An environment or a vector environment of Gymnasium or `gym`, a Stable-Baselines3 `VecEnv`, or an
                environment of PettingZoo.
            name: The name of the session; by default the script's name.

        Raises:
            BadParameter: `envs` is something else.
        """
        kind = next((KINDS[base.__name__] for base in type(envs).__mro__ if base.__name__ in KINDS), None)
        if kind is None:
            from ...envs import BadParameter

            hint = ": call watch with each environment" if isinstance(envs, list | tuple) else ""
            raise BadParameter(
                f"watch expects an environment or a vector environment of Gymnasium, a Stable-Baselines3 VecEnv or an "
                f"environment of PettingZoo, got {type(envs).__name__}{hint}"
            )
        intercept, naming = _module("intercept"), _module("naming")
        calls = naming.callers(sys._getframe(1))  # noqa: SLF001 - where the script calls
        intercept.follow_object(envs, getattr(_module(kind[0]), kind[1])(envs, calls, name or ""))
        return envs

    def step(  # noqa: PLR0917 - in Gymnasium's order
        self,
        observations: Any,
        actions: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        infos: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
    ) -> None:
        """Show a step of a loop that has no environment object; wait here while the training is paused.

        Args:
            observations: What N environments observe after the step, `(N, ...)`, or dicts or tuples of such arrays.
            actions: Their actions, `(N, ...)`.
            rewards: `(N,)`.
            terminated: Which episodes ended in a terminal state, `(N,)`. The next step belongs to another episode.
            truncated: Which episodes were cut, `(N,)`.
            infos: Other numbers by name, `(N,)` each.
            name: The name of the session; by default the script's name.

        Raises:
            BadParameter: `rewards` is a single number.
        """
        _module("manual").step(observations, actions, rewards, terminated, truncated, infos or {}, name)

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Show metrics of the training as curves, in every session of this process.

        A call ends an iteration: throughput is then measured from call to call.

        Args:
            metrics: Numbers by name: whatever `float` accepts, also a tensor of one element.

        Raises:
            BadParameter: A value is not a number.
        """
        _module("script").log(metrics)

    def sb3_callback(self) -> BaseCallback:
        """Return a Stable-Baselines3 callback that shows what the model logs."""
        from .sb3 import LogCallback

        return LogCallback(self.log)


def _module(name: str) -> Any:
    """Return a module of this package, the one that watches this process."""
    return import_module(f".{name}", PRIVATE if PRIVATE in sys.modules else __package__)


watch = WatchFunction()
