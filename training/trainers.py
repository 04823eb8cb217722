"""The algorithms by name; an algorithm's module is imported when it is built, its settings without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..envs import Task, UnknownName, families, find
from ..envs.registry import split_spec
from ..envs.task import dressed
from .settings import TrainerSettings
from .trainer import Context, Trainer
from .units import INFORMATION_SETS, NASH_CONV, REGRET, RETURN, SOLVED, STEPPED, UTILITY, Figure, Units


@dataclass(frozen=True)
class TrainerKind:
    """An algorithm that a session can run.

    Attributes:
        name: Its name, also the name of its settings in `Task.settings`.
        title: One line for people.
        trainer: `module:Class` of the trainer, called as `(context)`.
        settings: `module:Class` of its settings, which imports neither torch nor numba.
        player: `module:Class` that plays what it learned, called as `(context, greedy)`; empty if nothing is learned.
        evaluate: `module:callable` that measures what a run learned, see `mccfr.playing.evaluation.evaluate`; empty
            where a player plays episodes instead.
        units: What it calls what is counted.
        figures: What tells how good it is, the one that tells most first; the first that is there is shown.
        dress: `module:callable` that makes of a task what the session steps, see `pac.envs.task.dressed`; empty where
            that is the task itself.
        computes: Whether it computes with PyTorch, on a device.
    """

    name: str
    title: str
    trainer: str
    settings: str
    player: str = ""
    evaluate: str = ""
    units: Units = STEPPED
    figures: tuple[Figure, ...] = (RETURN,)
    dress: str = ""
    computes: bool = True

    @property
    def settings_class(self) -> type[TrainerSettings]:
        """The class of the settings."""
        found: type[TrainerSettings] = _load(self.settings)
        return found


TRAINERS: Mapping[str, TrainerKind] = {
    kind.name: kind
    for kind in (
        TrainerKind(
            name="ppo",
            title="Proximal policy optimisation, with action masks",
            trainer=".ppo.trainer:PPO",
            settings=".ppo.settings:Settings",
            player=".ppo.evaluate:Player",
        ),
        TrainerKind(
            name="mccfr",
            title="Counterfactual regret minimisation for games of poker's kind, sampled by many workers or exact",
            trainer=".mccfr.trainer:MCCFR",
            settings=".mccfr.settings:Settings",
            evaluate=".mccfr.playing.evaluation:evaluate",
            dress=".mccfr.task:traversals",
            computes=False,
            units=SOLVED,
            figures=(NASH_CONV, REGRET, UTILITY, INFORMATION_SETS),
        ),
        TrainerKind(
            name="random",
            title="Uniformly random legal actions; learns nothing",
            trainer=".random_policy:RandomPolicy",
            settings=".settings:TrainerSettings",
            computes=False,
        ),
    )
}


def trainer_kind(name: str) -> TrainerKind:
    """Return the algorithm called `name`.

    Raises:
        UnknownName: There is none.
    """
    if name not in TRAINERS:
        raise UnknownName("trainer", name, TRAINERS)
    return TRAINERS[name]


def default_trainer(spec: str) -> str:
    """Return the trainer that a task recommends; `ppo` for all Gymnasium environments, none of which is loaded.

    Raises:
        BadParameter: A parameter of a named task is unknown or does not fit.
    """
    return find(spec).trainer if split_spec(spec)[0] in families() else "ppo"


def dressed_for(name: str, task: Task, settings: Mapping[str, Any]) -> Task:
    """Return the task that a session steps for the trainer `name`.

    Raises:
        BadParameter: The trainer has no use for such a task.
    """
    kind = trainer_kind(name)
    return dressed(task, (f"{__package__}{kind.dress}", settings)) if kind.dress else task


def trainer_settings(name: str, task: Task, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective settings as plain data: the trainer's defaults, then the task's, then `overrides`.

    Raises:
        UnknownName: No such trainer, or a setting is unknown.
        BadParameter: A value does not fit.
    """
    kind = trainer_kind(name)
    merged = {**task.settings.get(name, {}), **overrides}
    return kind.settings_class.read(name, merged).model_dump(mode="json")


def build_trainer(name: str, context: Context) -> Trainer:
    """Return the trainer `name` for `context`; loads the algorithm."""
    trainer: Trainer = _load(trainer_kind(name).trainer)(context)
    return trainer


def build_player(name: str, context: Context, *, greedy: bool = True) -> Trainer:
    """Return a trainer that plays what `name` learned, and does not learn.

    Raises:
        UnknownName: The trainer is unknown, or learns nothing that could play.
    """
    players = {kind.name: kind.player for kind in TRAINERS.values() if kind.player}
    if name not in players:
        raise UnknownName("trainer with a policy to play", name, players)
    trainer: Trainer = _load(players[name])(context, greedy)
    return trainer


def evaluator(name: str) -> Any:
    """Return what measures the runs of `name`, or None where a player plays episodes instead."""
    path = trainer_kind(name).evaluate
    return _load(path) if path else None


def _load(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module, __package__), attribute)
