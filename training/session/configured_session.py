"""The part of a session that follows from its configuration, and that its other parts may use."""

from __future__ import annotations

import logging
import math
from pathlib import Path

from ...backends import backend_names, default_num_envs
from ...envs import BadParameter, UnknownName, find
from ...envs.spaces.late_infos import ADAPTED, LATE_INFOS
from ...envs.task import transformed
from ..config import Config
from ..torchrun import join_ranks, started_by_torchrun
from ..trainers import trainer_kind, trainer_settings, transformed_task
from .base_session import BaseSession
from .evaluation import Evaluator
from .failures import FailureHandler
from .num_envs_planner import NumEnvsPlanner
from .system_sampler import SystemSampler

IN_SEVERAL = ("ppo", "random")
"""The built-in trainers whose processes can decide and learn together."""
NAMING = ("inline", "shm", "threads")
"""The backends whose environments read the buffer of the session, in which it names numbers that are found later."""
log = logging.getLogger(__name__)


class ConfiguredSession(BaseSession):
    """A session before it has a run, environments and a trainer.

    Args:
        config: What to run.
        directory: Where telemetry, gate and socket are.
        headless: Whether it may run without a viewer.

    Attributes:
        kind: The kind of the trainer.
        settings: The settings of the trainer.
        planner: Decides the number of environments.
        failures: The error that the session ends with, if any.
        evaluator: Evaluates the policy during the training.
        sampler: Publishes processes, system load and viewers.
    """

    def __init__(self, config: Config, directory: Path, *, headless: bool = False) -> None:
        if config.backend not in backend_names():
            raise UnknownName("backend", config.backend, backend_names())
        game = find(config.spec)
        self.kind = kind = trainer_kind(config.trainer or game.trainer)
        self.settings = trainer_settings(kind.name, game, config.settings)
        task = transformed_task(kind.name, game, self.settings)
        if config.backend in NAMING and task.factory.startswith(ADAPTED):
            task = transformed(task, LATE_INFOS)
        if started_by_torchrun() and kind.name not in IN_SEVERAL:
            raise BadParameter(f"{kind.name} trains in one process; train in several with {' or '.join(IN_SEVERAL)}")
        linger = math.inf if headless else config.linger
        super().__init__(task, directory, linger=linger, seed=config.seed, ranks=join_ranks() if config.learn else None)
        if not self.ranks.is_writer:
            config = config.model_copy(update={"eval_every": None, "alarm_exit": False})
        self.events.log = log
        self.config = config.model_copy(update={"trainer": kind.name})
        self.planner = NumEnvsPlanner(config.num_envs or task.num_envs or default_num_envs(), kind.units)
        for text in config.breakpoints:
            self.debugger.breakpoints.add(text, self.planner.num_envs)
        self.failures = FailureHandler(self.events, self.debugger.alarms, self.gate, alarm_exit=config.alarm_exit)
        self.sampler = SystemSampler(self)
        self.evaluator = Evaluator(
            self.config,
            kind,
            task,
            self.settings,
            directory=directory,
            events=self.events,
            show_lane=self.timeline.add,
        )
