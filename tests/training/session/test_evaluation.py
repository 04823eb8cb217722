"""Evaluation beside a training."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest

from pac.envs import BadParameter, find
from pac.training import playing
from pac.training.config import Config
from pac.training.loading import load
from pac.training.past.rebuilding import rebuilt
from pac.training.playing import PlayedEpisode, evaluate_run, evaluation_metrics
from pac.training.random_policy import RandomPolicy
from pac.training.runs.checkpoint import best_of, load_newest, save
from pac.training.runs.folder import RunFolder
from pac.training.session.evaluation import Evaluator
from pac.training.session.training_setup import set_up
from pac.training.telemetry.events import EventLog
from pac.training.trainer import Context, Timer
from pac.training.trainers import build_trainer, trainer_settings

from ...waiting import until
from ..watched import run_here

PPO = {"batch": 128, "minibatch": 64, "epochs": 1, "channels": 8, "hidden": 16, "threads": 1}
COMMON: dict[str, Any] = {"task": "drmario", "num_envs": 4, "backend": "inline", "device": "cpu", "steps": 512}


def test_figures_are_shares_and_an_interval_over_episodes():
    """Success is a good outcome, stages are reached in order, and seats of an episode are one sample."""
    task = find("frames")
    episodes = [
        PlayedEpisode(0, 0, (3.0, 5.0), 20, 1, {"stage": 2.0}),
        PlayedEpisode(1, 0, (2.0, 2.0), 40, 1, {"stage": 2.0}),
        PlayedEpisode(2, 0, (0.0, 0.0), 60, 2, {"stage": 1.0}),
    ]
    found = evaluation_metrics(task, episodes)
    assert (found["return"], found["steps_to_success"], found["length"]) == (2, 30, 40)
    assert found["return_high"] - found["return"] == pytest.approx(1.96 * 2 / 3**0.5)
    shares = {name: found[name] for name in ("success", "outcome/out of time", "stage/1", "stage/2")}
    assert shares == pytest.approx({"success": 2 / 3, "outcome/out of time": 1 / 3, "stage/1": 1, "stage/2": 2 / 3})


def test_figures_that_are_unknown_are_missing():
    """One episode has no interval, and an episode that failed has no steps to success."""
    bare = replace(find("frames"), outcomes=(), info=())
    found = evaluation_metrics(bare, [PlayedEpisode(0, 0, (1.0,), 9, 0, {"is_success": 0.0})])
    assert found == {"return": 1, "length": 9, "success": 0}


LEARNS = {"learning_starts": 64, "batch": 16, "hidden": 16, "threads": 1}
TRAININGS: dict[str, dict[str, Any]] = {
    "ppo": {"settings": PPO},
    "overlap": {"settings": PPO | {"overlap": True}},
    "dqn": {"task": "CartPole-v1", "trainer": "dqn", "settings": LEARNS},
    "sac": {"task": "Pendulum-v1", "trainer": "sac", "settings": LEARNS},
    "independent": {"task": "staghunt", "trainer": "independent", "settings": LEARNS | {"processes": False}},
}


@pytest.mark.session
@pytest.mark.parametrize("kind", TRAININGS)
def test_a_training_is_the_same_with_and_without_evaluation(tmp_path, kind):
    """Weights and optimizer are equal bit for bit; the results are curves, in run.json, in the report,
    and those of `pac-tui eval`. The best checkpoint is that of the policy with the best results.
    """
    common = COMMON | TRAININGS[kind]
    plain, _ = run_here(tmp_path, name="without", **common)
    report, _ = run_here(tmp_path, name="with", eval_every=1, eval_episodes=3, keep="best", **common)
    runs = [RunFolder.find(tmp_path, name) for name in ("without", "with")]
    without, evaluated = (load_newest(run.checkpoints).tensors for run in runs)
    assert without.keys() == evaluated.keys()
    assert all(np.array_equal(without[name], evaluated[name]) for name in without)
    found = report["evaluation"]
    assert runs[1].metadata()["evaluation"] == found
    assert found["iteration"] > 0
    assert 0 <= found.get("outcome/topped out", -1) <= 1 or common["task"] != "drmario"
    assert runs[1].metrics()[-1]["eval/return"] == found["return"]
    assert "evaluation" not in plain
    if kind != "overlap":  # which learns once more after the last evaluation
        later = evaluate_run(load({}, resume="with", runs_dir=tmp_path, learn=False).config, episodes=3).report
        assert later["evaluation"] == {name: value for name, value in found.items() if name != "iteration"}
        best = best_of(runs[1].checkpoints)
        assert best is not None
        assert best[1].value >= max(row.get("eval/return", -math.inf) for row in runs[1].metrics())
        chosen = load({"checkpoint": "best"}, resume="with", runs_dir=tmp_path, learn=False).config
        assert evaluate_run(chosen, episodes=3).report["evaluation"]["return"] == best[1].value


class ShortOrLong(gymnasium.Env[Any, Any]):
    """Episodes of 1 or 100 steps, with reward 1 per step; the seed decides."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._left = 100 if self.np_random.random() < 0.5 else 1
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        del action
        self._left -= 1
        return np.zeros(1, np.float32), 1.0, not self._left, False, {}


