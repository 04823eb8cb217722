"""`python -m tests.benchmarks learning`: trainings with several seeds, and what their policies reach."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pac.envs import BadParameter, find
from pac.training.bench.facts import Results
from pac.training.config import Config
from pac.training.lone_training import LoneTraining, maker
from pac.training.trainer import Context, Timer
from pac.training.trainers import build_trainer, trainer_settings

from .cleanrl_ppo import train_cleanrl_ppo
from .learning import CLEANRL, OURS, SB3, greedy_returns, learning, summary, train_ours
from .learning_checks import EPISODES, Checks

EXAMPLES = Path(__file__).parents[2] / "docs" / "learning"
FEW: dict[str, Any] = {"batch": 16, "minibatch": 16, "epochs": 1, "threads": 1}


@pytest.mark.session
def test_each_seed_is_a_training_of_its_own():
    """Two seeds have different curves; the second is that of a training with its seed."""
    config = Config(task="CartPole-v1", steps=32, seed=4, num_envs=2, settings=FEW)
    runs = learning(config, seeds=2, progress=lambda _what, _share: None)["sides"][OURS]["runs"]
    curves = [[(point["decisions"], point["mean"]) for point in run["points"]] for run in runs]
    again: list[Results] = []
    train_ours(config.model_copy(update={"seed": 5}), Checks(32, 32 / 20), again.append)
    assert [run["seed"] for run in runs] == [4, 5]
    assert curves[1] == [(point["decisions"], point["mean"]) for point in again] != curves[0]
    assert [decisions for decisions, _ in curves[0]] == [16, 32]


def test_episodes_are_played_at_equal_intervals():
    """The last time is the end of the training; a large batch skips some."""
    checks = Checks(steps=1000, every=300)
    assert [checks.next(decisions) for decisions in (0, 299, 300, 750, 901, 1000)] == [300, 300, 600, 900, 1000, 1000]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trainer", "other", "ends"), [("dqn", SB3, 256), ("dqn", CLEANRL, 200), ("independent", CLEANRL, 200)]
)
def test_dqn_of_others_trains_alternately(trainer, other, ends):
    """With the settings of RL Zoo, or both with those of CleanRL; trainings end at the goal.

    Independent learners are in processes of their own, without a session.
    """
    pytest.importorskip("stable_baselines3")
    settings = {"learning_starts": 100} if other == CLEANRL else {}
    config = Config(task="CartPole-v1", trainer=trainer, steps=400, settings=settings)
    flags = {"sb3": other == SB3, "cleanrl": other == CLEANRL}
    found = learning(config, seeds=1, goal=1, every=200, stop=True, **flags, progress=lambda _what, _share: None)
    assert list(found["sides"]) == [OURS, other]
    assert [found["sides"][side]["decisions"] for side in (OURS, other)] == [512, ends]


@pytest.mark.session
def test_a_ppo_written_as_cleanrls_learns():
    """Its mean return rises within a few updates; the clock stops while it plays."""
    points: list[Results] = []
    train_cleanrl_ppo(Config(task="CartPole-v1", seed=1), Checks(4096, 2048), points.append)
    assert [point["decisions"] for point in points] == [2048, 4096]
    assert points[-1]["mean"] > 60
    assert points[1]["seconds"] > points[0]["seconds"] > 0


@pytest.mark.parametrize(
    ("trainer", "flags", "what"),
    [
        ("iqn", {"sb3": True}, "ppo on CartPole-v1, dqn on CartPole-v1, sac on"),
        ("iqn", {"cleanrl": True}, "--cleanrl trains dqn and independent and ppo, got iqn"),
        ("dqn", {"cleanrl": True, "sb3": True}, "omit --sb3"),
        ("ppo", {}, "set --steps"),
    ],
)
def test_what_cannot_be_measured_is_refused(trainer, flags, what):
    """A peer that does not train this, with what it trains; and a training that would not end."""
    config = Config(task="CartPole-v1", trainer=trainer, steps=400 if flags else None)
    with pytest.raises(BadParameter, match=what):
        learning(config, seeds=1, **flags, progress=lambda _what, _share: None)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "chosen"), [("ppo", FEW), ("dqn", {})])
def test_greedy_returns_are_those_of_first_episodes(name, chosen):
    """Each environment counts once, however many episodes it plays meanwhile."""
    task = find("noop:length=3")
    settings = trainer_settings(name, task, chosen)
    trainer = build_trainer(name, Context(task, settings, "cpu", 0, Timer()))
    with closing(LoneTraining(trainer, maker(task))) as training:
        training.open(2)
        returns = greedy_returns(name, task, settings, trainer)
    assert len(returns) == EPISODES


def test_a_goal_is_reached_when_most_seeds_have_reached_it():
    """The median counts seeds that never did as later than all others."""
    curves = [(3, 9), (9, 9), (3, 5)]

    def point(at: int, mean: int) -> dict[str, int]:
        return {"decisions": 10 * at, "seconds": at, "cpu_seconds": at, "mean": mean}

    runs = [{"points": [point(at, mean) for at, mean in enumerate(curve, 1)]} for curve in curves]
    assert summary(runs, goal=9)["decisions"] == 20
    assert summary(runs, goal=10)["decisions"] is None
    assert summary(runs, goal=None)["final"]["median"] == 9


def test_a_tracking_paddle_catches_every_ball(monkeypatch):
    """The game of docs/learning.md can be played perfectly."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from catching import BALL, BALLS, PADDLE, Catching  # type: ignore[import-not-found]

    game, caught = Catching(), 0.0
    for seed in range(5):
        game.reset(seed=seed)
        ended = False
        while not ended:
            aside = game.x + BALL // 2 - game.paddle - PADDLE // 2
            _, reward, _, ended, _ = game.step(1 + (aside > 1) - (aside < -1))
            caught += reward
    assert caught == 5 * BALLS


@pytest.mark.thorough
def test_the_catching_game_conforms(monkeypatch):
    """It is an environment like any other, of the kind `image`."""
    from pac.envs import check

    monkeypatch.syspath_prepend(str(EXAMPLES))
    task = find("catching:Catching")
    check(task)
    assert task.settings_for["ppo"] == "image observations"
