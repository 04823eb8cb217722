"""The trainers by name: the built-in ones and those of installed packages.

The module of an algorithm is imported when a trainer is built; its settings are imported separately.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import resolve_name
from typing import Any

from ..envs import BadParameter, Task, UnknownName, families, find
from ..envs.errors import brief
from ..envs.foreign import importing
from ..envs.recommended import default_trainer as recommended_trainer
from ..envs.specs import split_spec
from ..envs.task import load, transformed
from .device import TrainingPlace
from .settings import TrainerSettings
from .trainer import Context, Trainer
from .units import INFORMATION_SETS, NASH_CONV, REGRET, RETURN, SOLVED, STEPPED, UTILITY, Figure, Units

ENTRY_POINTS = "pac.trainers"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class TrainerKind:
    """An algorithm that a session can run. A package offers one by an entry point; see docs/trainers.md.

    Attributes:
        name: Its name, also the name of its settings in `Task.settings`: lower-case words joined by hyphens.
        title: One line for people.
        trainer: `module:Class` of the trainer, called with a `Context`.
        settings: `module:Class` of its settings, which imports neither torch nor numba.
        player: `module:Class` that plays a trained policy, called with `(context, greedy)`; empty if there is none.
        evaluate: `module:callable` that measures a trained run, see `mccfr.playing.evaluation.evaluate`; empty if a
            player plays episodes instead.
        units: Its words for environments, steps and frames.
        figures: Its measures of success, most important first. The first one with a value is shown.
        metrics: The names of all metrics that its iterations may return, those of learner 0 for all learners; None if
            they are not known beforehand.
        transform: `module:callable` that makes the task that the session steps, see `pac.envs.task.transformed`; empty
            where the session steps the task itself.
        computes: Whether it uses PyTorch on a device.
        device_defaults: `module:callable` that returns the settings that follow from the device, see
            `ppo.device_defaults`; empty if none do.
    """

    name: str
    title: str
    trainer: str
    settings: str
    player: str = ""
    evaluate: str = ""
    units: Units = STEPPED
    figures: tuple[Figure, ...] = (RETURN,)
    metrics: tuple[str, ...] | None = None
    transform: str = ""
    computes: bool = True
    device_defaults: str = ""

    @property
    def settings_class(self) -> type[TrainerSettings]:
        """The class of the settings."""
        found: type[TrainerSettings] = _load(self, self.settings)
        return found


REPLAYED = ("sample_age", "learning_rate", "replay_filled", "replay_missing", "decisions", "updates")
"""The metrics of trainers with a replay."""
Q_LEARNING = (*REPLAYED, "loss", "value_mean", "grad_norm", "epsilon")
"""The metrics of trainers that learn the values of actions."""
BUILT_IN: Mapping[str, TrainerKind] = {
    kind.name: kind
    for kind in (
        TrainerKind(
            name="ppo",
            title="Proximal policy optimization, with action masks",
            trainer=".ppo.trainer:PPO",
            settings=".ppo.settings:PpoSettings",
            player=".ppo.evaluate:PpoPlayer",
            device_defaults=".ppo.device_defaults:device_defaults",
            metrics=(
                *("loss/policy", "loss/value", "loss/entropy", "approx_kl", "clip_fraction", "grad_norm"),
                *("explained_variance", "value_mean", "learning_rate", "entropy_coefficient", "clip", "reward_scale"),
                *("advantage_deviation", "return_deviation"),
                *("decisions", "updates", "policy_lag"),
                *("overlap/efficiency", "overlap/collector_idle", "overlap/learner_idle"),
            ),
        ),
        TrainerKind(
            name="dqn",
            title="Deep Q-learning from a replay, for tasks with discrete actions",
            trainer=".dqn.trainer:DQN",
            settings=".dqn.settings:DqnSettings",
            player=".dqn.evaluate:DqnPlayer",
            metrics=Q_LEARNING,
        ),
        TrainerKind(
            name="iqn",
            title="Implicit quantile networks: deep Q-learning of the distribution of the return",
            trainer=".dqn.trainer:IQN",
            settings=".dqn.settings:IqnSettings",
            player=".dqn.evaluate:IqnPlayer",
            metrics=Q_LEARNING,
        ),
        TrainerKind(
            name="sac",
            title="Soft actor-critic from a replay, for tasks with continuous actions",
            trainer=".sac.trainer:SAC",
            settings=".sac.settings:SacSettings",
            player=".sac.evaluate:SacPlayer",
            metrics=(*REPLAYED, "critic_loss", "actor_loss", "alpha", "entropy", "value_mean", "grad_norm"),
        ),
        TrainerKind(
            name="independent",
            title="Independent learners: a DQN or IQN agent per seat, each with its own replay and process",
            trainer=".independent.trainer:Independent",
            settings=".independent.settings:IndependentSettings",
            player=".independent.evaluate:IndependentPlayer",
            metrics=(*Q_LEARNING, "agent_return", "waiting_for_learners", "policy_lag", "policy_lag_versions"),
        ),
        TrainerKind(
            name="mccfr",
            title="Counterfactual regret minimization for poker games, sampled by several workers or exact",
            trainer=".mccfr.trainer:MCCFR",
            settings=".mccfr.settings:MccfrSettings",
            evaluate=".mccfr.playing.evaluation:evaluate",
            transform=".mccfr.task:traversals",
            computes=False,
            units=SOLVED,
            figures=(NASH_CONV, REGRET, UTILITY, INFORMATION_SETS),
            metrics=tuple(figure.name for figure in (NASH_CONV, REGRET, UTILITY, INFORMATION_SETS)),
        ),
        TrainerKind(
            name="random",
            title="Uniformly random legal actions; learns nothing",
            trainer=".random_policy:RandomPolicy",
            settings=".settings:TrainerSettings",
            metrics=("decisions",),
            computes=False,
        ),
    )
}


@cache
def _installed() -> dict[str, EntryPoint]:
    """The trainers of installed packages, by name; none is imported. None replaces a built-in one."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in BUILT_IN}


