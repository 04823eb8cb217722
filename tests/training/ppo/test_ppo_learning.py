"""PPO learns real tasks: minutes on one core, so not in the quick part."""

from __future__ import annotations

import numpy as np
import pytest

from pac.backends import make
from pac.envs import find
from pac.envs.fields import Array
from pac.training.ppo.trainer import PPO
from pac.training.random_policy import RandomPolicy
from pac.training.trainer import Context, Envs, Timer, Trainer
from pac.training.trainers import trainer_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def ended_episodes(trainer_class: type[Trainer], spec: str, field: str, decisions: int, **overrides: object) -> Array:
    """Return `field` at the end of every episode, in their order."""
    found: Array = fields_at_ends(trainer_class, spec, (field,), decisions, **overrides)[:, 0]
    return found


def fields_at_ends(
    trainer_class: type[Trainer], spec: str, fields: tuple[str, ...], decisions: int, **overrides: object
) -> Array:
    """Return `fields` at the end of every episode, in their order, `(episodes, fields)`."""
    task = find(spec)
    made: list[Envs] = []

    def envs(num_envs: int, slots: int) -> Envs:
        made.append(make(task, num_envs, "inline", slots=slots, seed=0))
        return made[-1]

    name = "ppo" if trainer_class is PPO else "random"
    settings = trainer_settings(name, task, overrides)
    trainer = trainer_class(Context(task, envs, settings, "cpu", 0, Timer()))  # type: ignore[call-arg]
    trainer.start(16)
    found: list[Array] = []
    done = 0.0
    while done < decisions:
        done = trainer.iterate()["decisions"]
        buffer = made[-1].buffer
        ended = ((buffer["terminated"] | buffer["truncated"]) > 0)[1:]
        found.append(np.stack([buffer[field][1:][ended] for field in fields], axis=1))
    trainer.close()
    return np.concatenate(found)


def test_learns_cartpole_through_the_adapter() -> None:
    """Anybody's environment: from 20 steps an episode to more than 200."""
    lengths = ended_episodes(PPO, "CartPole-v1", "episode_length", 60_000)
    assert lengths[:50].mean() < 60
    assert lengths[-20:].mean() > 200


def test_matches_goal_pictures() -> None:
    """From packed pixels: from no goal picture to the first of two in nearly all episodes."""
    stages = ended_episodes(PPO, "frames", "stage", 40_000)
    assert stages[:50].mean() < 0.3
    assert stages[-50:].mean() > 0.8


def test_swings_a_pendulum_up() -> None:
    """A continuous action: from hanging about, worth -1,000 and less, to upright most of the time."""
    returns = ended_episodes(PPO, "Pendulum-v1", "episode_return", 150_000)
    assert returns[:50].mean() < -900
    assert returns[-50:].mean() > -500


def test_drives_a_car_up_a_mountain() -> None:
    """From never reaching the flag, as with random actions, to reaching it in most episodes."""
    lengths = ended_episodes(PPO, "MountainCar-v0", "episode_length", 40_000)
    assert lengths[:16].min() == 200
    assert lengths[-20:].mean() < 170


def test_learns_the_bottle_game() -> None:
    """Three times the viruses of random legal play, with a wide margin, within 90,000 decisions."""
    random = ended_episodes(RandomPolicy, "drmario", "cleared", 90_000)
    learned = ended_episodes(PPO, "drmario", "cleared", 90_000)
    assert learned[-100:].mean() > 4 * random.mean()


def share_of_stags(spec: str) -> float:
    """Return which share of what trained agents catch are stags, and check that they catch something."""
    stags, hares = fields_at_ends(PPO, spec, ("stags", "hares"), 200_000)[-200:].sum(axis=0)
    assert stags + hares > 200
    return float(stags / (stags + hares))


def test_the_risk_of_hunting_alone_decides_what_is_hunted() -> None:
    """The stag hunt has two equilibria; without risk agents learn to hunt stags together, with risk to hunt hares."""
    assert share_of_stags("staghunt") >= 0.8
    assert share_of_stags("staghunt:hare=3,risk=3") <= 0.2
