"""Wraps environments: Gymnasium's wrappers by class name, presets of several, and wrappers of the user's modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import gymnasium
import gymnasium.wrappers

from ..errors import BadParameter, DoesNotFit, PacError, UnknownName
from ..family import literal
from ..recommended import ALE, family, presets
from ..specs import split_spec

NONE = "none"
CHANGES_REWARD = ("ClipReward", "NormalizeReward")
"""Wrappers of Gymnasium that change rewards for the learner: the return shown is the sum before the first of them."""
OWN = {"AtariGame": "atari", "DoomScreen": "doom", "GridCells": "grid_cells"}
"""This program's wrappers, and their modules, which are loaded when they are used: Atari's loads Numba."""
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "AtariGame": {"frameskip": 1, "obs_type": "grayscale"},
    "DoomScreen": {"frame_skip": 4},
}
"""By wrapper: the arguments that the environments of its family get unless others are given."""
OWN_FRAMES = {"obs_type", "frameskip", "sound_obs", "continuous"}
"""Arguments of ALE games with which they get no wrappers by default."""


class Score(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Sums the rewards of an episode before other wrappers change them."""

    total = 0.0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self.total = 0.0
        return self.env.reset(**options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        result = self.env.step(action)
        self.total += float(result[1])
        return result


def default_wrappers(name: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the wrappers, or presets, that an environment has unless others are given."""
    preset = family(name).preset
    return (preset,) if preset and not (_is_atari(name) and OWN_FRAMES & values.keys()) else ()


def _is_atari(name: str) -> bool:
    return name.rpartition(":")[2].startswith(ALE)


def resolved(wrappers: Sequence[str]) -> tuple[str, ...]:
    """Return wrappers with presets replaced by what they stand for."""
    found: list[str] = []
    for wrapper in wrappers:
        found += () if wrapper == NONE else presets().get(wrapper, (wrapper,))
    return tuple(found)


def arguments_for(name: str, wrappers: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of an environment that its wrappers rely on."""
    own = {split_spec(wrapper)[0] for wrapper in wrappers}.intersection(resolved([family(name).preset]))
    return {key: value for wrapper in own for key, value in ARGUMENTS.get(wrapper, {}).items()}


def wrapped(env: Any, wrappers: Sequence[str], imported: Callable[[str], Any]) -> Any:
    """Return an environment in its wrappers, innermost first.

    Args:
        env: The environment.
        wrappers: The wrappers, without presets.
        imported: Imports the class or function that `module:name` names.

    Raises:
        UnknownName: Gymnasium has no such wrapper.
        BadParameter: A wrapper cannot be imported, does not take its arguments, or fails.
    """
    for wrapper in wrappers:
        name, given = split_spec(wrapper)
        if name in CHANGES_REWARD and score_of(env) is None:
            env = Score(env)
        try:
            env = _wrapper(name, imported)(env, **{key: literal(text) for key, text in given.items()})
        except UnknownName:
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, PacError) else f"{type(error).__name__}: {error}"
            kind = DoesNotFit if isinstance(error, DoesNotFit) else BadParameter
            raise kind(f"the wrapper {wrapper} cannot be used: {reason}") from error
    return env


def score_of(env: Any) -> Score | None:
    """Return what sums the rewards before they are changed; None if nothing changes them."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, Score):
            return env
        env = env.env
    return None


def value_ends(env: Any) -> str:
    """Return the name of the number in infos that is true where a life is lost, if a wrapper tells; else nothing."""
    told = isinstance(env, gymnasium.Env) and env.has_wrapper_attr("value_ends")
    return str(env.get_wrapper_attr("value_ends")) if told else ""


def _wrapper(name: str, imported: Callable[[str], Any]) -> Any:
    if ":" in name:
        return imported(name)
    if name in OWN:
        return getattr(import_module(f".{OWN[name]}", __package__), name)
    known = [each for each in gymnasium.wrappers.__all__ if each[0].isupper()]
    if name not in known:
        raise UnknownName("wrapper", name, [*presets(), NONE, *OWN, *known])
    return getattr(gymnasium.wrappers, name)
