"""Watches Stable-Baselines3's vector environments, and what its models log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecEnvWrapper

from ...envs.signals import WithoutSdlHandlers
from .boards import MODES, Render
from .env_watch import EnvWatch
from .rendering import render_of_several
from .script import WatchedScript, log
from .vector import class_in

TRUE_BYTE = b"\x01"


class VecEnvWatch(EnvWatch):
    """Follows a vector environment of Stable-Baselines3."""

    def describe(self, env: VecEnv, observations: Any, infos: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return its name, its action space and how it is drawn."""
        spec = env.get_attr("spec")[0] if env.has_attr("spec") else None
        kind = "" if spec is not None else class_in(env.env_method("__str__", indices=[0])[0])
        base = type(env.unwrapped).__name__
        return {
            "kind": base,
            "num_envs": env.num_envs,
            "task": spec.id if spec is not None else kind or base,
            "actions": env.action_space,
            "render": _render_of(env, borrow=self._unchanged),
            "autoreset": "same step",
        }

    def before(self, actions: Any) -> None:
        """Pass the gate."""
        if self.step_log is not None:
            self.step_log.before(actions)

    def after(self, result: Any) -> None:
        """Note a step."""
        if self.step_log is None:
            return
        observations, rewards, dones, infos = result
        if TRUE_BYTE in dones.tobytes():
            truncated = _truncated(dones, infos)
            last = [info.get("terminal_observation") for info in infos]
            self.step_log.after((observations, rewards, dones & ~truncated, truncated, infos), last)
        else:
            self.step_log.after((observations, rewards, dones, dones, infos))


class WatchedVecEnv(VecEnvWrapper):
    """A vector environment that can be attached to from its first reset on."""

    def __init__(self, venv: VecEnv, name: str | None = None) -> None:
        super().__init__(venv)
        self._watch = VecEnvWatch(name)

    def reset(self) -> Any:
        """Begin an episode in all environments."""
        observations = self.venv.reset()
        self._watch.begin(self, observations, self.venv.reset_infos)
        return observations

    def step_async(self, actions: np.ndarray[Any, Any]) -> None:
        """Pass the gate and start a step of all environments."""
        self._watch.before(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Wait for the step."""
        result = self.venv.step_wait()
        self._watch.after(result)
        return result

    def close(self) -> None:
        """Close the environments; viewers see that the script ended."""
        self._watch.close()
        self.venv.close()

    @property
    def _script(self) -> WatchedScript | None:
        return self._watch.script


def _truncated(dones: np.ndarray[Any, Any], infos: Any) -> np.ndarray[Any, Any]:
    """Return which episodes ended by their time limit."""
    truncated = np.zeros(len(dones), np.bool_)
    for index in np.flatnonzero(dones):
        truncated[index] = bool(infos[index].get("TimeLimit.truncated", False))
    return truncated


def _render_of(venv: VecEnv, *, borrow: bool) -> Render | None:
    """Return what draws one environment as a picture or as text, if they can be drawn so.

    `borrow` allows drawing environments that were made without a render mode.
    """
    if isinstance(venv.unwrapped, DummyVecEnv):
        return render_of_several(venv.unwrapped.envs, borrow=borrow)
    if venv.render_mode not in MODES:
        return None
    if isinstance(venv.unwrapped, SubprocVecEnv):
        venv.env_method("has_wrapper_attr", WithoutSdlHandlers("render"))
    return lambda index: venv.env_method("render", indices=[index])[0]


class _LogWriter(KVWriter):
    """An output of a model's logger, which shows what it gets."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:  # noqa: ARG002
        """Show the numbers."""
        log({name: value for name, value in key_values.items() if isinstance(value, int | float | np.number)})

    def close(self) -> None:
        """Do nothing."""


class LogCallback(BaseCallback):
    """Shows what the model logs."""

    def _on_training_start(self) -> None:
        self.logger.output_formats.append(_LogWriter())

    def _on_step(self) -> bool:
        return True
