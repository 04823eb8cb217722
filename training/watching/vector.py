"""Watches Gymnasium's vector environments."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from ...envs.fields import Array
from ...envs.signals import WithoutSdlHandlers
from .boards import MODES, Render
from .env_watch import EnvWatch
from .mirror import Autoreset
from .rendering import render_of_several

RESETS: dict[str, Autoreset] = {"SameStep": "same step", "NextStep": "next step", "Disabled": "by hand"}
"""By the values of `gymnasium.vector.AutoresetMode`, which Gymnasium has from version 1.1 on."""
DEFAULT_RESET = "SameStep" if gymnasium.__version__ < "1" else "NextStep"
LAST_OBSERVATIONS = "final_observation" if gymnasium.__version__ < "1" else "final_obs"
"""The key of infos that contains the last observations of episodes whose environments were reset in the same step."""


class VectorWatch(EnvWatch):
    """Follows a vector environment of Gymnasium."""

    last_observations = LAST_OBSERVATIONS

    def describe(self, env: VectorEnv[Any, Any, Array], observations: Any, infos: Any) -> Mapping[str, Any]:  # noqa: ARG002
        """Return its name, its action space, how it is drawn and how it is reset."""
        mode = env.metadata.get("autoreset_mode", DEFAULT_RESET)
        return {
            "kind": type(env.unwrapped).__name__,
            "num_envs": env.num_envs,
            "task": _task_of(env),
            "actions": env.single_action_space,
            "render": render_of(env, borrow=self._unchanged),
            "autoreset": RESETS[getattr(mode, "value", mode)],
        }


def _task_of(env: VectorEnv[Any, Any, Array]) -> str:
    """Return the id of the environments, or their class where they have none."""
    base: Any = env.unwrapped
    if _is_env_pool(base):
        return base.config.get("task") or type(base).__name__.removesuffix("GymnasiumEnvPool")
    if not isinstance(base, SyncVectorEnv | AsyncVectorEnv):
        return env.spec.id if env.spec is not None else type(base).__name__
    spec = env.spec or base.get_attr("spec")[0]
    return spec.id if spec is not None else class_in(base.call("__str__")[0]) or type(base).__name__


def _is_env_pool(base: Any) -> bool:
    """Whether a vector environment belongs to EnvPool, which draws by number and has no id."""
    return "envpool" in sys.modules and hasattr(base, "all_env_ids")


def class_in(text: str) -> str:
    """Return the class of an environment from its text, as Gymnasium writes it: `<Wrapper<Class instance>>`.

    An environment in another process needs to send only this text. The class is empty if the text has another form.
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
    if _is_env_pool(base):
        return lambda index: env.unwrapped.render(index)[0]  # type: ignore[call-arg, index]
    if isinstance(base, AsyncVectorEnv):
        base.call("has_wrapper_attr", WithoutSdlHandlers("render"))

    def render(index: int) -> Any:
        drawn = env.render()
        return None if drawn is None else drawn[index]

    return render