@pytest.mark.parametrize("episodes", [5, 20])
def test_short_episodes_are_not_preferred(monkeypatch, episodes):
    """A fixed set of episodes is played, several per environment, whatever their lengths; each can be replayed."""
    monkeypatch.setattr(playing, "ENVIRONMENTS", 8)
    task = find(f"{__name__}:ShortOrLong")
    settings = trainer_settings("ppo", task, PPO)
    state = build_trainer("ppo", Context(task, settings, "cpu", 0, Timer())).policy_state()
    played = playing.play_episodes("ppo", task, settings, state, episodes=episodes, seed=3, keep=True)
    assert [(one.number, one.env) for one in sorted(played, key=lambda one: (one.number, one.env))] == [
        divmod(number, 8) for number in range(episodes)
    ]
    env = ShortOrLong()
    for one in played:
        env.reset(seed=playing.reset_seed(task, 3, one))
        assert one.length == one.returns[0] == env._left
        assert one.steps is not None
        assert rebuilt(task, 3, one.env, one.steps, "").length == one.length


@pytest.mark.session
def test_a_training_continues_if_the_evaluation_is_killed(tmp_path):
    """An event says so, once, and the last results stay; the timeline shows when evaluations ran."""
    task, events = find("drmario"), EventLog()
    settings = trainer_settings("ppo", task, PPO)
    trainer = build_trainer("ppo", Context(task, settings, "cpu", 0, Timer()))
    config = Config(task="drmario", trainer="ppo", settings=PPO, eval_every=1, eval_episodes=2)
    lanes: dict[str, Any] = {}
    evaluator = Evaluator(set_up(config), tmp_path, events, lanes.__setitem__)
    iterations = count(1)

    def metrics():
        evaluator.end_iteration(next(iterations), trainer)
        return evaluator.collect()

    until(metrics)
    assert evaluator._process is not None
    evaluator._process.process.kill()
    until(lambda: metrics() and events.count)
    assert metrics()["eval/iteration"] >= 1
    assert events.count == 1
    assert "(killed by SIGKILL): no message" in next(iter(events.reported))
    assert {"idle", "evaluating"} == {lap.phase for lap in lanes["evaluation"]()}
    evaluator.close()


@pytest.mark.session
def test_a_policy_that_does_not_fit_is_skipped(tmp_path):
    """The report says why, and has the metrics of the newest checkpoint that fits."""
    run_here(tmp_path, name="run", **COMMON | {"task": "noop", "num_envs": 2, "settings": PPO})
    run = RunFolder.find(tmp_path, "run")
    good = load_newest(run.checkpoints)
    cut = {name: value[..., :1] if name.startswith("policy.") else value for name, value in good.tensors.items()}
    save(run.checkpoints, good.step + 1, cut, good.data)
    report = evaluate_run(load({"resume": "run", "runs_dir": tmp_path}, environ={}).config, episodes=1).report
    assert report["steps"] == good.step
    assert "in the checkpoint" in report["skipped"][0]


class Bare(RandomPolicy):
    """A trainer whose policy is one number."""

    def __init__(self) -> None:
        pass

    def policy_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"number": np.zeros(1)}, {}


def test_a_policy_that_cannot_be_written_is_not_evaluated(tmp_path):
    """An event says which iteration and why, as with a full runtime directory, and the training continues."""
    events = EventLog()
    config = Config(task="noop", trainer="ppo", eval_every=1, eval_episodes=2)
    evaluator = Evaluator(set_up(config), tmp_path / "missing", events)
    evaluator.end_iteration(3, Bare())
    ((*_, text),) = events.recent
    assert text.startswith(f"iteration 3 is not evaluated: cannot write {tmp_path / 'missing'}")
    assert evaluator.finish(lambda _: True) == {}
    evaluator.close()


def test_a_trainer_without_a_policy_is_refused(tmp_path):
    """The error names trainers that have one."""
    with pytest.raises(BadParameter, match="the trainer random has none; use one of ppo, dqn"):
        run_here(tmp_path, task="noop", trainer="random", eval_every=1)


@pytest.mark.session
def test_what_an_environment_prints_and_leaves_behind_does_not_disturb_the_training(tmp_path):
    """Its process has its own descriptors, and ends with all that the environment has started."""
    task = f"tests.training.unruly:Unruly:how=unruly,path={tmp_path / 'made'}"
    common = COMMON | {"task": task, "num_envs": 1, "settings": PPO, "trainer": "ppo"}
    report, _ = run_here(tmp_path, name="run", eval_every=2, eval_episodes=1, **common)
    assert report["evaluation"]["return"] == 10
    left = list(map(int, (tmp_path / "made.pid").read_text().split()))
    until(lambda: not [pid for pid in left if psutil.pid_exists(pid)], "the end of all that was started")
