"""Wraps environments: Gymnasium's wrappers by class name, presets of several, and wrappers of the user's modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
ATARI_GAME, ARGUMENTS = "AtariGame", {"frameskip": 1, "obs_type": "grayscale"}
"""The wrapper of `atari.py`, and the arguments of the environment that it relies on."""
GRID_CELLS = "GridCells"
"""The wrapper of `grid_cells.py`."""
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
    preset, _ = family(name)
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
    own = _is_atari(name) and any(split_spec(wrapper)[0] == ATARI_GAME for wrapper in wrappers)
    return dict(ARGUMENTS) if own else {}


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
    if name == ATARI_GAME:
        from .atari import AtariGame  # loads Numba

        return AtariGame
    if name == GRID_CELLS:
        from .grid_cells import GridCells  # with the modules of the spaces

        return GridCells
    known = [each for each in gymnasium.wrappers.__all__ if each[0].isupper()]
    if name not in known:
        raise UnknownName("wrapper", name, [*presets(), NONE, ATARI_GAME, GRID_CELLS, *known])
    return getattr(gymnasium.wrappers, name)
