"""Chooses recommended settings for a Gymnasium environment from `recommended.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .fields import Field
from .files import MIB, read_yaml

TABLE = Path(__file__).with_name("recommended.yaml")
ALE = "ALE/"
"""How the ids of Atari games begin."""


class Family(NamedTuple):
    """Environments of a package.

    Attributes:
        preset: Their wrappers, and the kind of their settings.
        title: What these are for.
        module: What registers their ids, if Gymnasium does not find it.
    """

    preset: str
    title: str
    module: str = ""


FAMILIES: Mapping[str, Family] = {
    ALE: Family("atari", "Atari games"),
    "MiniGrid-": Family("minigrid", "MiniGrid", "minigrid"),
    "BabyAI-": Family("minigrid", "MiniGrid", "minigrid"),
    "Vizdoom": Family("vizdoom", "ViZDoom", "vizdoom.gymnasium_wrapper"),
}
"""By how ids begin."""
LARGE = 32
"""Byte images with longer sides are of the kind `image`, also beside other parts of an observation. Smaller ones are
learned as fast as vectors."""

WHOLE_IMAGE = 3
"""Axes of an observation that is one image. Others are not normalized: it is refused, or takes much memory."""


@dataclass(frozen=True)
class Recommendation:
    """Settings of an algorithm for an environment.

    Attributes:
        settings: The settings by name; others have their defaults.
        source: What they are for, as part of a sentence: an id or a kind of environment.
        note: What a user should know before training, as a sentence; empty if there is nothing.
    """

    settings: Mapping[str, Any]
    source: str
    note: str = ""


def presets() -> Mapping[str, tuple[str, ...]]:
    """Return sets of wrappers by name."""
    return {name: tuple(wrappers) for name, wrappers in _table()["wrappers"].items()}


def family(name: str) -> Family:
    """Return what an environment is one of, by its id; an empty family if there is none."""
    known = name.rpartition(":")[2]
    return next((found for begin, found in FAMILIES.items() if known.startswith(begin)), Family("", ""))


def default_trainer(name: str) -> str:
    """Return the trainer that learns an environment best, by its id."""
    known = name.rpartition(":")[2]
    return next((trainer for trainer, table in _table().items() if known in table.get("default_for", ())), "ppo")


def recommended(name: str, observation: Field, *, continuous: bool, wrapped: bool = False) -> dict[str, Recommendation]:
    """Return the settings for an environment by trainer: those of its id, or of its kind.

    Args:
        name: Its id, with or without a module before it: `CartPole-v1`, `ale_py:ALE/Pong-v5`.
        observation: The observation of one seat.
        continuous: Whether its actions are continuous.
        wrapped: Whether it is in wrappers, as environments of a `family` are by default.
    """
    options = {"continuous": continuous, "wrapped": wrapped}
    found = {"ppo": _recommended(_table()["ppo"], name, observation, **options)}
    if continuous and not _is_large_image(observation):
        found["sac"] = _recommended(_table()["sac"], name, observation, **options)
    elif not continuous:
        found |= dict.fromkeys(("dqn", "iqn"), _recommended(_table()["dqn"], name, observation, **options))
    return found


def _recommended(
    table: Mapping[str, Any], name: str, observation: Field, *, continuous: bool, wrapped: bool
) -> Recommendation:
    known = name.rpartition(":")[2]
    entry = dict(table["environments"].get(known, {}))
    note = entry.pop("note", "")
    preset, title, _ = family(name)
    if wrapped and preset in table["kinds"]:
        return Recommendation({**table["kinds"][preset], **entry}, title, note)
    if entry:
        return Recommendation(entry, known, note)
    kind = "image" if _is_large_image(observation) else "vector"
    settings, source = dict(table["kinds"][kind]), f"{kind} observations"
    if continuous:
        settings, source = {**settings, **table.get("continuous", {})}, f"{source} and continuous actions"
    if observation.images or len(observation.shape) > WHOLE_IMAGE:
        settings.pop("normalize_observation", None)
    return Recommendation(settings, source, note)


def _is_large_image(observation: Field) -> bool:
    shapes = [shape for _, shape in observation.images] or [observation.shape] * (observation.dtype == "uint8")
    return any(len(shape) > 1 and sorted(shape)[-2] > LARGE for shape in shapes)


@cache
def _table() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_yaml(TABLE, MIB)
    return found
