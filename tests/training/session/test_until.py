"""The condition that ends a training: which metrics its names stand for, and when it holds."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pac.envs import BadParameter, UnknownName, find
from pac.envs.unknown import UNKNOWN
from pac.training.config import Config
from pac.training.dqn.trainer import DQN
from pac.training.ppo.trainer import PPO
from pac.training.sac.trainer import SAC
from pac.training.session.until import Until
from pac.training.trainers import trainer_kind

from ..alone import context, started

TASK = find("drmario")


def until(text, trainer="ppo", **options):
    found = Until.of(Config(until=text, eval_every=1, **options), trainer_kind(trainer), TASK)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "trainer", "metric"),
    [
        ("return", "ppo", "return_mean"),
        ("Return", "ppo", "return_mean"),
        ("eval", "ppo", "eval/return"),
        ("success", "ppo", "eval/success"),
        ("policy", "ppo", "loss/policy"),
        ("loss", "dqn", "loss"),
        ("learner1/loss", "independent", "learner1/loss"),
        ("nashconv", "mccfr", "nash_conv"),
        ("seconds", "mccfr", "seconds"),
    ],
)
def test_names_are_those_of_curves_or_short(name, trainer, metric):
    """A name may be the title on the screen or the last part of the only curve that ends with it."""
    assert until(f"{name} > 3", trainer).metrics == {name: metric}


def test_an_unknown_name_is_an_error_with_the_nearest_ones():
    """Only a trainer that does not declare its metrics may have any."""
    with pytest.raises(UnknownName, match=r"unknown name in --until 'retrun'. Did you mean return"):
        until("retrun > 3")
    kind = replace(trainer_kind("ppo"), metrics=None)
    assert Until.of(Config(until="mine > 3"), kind, TASK) is not None
    with pytest.raises(BadParameter, match=r"--until 'eval > 3' is about eval, so it needs --eval-every"):
        Until.of(Config(until="eval > 3"), kind, TASK)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("loss/value < 1", True),
        ("loss/value > 1", False),
        ("loss/policy < 1", False),
        ("eval < 1 or steps > 5", True),
        ("not eval < 1", False),
        ("nan(loss/policy)", True),
        ("nan(eval)", False),
    ],
)
def test_a_metric_without_a_value_fulfils_nothing(text, holds):
    """A comparison with NaN is false, and a metric that has no value might be anything."""
    row = {"loss/value": 0.5, "loss/policy": math.nan, "steps": 10, "eval/return": UNKNOWN}
    found = until(text)
    assert found.holds(row, 200) == holds
    assert found.missing == (["eval"] if "eval" in text else [])


def test_one_lucky_episode_ends_nothing():
    """Means over the last 100 episodes count once 100 have ended."""
    found = until("return > 3")
    assert [found.holds({"return_mean": 9.0}, episodes) for episodes in (1, 99, 100)] == [False, False, True]
    assert found.text({"return_mean": 9.0}).endswith("(return 9)")


@pytest.mark.parametrize(("kind", "name"), [(PPO, "ppo"), (DQN, "dqn"), (SAC, "sac")])
def test_the_metrics_of_a_trainer_are_declared(kind, name):
    """Else a condition over one of them would be refused."""
    settings: Any = {"normalize_reward": True, "channels": 4} if name == "ppo" else {"learning_starts": 16, "batch": 8}
    task = find("Pendulum-v1") if name == "sac" else TASK
    with started(kind, context(task, trainer=name, hidden=8, **settings), 2) as trainer:
        metrics = trainer.iterate() | trainer.iterate()
    declared = set(trainer_kind(name).metrics or ())
    assert set(metrics) <= declared
    assert np.isfinite(list(metrics.values())).any()
