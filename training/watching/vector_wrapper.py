"""The wrapper that `watch` returns for a vector environment of Gymnasium."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from gymnasium.vector import VectorEnv, VectorWrapper

from ...envs.fields import Array
from .script import WatchedScript
from .vector import VectorWatch


class WatchedVectorEnv(VectorWrapper):  # type: ignore[type-arg]  # before Gymnasium 1.3 it is not generic
    """A vector environment that can be attached to from its first reset on."""

    def __init__(self, env: VectorEnv[Any, Any, Array], name: str | None = None) -> None:
        super().__init__(env)
        self._watch = VectorWatch(name)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes, in all environments or where `options["reset_mask"]` says so."""
        mask = (options or {}).get("reset_mask")  # before Gymnasium takes it out
        observations, infos = self.env.reset(seed=seed, options=options)
        self._watch.begin(self, observations, infos, mask)
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Pass the gate and step all environments."""
        step_log = self._watch.step_log
        if step_log is None:
            return self.env.step(actions)
        if step_log.attention[0]:
            step_log.wait_for(actions)
        entered = perf_counter()
        result = self.env.step(actions)
        infos = result[4]
        step_log.note(actions, entered, result, infos.get("final_obs") if infos else None)
        return result

    def close(self, **kwargs: Any) -> None:
        """Close the environments; viewers see that the script ended."""
        self._watch.close()
        self.env.close(**kwargs)

    @property
    def _script(self) -> WatchedScript | None:
        return self._watch.script
