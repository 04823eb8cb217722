"""PPO learns real tasks: minutes on one core, so not in the quick part."""

from typing import Any

import numpy as np
import pytest

from pac.envs import find
from pac.envs.fields import Array
from pac.training.ppo.trainer import PPO
from pac.training.random_policy import RandomPolicy
from pac.training.trainer import Trainer

from ..alone import context, started

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def at_ends(trainer_class: type[Trainer], spec: str, decisions: int, *fields: str, **settings: Any) -> Array:
    """Return `fields` at the end of every episode, in their order, `(fields, episodes)`."""
    given: Any = context(find(spec), trainer="ppo" if trainer_class is PPO else "random", **settings)
    found: list[Array] = []
    with started(trainer_class, given, 16) as trainer:
        buffer, done = trainer.owner.envs.buffer, 0.0
        while done < decisions:
            done = trainer.iterate()["decisions"]
            ended = ((buffer["terminated"] | buffer["truncated"]) > 0)[1:]
            found.append(np.stack([buffer[field][1:][ended] for field in fields]))
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("spec", "field", "decisions", "first", "last"),
    [
        ("CartPole-v1", "episode_length", 60_000, 60, 200),
        ("frames", "stage", 40_000, 0.3, 0.8),
        ("Pendulum-v1", "episode_return", 150_000, -900, -500),
        ("MountainCar-v0", "episode_return", 40_000, -199, -170),
    ],
)
def test_it_learns(spec: str, field: str, decisions: int, first: float, last: float, *, precision: str) -> None:
    """Anybody's environment, packed pixels, a continuous action, and a goal that random actions never reach."""
    (found,) = at_ends(PPO, spec, decisions, field, precision=precision)
    assert found[:16].mean() < first
    assert found[-20:].mean() > last


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_learns_the_bottle_game(precision: str) -> None:
    """Three times the viruses of random legal play within 90,000 decisions."""
    (random,) = at_ends(RandomPolicy, "drmario", 90_000, "cleared")
    (learned,) = at_ends(PPO, "drmario", 90_000, "cleared", precision=precision)
    assert learned[-100:].mean() > 3 * random.mean()


def share_of_stags(spec: str) -> float:
    """Return which share of what trained agents catch are stags, and check that they catch something."""
    stags, hares = at_ends(PPO, spec, 200_000, "stags", "hares")[:, -200:].sum(axis=1)
    assert stags + hares > 200
    return float(stags / (stags + hares))


def test_the_risk_of_hunting_alone_decides_what_is_hunted() -> None:
    """The stag hunt has two equilibria; without risk agents learn to hunt stags together, with risk to hunt hares."""
    assert share_of_stags("staghunt") >= 0.8
    assert share_of_stags("staghunt:hare=3,risk=3") <= 0.2
