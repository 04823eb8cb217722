"""Describes any Gymnasium environment as a task."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.error import Error as GymnasiumError
from gymnasium.spaces import Box, Discrete

from ..errors import BadParameter, PacError
from ..task import Field, Outcome, Panel, Task
from .picture import picture_shape

SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "ppo": MappingProxyType(
            {
                "learning_rate": 1e-3,
                "gamma": 0.99,
                "gae_lambda": 0.95,
                "entropy_coefficient": 0.005,
                "batch": 2048,
                "epochs": 8,
                "minibatch": 512,
            }
        )
    }
)
"""Settings that small control tasks learn with in a minute."""
MaskReader: TypeAlias = Callable[[Mapping[str, Any]], Any]
MOST_BARS = 32
DTYPES = {"f": "float32", "u": "uint8", "b": "uint8", "i": "int32"}


class NoSuchEnvironment(PacError):
    """No environment has the name; `known` are the registered ids."""

    title = "Unknown environment"

    def __init__(self, text: str, known: Iterable[str] = ()) -> None:
        self.known = tuple(known)
        super().__init__(text)


class UnsupportedSpaces(BadParameter):
    """An environment whose spaces cannot be trained on."""

    title = "Environment not supported"


def describe(spec: str, name: str, params: Mapping[str, str]) -> Task:
    """Describe a Gymnasium environment by making one and looking at its first observation.

    Args:
        spec: The whole text that the task was asked for by.
        name: `CartPole-v1` or another registered id, or `my_pkg.my_module:MyEnv`, a class or callable that the working
            directory or the installation has.
        params: Keyword arguments of the environment, as text.

    Raises:
        NoSuchEnvironment: Nothing has that name.
        UnsupportedSpaces: The actions are not Discrete or the observations not a Box.
        BadParameter: The environment refused its arguments or failed at its start.
    """
    values = {key: literal(text) for key, text in params.items()}
    env = create(name, values)
    try:
        num_actions, observation = _spaces(name, env)
        try:
            first, info = env.reset(seed=0)
        except Exception as error:
            raise BadParameter(f"{name} failed at its first reset: {type(error).__name__}: {error}") from error
        check_observation(first, observation, name)
        panel, board = _board(env, observation)
        masked = masks_of(env, info) is not None
    finally:
        env.close()
    return Task(
        spec=spec,
        name=name,
        title=name.rpartition(":")[2].rpartition("/")[2],
        factory="pac.envs.gym.adapter:GymEnvironments",
        observation=observation,
        num_actions=num_actions,
        masked=masked,
        outcomes=(Outcome("terminated", "neutral"), Outcome("truncated", "neutral")),
        panels=(panel,),
        boards=(board, Field("looked_at", "uint8", timed=False)),
        values=MappingProxyType(values),
        settings=SETTINGS,
    )


def create(name: str, values: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Make one environment, ready to be drawn where it can be drawn into an array."""
    maker, modes = _maker(name)
    arguments = {"render_mode": "rgb_array", **values} if "rgb_array" in modes else dict(values)
    try:
        env = maker(**arguments)
    except Exception as error:
        raise BadParameter(f"{name} could not be made with {arguments}: {type(error).__name__}: {error}") from error
    if not isinstance(env, gymnasium.Env):
        raise BadParameter(f"{name} must give a gymnasium.Env, got {type(env).__name__}")
    return env


