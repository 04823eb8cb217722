"""Stable-Baselines3's vector environments, watched, and what its models log."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv, VecEnvWrapper

from ...envs.signals import WithoutSdlHandlers
from .boards import MODES, Render
from .script import WatchedScript, log, watch_environments
from .vector import class_in

TRUE_BYTE = b"\x01"


class WatchedVecEnv(VecEnvWrapper):
    """A vector environment that can be attached to from its first reset on."""

    def __init__(self, venv: VecEnv, name: str | None = None) -> None:
        super().__init__(venv)
        self._watched_name = name
        self._script: WatchedScript | None = None

    def reset(self) -> Any:
        """Begin an episode in all environments."""
        observations = self.venv.reset()
        if self._script is None:
            self._script = self._open(observations)
        self._script.begin()
        return observations

    def step_async(self, actions: np.ndarray[Any, Any]) -> None:
        """Pass the gate and start a step of all environments."""
        if self._script is not None:
            self._script.step_log.before(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Wait for the step."""
        result = self.venv.step_wait()
        if self._script is not None:
            observations, rewards, dones, infos = result
            if TRUE_BYTE in dones.tobytes():
                truncated = _truncated(dones, infos)
                last = [info.get("terminal_observation") for info in infos]
                self._script.step_log.after((observations, rewards, dones & ~truncated, truncated, infos), last)
            else:
                self._script.step_log.after((observations, rewards, dones, dones, infos))
        return result

    def close(self) -> None:
        """Close the environments; viewers see that the script ended."""
        if self._script is not None:
            self._script.close()
        self.venv.close()

    def _open(self, observations: Any) -> WatchedScript:
        venv = self.venv
        spec = venv.get_attr("spec")[0] if venv.has_attr("spec") else None
        kind = "" if spec is not None else class_in(venv.env_method("__str__", indices=[0])[0])
        return watch_environments(
            self,
            venv,
            self._watched_name,
            task=spec.id if spec is not None else kind or type(venv.unwrapped).__name__,
            actions=venv.action_space,
            render=_render_of(venv),
            observations=observations,
            infos=venv.reset_infos,
            autoreset="same step",
        )


def _truncated(dones: np.ndarray[Any, Any], infos: Any) -> np.ndarray[Any, Any]:
    """Return which episodes ended by their time limit."""
    truncated = np.zeros(len(dones), np.bool_)
    for index in np.flatnonzero(dones):
        truncated[index] = bool(infos[index].get("TimeLimit.truncated", False))
    return truncated


def _render_of(venv: VecEnv) -> Render | None:
    """Return what draws one environment as a picture or as text, if they can be drawn so."""
    if venv.render_mode not in MODES:
        return None
    if isinstance(venv.unwrapped, SubprocVecEnv):
        venv.env_method("has_wrapper_attr", WithoutSdlHandlers("render"))
    return lambda index: venv.env_method("render", indices=[index])[0]


class _LogWriter(KVWriter):
    """Where a model's logger writes, so that it is shown."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:  # noqa: ARG002
        """Show the numbers."""
        log({name: value for name, value in key_values.items() if isinstance(value, int | float | np.number)})

    def close(self) -> None:
        """Nothing is held."""


class LogCallback(BaseCallback):
    """Shows what the model logs."""

    def _on_training_start(self) -> None:
        self.logger.output_formats.append(_LogWriter())

    def _on_step(self) -> bool:
        return True
