"""Gymnasium's vector environments, watched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

from ...envs.fields import Array
from ...envs.signals import WithoutSdlHandlers
from .boards import MODES, Render
from .env_watch import EnvWatch
from .mirror import Autoreset
from .rendering import render_of_several
from .script import WatchedScript

RESETS: dict[AutoresetMode, Autoreset] = {
    AutoresetMode.SAME_STEP: "same step",
    AutoresetMode.NEXT_STEP: "next step",
    AutoresetMode.DISABLED: "by hand",
}


class VectorWatch(EnvWatch):
    """Follows a vector environment of Gymnasium."""

    def describe(self, env: VectorEnv[Any, Any, Array], observations: Any, infos: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return its name, its action space, how it is drawn and how it is reset."""
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        return {
            "kind": type(env.unwrapped).__name__,
            "num_envs": env.num_envs,
            "task": _task_of(env),
            "actions": env.single_action_space,
            "render": render_of(env, borrow=self._unchanged),
            "autoreset": RESETS[AutoresetMode(mode)],
        }


class WatchedVectorEnv(VectorWrapper[Any, Any, Any, Any, Array]):
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
        step_log.before(actions)
        result = self.env.step(actions)
        step_log.after(result, result[4].get("final_obs"))
        return result

    def close(self, **kwargs: Any) -> None:
        """Close the environments; viewers see that the script ended."""
        self._watch.close()
        self.env.close(**kwargs)

    @property
    def _script(self) -> WatchedScript | None:
        return self._watch.script


def _task_of(env: VectorEnv[Any, Any, Array]) -> str:
    """Return the id of the environments, or their class where they have none."""
    base = env.unwrapped
    if not isinstance(base, SyncVectorEnv | AsyncVectorEnv):
        return env.spec.id if env.spec is not None else type(base).__name__
    spec = env.spec or base.get_attr("spec")[0]
    return spec.id if spec is not None else class_in(base.call("__str__")[0]) or type(base).__name__


def class_in(text: str) -> str:
    """Return the class of an environment from its text, as Gymnasium writes it: `<Wrapper<Class instance>>`.

    The text is all that an environment in another process needs to send; it is empty if it is written otherwise.
    """
    found = re.search(r"<(\w+) instance>", text)
    return found[1] if found else ""


def render_of(env: VectorEnv[Any, Any, Array], *, borrow: bool = False) -> Render | None:
    """Return what draws one environment as a picture or as text, if they can be drawn so.

    `borrow` allows drawing environments that were made without a render mode.
    """
    base = env.unwrapped
    if isinstance(base, SyncVectorEnv):
        return render_of_several(base.envs, borrow=borrow)
    if env.render_mode not in MODES:
        return None
    if isinstance(base, AsyncVectorEnv):
        base.call("has_wrapper_attr", WithoutSdlHandlers("render"))

    def render(index: int) -> Any:
        drawn = env.render()
        return None if drawn is None else drawn[index]

    return render
