"""The runs of a grid: a name and a configuration for each combination of a seed and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ...envs import BadParameter, PacError
from ...envs.trust import Vouch
from ..config import LIMITS, Config
from ..loading import load, num_envs_of, task_of, trainer_of
from ..runs.folder import new_name
from ..session.until import Until
from ..trainers import trainer_kind, trainer_settings

MOST = 1000
"""Runs of a grid."""
MOST_NAME = 255
"""Bytes of a folder's name."""
SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?")


@dataclass(frozen=True)
class PlannedRun:
    """One run of a grid.

    Attributes:
        settings: The settings that differ within the grid, by their names, as text.
    """

    name: str
    settings: Mapping[str, str]
    config: Config

    @property
    def group(self) -> str:
        """The settings that differ, in words; runs of one group differ in their seeds only."""
        return ", ".join(f"{name} {value}" for name, value in self.settings.items())


class GridPlan(NamedTuple):
    """Several trainings.

    Attributes:
        name: What the names of the runs begin with.
    """

    name: str
    members: Sequence[PlannedRun]


def seeds_of(text: str) -> tuple[int, ...]:
    """Return the seeds that a text such as `0..4` or `1,5,7..9` names.

    Raises:
        BadParameter: It names none, one twice, or too many.
    """
    seeds: list[int] = []
    for part in text.split(","):
        found = SEEDS.fullmatch(part.strip())
        if found is None:
            raise BadParameter(f"--seeds expects numbers or ranges such as 0..4 or 1,5,7..9, got {text!r}")
        first = int(found[1])
        last = int(found[2] or first)
        if last - first >= MOST:
            raise BadParameter(f"--seeds {text} are more than {MOST:,} runs")
        seeds += range(first, last + 1)
    if not seeds or len(set(seeds)) < len(seeds):
        raise BadParameter(f"--seeds expects every seed once, got {text!r}: in a range, the last one is the larger one")
    return tuple(seeds)


def choices(given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the settings with several values, `ppo.clip=0.1,0.2`; a value that fits as a whole is one value."""
    return {key: values for key, value in given.items() if len(values := _values(key, value)) > 1}


def _values(key: str, value: Any) -> tuple[str, ...]:
    section, dot, setting = key.partition(".")
    if not dot or not isinstance(value, str) or "," not in value:
        return ()
    try:
        trainer_kind(section).settings_class.read(section, {setting.replace("-", "_"): value})
    except PacError:
        return tuple(part.strip() for part in value.split(","))
    return ()


def planned(given: Mapping[str, Any], seeds: Sequence[int], *, file: Path | None, vouch: Vouch) -> GridPlan:
    """Return a grid, seed after seed for each combination of settings.

    Args:
        given: What the command line sets; `name` is the beginning of all names.
        seeds: The seeds; none for that of the configuration.
        file: A file with the configuration.
        vouch: Asked whether to trust what the file names.

    Raises:
        BadParameter: There are too many runs, they would not end, or two would have the same name.
    """
    several = choices(given)
    first = load({**given, **{key: values[0] for key, values in several.items()}}, file=file, vouch=vouch).config
    if first.resume:
        raise BadParameter("a grid continues by itself if it gets the --name that it had: leave out --resume")
    if first.until is None and not any(getattr(first, limit) for limit in LIMITS):
        raise BadParameter("runs of a grid need an end: set --steps, --frames, --episodes, --seconds or --until")
    if first.breakpoints:
        raise BadParameter("a run that pauses would hold up the grid: leave out --break")
    Until.of(first, trainer_kind(trainer_of(first)), task_of(first))  # else each run would refuse it
    combinations = list(product(*several.values()))
    count = len(combinations) * max(1, len(seeds))
    if count > MOST:
        raise BadParameter(f"{count:,} runs are too many for a grid, which may have {MOST:,}")
    stem = first.name or new_name(task_of(first).name, trainer_of(first))
    num_envs, found = num_envs_of(first), list[PlannedRun]()
    for combination in combinations:
        settings = {key.partition(".")[2]: value for key, value in zip(several, combination, strict=True)}
        for seed in seeds or (first.seed,):
            name = "-".join([stem, *(f"{key}={_plain(value)}" for key, value in settings.items()), f"s{seed}"])
            if len(name.encode()) > MOST_NAME:
                raise BadParameter(f"the name of a run would be longer than {MOST_NAME} bytes: choose a shorter --name")
            own = {**given, **dict(zip(several, combination, strict=True)), "seed": seed, "name": name}
            own["num_envs"] = num_envs  # the default depends on the cores, of which a run gets only some
            found.append(PlannedRun(name, settings, load(own, file=file, vouch=vouch).config))
    trainer, task = trainer_of(first), task_of(first)
    distinct = {(member.config.seed, repr(trainer_settings(trainer, task, member.config.settings))) for member in found}
    if min(len(distinct), len({member.name for member in found})) < len(found):
        raise BadParameter(f"two runs of the grid would be the same: give each value of a setting of {trainer} once")
    return GridPlan(stem, found)


def _plain(value: str) -> str:
    """Return a value as a part of a folder's name."""
    return re.sub(r"[^\w.+-]+", "_", value)