def trainer_names() -> tuple[str, ...]:
    """Return the names of all trainers, the built-in ones first; no package is imported."""
    return (*BUILT_IN, *_installed())


@cache
def trainer_kind(name: str) -> TrainerKind:
    """Return the algorithm `name`. This imports the package that offers it.

    Raises:
        UnknownName: There is no such trainer.
        BadParameter: Its package cannot be imported, or its entry point does not fit.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name not in _installed():
        raise UnknownName("trainer", name, trainer_names())
    with importing(f"the trainer {name} of an installed package"):
        kind = _installed()[name].load()
    if not NAME.fullmatch(name):
        raise BadParameter(f"the name of a trainer must be lower-case words joined by hyphens, got {name!r}")
    if not isinstance(kind, TrainerKind) or kind.name != name:
        found = brief(kind.name if isinstance(kind, TrainerKind) else kind)
        raise BadParameter(f"the entry point {name} of {ENTRY_POINTS} must be a TrainerKind called {name}, got {found}")
    return kind


def default_trainer(spec: str) -> str:
    """Return the trainer that a task recommends; that of Gymnasium environments follows from the id.

    Raises:
        BadParameter: A parameter of a named task is unknown or does not fit.
    """
    name = split_spec(spec)[0]
    return find(spec).trainer if name in families() else recommended_trainer(name)


def transformed_task(name: str, task: Task, settings: Mapping[str, Any]) -> Task:
    """Return the task that a session steps for the trainer `name`: `task` or a transformed one.

    Raises:
        BadParameter: The trainer cannot train on the task.
    """
    kind = trainer_kind(name)
    return transformed(task, (resolve_name(kind.transform, __package__), settings)) if kind.transform else task


def trainer_settings(name: str, task: Task, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective settings as plain data: the trainer's defaults, then the task's, then `overrides`.

    Raises:
        UnknownName: No such trainer, or a setting is unknown.
        BadParameter: A value does not fit.
    """
    kind = trainer_kind(name)
    merged = {**task.settings.get(name, {}), **overrides}
    return kind.settings_class.read(name, merged).model_dump(mode="json")


def device_settings(
    name: str, task: Task, settings: Mapping[str, Any], given: Iterable[str], place: TrainingPlace
) -> dict[str, Any]:
    """Return the settings of a trainer that the device decides, other than those in `settings`; loads the algorithm.

    Args:
        settings: All settings.
        given: The names of those that somebody has chosen.
        place: Where it will train.
    """
    kind = trainer_kind(name)
    if not kind.device_defaults:
        return {}
    found: dict[str, Any] = _load(kind, kind.device_defaults)(task, settings, frozenset(given), place)
    return found


def build_trainer(name: str, context: Context) -> Trainer:
    """Return the trainer `name` for `context`; loads the algorithm."""
    kind = trainer_kind(name)
    trainer: Trainer = _load(kind, kind.trainer)(context)
    return trainer


def build_player(name: str, context: Context, *, greedy: bool = True) -> Trainer:
    """Return a trainer that plays the policy of `name` without learning.

    Raises:
        UnknownName: The trainer is unknown, or has no policy.
    """
    kind = trainer_kind(name)
    if not kind.player:
        players = [known.name for known in BUILT_IN.values() if known.player]
        raise UnknownName("trainer with a policy to play", name, players)
    trainer: Trainer = _load(kind, kind.player)(context, greedy)
    return trainer


def evaluator(name: str) -> Any:
    """Return the function that measures runs of `name`; None if a player plays episodes instead."""
    kind = trainer_kind(name)
    return _load(kind, kind.evaluate) if kind.evaluate else None


def _load(kind: TrainerKind, path: str) -> Any:
    """Return what `module:attribute` names for a trainer.

    Raises:
        BadParameter: A package's module cannot be imported, or lacks the attribute.
    """
    if kind.name in BUILT_IN:
        return load(path, __package__)
    with importing(f"the trainer {kind.name} of an installed package"):
        return load(path)
