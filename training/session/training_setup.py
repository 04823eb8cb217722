"""What follows from the configuration of a training, before it has a run, environments or a trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...backends import backend_names
from ...envs import BadParameter, Task, UnknownName, find
from ...envs.spaces.infos import ADAPTED, LATE_INFOS
from ...envs.task import transformed
from ..config import Config
from ..loading import usual_num_envs
from ..ranks import Ranks, SingleRank
from ..torchrun import join_ranks, started_by_torchrun
from ..trainers import TrainerKind, trainer_kind, trainer_settings, transformed_task
from .num_envs_planner import NumEnvsPlanner
from .until import Until

IN_SEVERAL = ("ppo", "random")
"""The built-in trainers whose processes can decide and learn together."""
NAMING = ("inline", "shm", "threads")
"""The backends whose environments read the buffer of the session, in which it names numbers that are found later."""


class TrainingSetup(NamedTuple):
    """What a training is made of.

    Attributes:
        config: The configuration, with the name of the trainer.
        kind: The kind of the trainer.
        settings: The settings of the trainer.
        task: The task, as trainers and workers know it: without names that are found later.
        ranks: The processes of the training, which decide together.
        planner: Decides the number of environments.
        until: The condition that ends the training, if there is one and this process decides by it.
    """

    config: Config
    kind: TrainerKind
    settings: Mapping[str, Any]
    task: Task
    ranks: Ranks
    planner: NumEnvsPlanner
    until: Until | None


def set_up(config: Config) -> TrainingSetup:
    """Return what follows from a configuration.

    Raises:
        BadParameter: Its values do not fit each other, or the task.
        UnknownName: It names something that does not exist.
    """
    if config.backend not in backend_names():
        raise UnknownName("backend", config.backend, backend_names())
    game = find(config.spec)
    kind = trainer_kind(config.trainer or game.trainer)
    settings = trainer_settings(kind.name, game, config.settings)
    task = transformed_task(kind.name, game, settings)
    if config.backend in NAMING and task.factory.startswith(ADAPTED):
        task = transformed(task, LATE_INFOS)
    if started_by_torchrun() and kind.name not in IN_SEVERAL:
        raise BadParameter(f"{kind.name} trains in one process; train in several with {' or '.join(IN_SEVERAL)}")
    ranks = join_ranks() if config.learn else SingleRank()
    silent = {"eval_every": None, "until": None, "alarm_exit": False, "on_finding": None, "on_end": None}
    planner = NumEnvsPlanner(config.num_envs or usual_num_envs(config, task), kind.units)
    config = config.model_copy(update={"trainer": kind.name, **({} if ranks.is_writer else silent)})
    return TrainingSetup(config, kind, settings, task, ranks, planner, Until.of(config, kind, task))