def literal(text: str) -> Any:
    """Return a parameter's text as the Python value it spells, or as the string it is."""
    lowered = {"true": True, "false": False, "none": None}
    if text.lower() in lowered:
        return lowered[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def check_observation(observation: Any, item: Field, name: str) -> None:
    """Make sure that an observation has the shape that the environment's space promised."""
    shape = np.shape(observation)
    if shape != item.shape:
        raise BadParameter(
            f"{name} promised observations of shape {item.shape} and gave one of shape {shape}: mend its space"
        )


def masks_of(env: gymnasium.Env[Any, Any], info: Mapping[str, Any]) -> MaskReader | None:
    """Return how to learn which actions are legal: from `info["action_mask"]`, `env.action_masks()`, or not at all."""
    if "action_mask" in info:
        return itemgetter("action_mask")
    if env.has_wrapper_attr("action_masks"):
        masks = env.get_wrapper_attr("action_masks")
        return lambda _: masks()
    return None


def _maker(name: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """Return what makes the environment, and how it can be drawn."""
    module, colon, attribute = name.partition(":")
    if colon and "/" not in attribute and "-v" not in attribute:
        made = _imported(name, module, attribute)
        return made, tuple(getattr(made, "metadata", {}).get("render_modes", ()))
    _import_plugin(name, module if colon else "")
    try:
        found = gymnasium.spec(attribute if colon else name)
    except GymnasiumError as error:
        raise NoSuchEnvironment(str(error), gymnasium.registry) from error
    entry = found.entry_point
    try:
        kind = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    except ImportError as error:
        raise BadParameter(f"{name} needs a package that is not installed: {error}") from error
    modes = tuple(getattr(kind, "metadata", {}).get("render_modes", ()))
    return lambda **kwargs: gymnasium.make(found, disable_env_checker=True, **kwargs), modes


def _imported(name: str, module: str, attribute: str) -> Callable[..., Any]:
    # A console script does not have the working directory on its path; last, so that it shadows nothing.
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise NoSuchEnvironment(f"{name}: no module named {error.name!r}; run from the folder that has it") from error
    except AttributeError as error:
        raise NoSuchEnvironment(f"{name}: module {module} has no {attribute!r}") from error
    except Exception as error:
        raise BadParameter(f"{name}: importing {module} failed with {type(error).__name__}: {error}") from error
    if not callable(found):
        raise BadParameter(
            f"{name} must be a class or a callable that gives a gymnasium.Env, got {type(found).__name__}"
        )
    made: Callable[..., Any] = found
    return made


def _import_plugin(name: str, module: str) -> None:
    """Import what registers an id: the module before a colon, or the package that has an id's namespace."""
    namespace = name.partition("/")[0] if "/" in name else ""
    wanted = module or {"ALE": "ale_py", "pac": "pac.envs.gym"}.get(namespace, "")
    if not wanted:
        return
    try:
        found = import_module(wanted)
    except ModuleNotFoundError as error:
        raise NoSuchEnvironment(f"{name} needs the module {error.name!r}, which is not installed") from error
    if wanted == "ale_py":
        gymnasium.register_envs(found)


def _spaces(name: str, env: gymnasium.Env[Any, Any]) -> tuple[int, Field]:
    actions, observations = env.action_space, env.observation_space
    if not isinstance(actions, Discrete):
        raise UnsupportedSpaces(f"{name} has actions {actions}; Discrete actions can be trained on so far")
    if not isinstance(observations, Box):
        raise UnsupportedSpaces(f"{name} has observations {observations}; Box observations can be trained on so far")
    kind = observations.dtype.kind
    if observations.dtype.itemsize > 4 and kind in "iu":
        kind = "f"
    dtype = (
        str(observations.dtype)
        if str(observations.dtype) in {"uint8", "int8", "int16"}
        else DTYPES.get(kind, "float32")
    )
    low, high = float(observations.low.min()), float(observations.high.max())
    return int(actions.n), Field("observation", dtype, observations.shape, per="seat", low=low, high=high)


def _board(env: gymnasium.Env[Any, Any], observation: Field) -> tuple[Panel, Field]:
    shape = picture_shape(env)
    if shape is not None:
        panel = Panel("pixels", "Board", "picture", main=True)
        return panel, Field("picture", "uint8", shape, timed=False, low=0, high=255)
    count = min(MOST_BARS, math.prod(observation.shape))
    labels = tuple(str(index) for index in range(count))
    return Panel("bars", "Observation", "bars", labels, main=True), Field("bars", "float32", (count,), timed=False)
