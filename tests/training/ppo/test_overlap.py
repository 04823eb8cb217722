"""Collecting while learning: the same weights as a program with one thread and the same delay."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
import torch

from pac.envs import Task, find
from pac.training.ppo.learning import Rollout
from pac.training.ppo.overlap import Sequential, ThreadSignal
from pac.training.ppo.trainer import PPO
from pac.training.ppo.update import NonFiniteRollout
from pac.training.trainer import Interrupted, Metrics

from ...waiting import until
from ..alone import context, equal, started
from ..corridor import corridor

SMALL = {"batch": 64, "minibatch": 32, "epochs": 2, "hidden": 16, "channels": 8, "threads": 2, "overlap": True}
BACKENDS = [
    *(
        ("inline", "kuhn"),
        ("threads", "treasure"),
        ("shm", "CartPole-v1"),
        ("device", "treasure"),
        ("apart", "drmario"),
    ),
    *(("http", "autochess"), ("socket", "staghunt")),
]


class SequentialPPO(PPO):
    """The reference: it learns in the thread that collects, after a rollout with the weights from before."""

    runs_updates = Sequential


def training(
    kind: type[PPO], task: Task, num_envs: int = 8, iterations: int = 0, backend: str = "inline", **options: Any
) -> AbstractContextManager[Any]:
    if backend == "apart":  # memory that the host reads and writes as that of a GPU
        backend, options = "device", options | {"envs_device": "apart"}
    return started(kind, context(task, 3, backend=backend, **(SMALL | options)), num_envs, iterations)


def weights(trainer: PPO) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trainer.learner.policy.state_dict().items()}


def untimed(metrics: Metrics) -> Metrics:
    return {name: value for name, value in metrics.items() if not name.startswith("overlap/")}


def trained(kind: type[PPO], task: Task, iterations: int, **options: Any) -> tuple[list[Metrics], Any]:
    """The figures of each iteration, and the weights after the last."""
    with training(kind, task, **options) as trainer:
        return [untimed(trainer.iterate()) for _ in range(iterations)], weights(trainer)


@pytest.mark.session
@pytest.mark.parametrize(("backend", "spec"), BACKENDS)
def test_what_is_learned_equals_the_sequential_reference(backend: str, spec: str) -> None:
    """Weights and figures of every iteration, bit for bit, also where the reference's environments are inline."""
    (metrics, found), (wanted_metrics, wanted) = (
        trained(kind, find(spec), 8, backend=where) for kind, where in ((PPO, backend), (SequentialPPO, "inline"))
    )
    assert equal(found, wanted)
    assert metrics == wanted_metrics


@pytest.mark.gpu
def test_environments_on_a_gpu_do_not_change_the_weights() -> None:
    """Those of a policy on a GPU, which learns in a thread beside the launches of steps."""
    found, wanted = (
        trained(kind, find("treasure"), 6, backend="device", device="cuda", envs_device="cuda")
        for kind in (PPO, SequentialPPO)
    )
    assert equal(found[1], wanted[1])


class Delayed(ThreadSignal):
    """A signal that is given and noticed late, by random times."""

    random = random.Random(7)

    def record(self) -> None:
        time.sleep(self.random.random() / 100)
        super().record()

    def wait(self) -> None:
        time.sleep(self.random.random() / 100)
        super().wait()
        time.sleep(self.random.random() / 100)


@pytest.mark.session
def test_delays_between_the_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread waits for the other wherever it uses what the other has written."""
    wanted = trained(SequentialPPO, corridor(), 6)
    monkeypatch.setattr("pac.training.ppo.overlap.ThreadSignal", Delayed)
    found = trained(PPO, corridor(), 6)
    assert equal(found[1], wanted[1])
    assert found[0] == wanted[0]


@pytest.mark.thorough
def test_a_rollout_has_the_version_of_the_policy_that_collected_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy after so many updates gives the log-probabilities of the rollout; one update comes between."""
    learned = 0
    with training(PPO, corridor(), threads=1) as trainer:
        learn: Callable[[Rollout], Metrics] = trainer.learner.learn
        versions = [weights(trainer)]
        again = deepcopy(trainer.policy)

        def checked(rollout: Rollout) -> Metrics:
            nonlocal learned
            data = rollout.storage.data()
            again.load_state_dict(versions[rollout.version])
            outputs = again(data.observations, data.masks)[0]
            logprobs = again.distribution.likelihood(outputs, data.actions).log_probability
            torch.testing.assert_close(logprobs, data.logprobs)
            assert rollout.version == max(0, trainer.learner.updates - 1)
            metrics = learn(rollout)
            versions.append(weights(trainer))
            learned += 1
            return metrics

        monkeypatch.setattr(trainer._updates, "_learn", checked)
        for _ in range(5):
            trainer.iterate()
    assert learned == 4


def test_an_error_of_the_update_is_raised_when_the_next_rollout_is_complete() -> None:
    """The training thread raises it, and what was learned before can be saved."""
    with training(PPO, corridor(), iterations=1) as trainer:
        trainer._storages[0].buffer.host["reward"][1, 0] = torch.nan
        with pytest.raises(NonFiniteRollout, match="a reward is NaN"):
            trainer.iterate()
        assert trainer.state()[1]["updates"] == 0
        assert trainer._updates is not None
        assert trainer._updates.result() == {}  # it is raised once


class Before:
    """Environments with a function that is called before each step."""

    def __init__(self, envs: Any, function: Callable[[], object]) -> None:
        self.envs, self.function = envs, function

    def __getattr__(self, name: str) -> Any:
        return getattr(self.envs, name)

    def advance(self, slot: int) -> None:
        self.function()
        self.envs.advance(slot)


def test_the_next_rollout_begins_after_the_update() -> None:
    """However long the update takes: it ends after the last step of the rollout beside it, and before the next one."""
    noticed: list[tuple[int, bool]] = []
    wholes = count(16, 8)
    with training(PPO, corridor()) as trainer:
        updates: Any = trainer._updates
        learn: Callable[[Rollout], Metrics] = trainer.learner.learn

        def slow(rollout: Rollout) -> Metrics:
            whole = next(wholes)
            until(lambda: len(noticed) == whole, "the last step of the rollout beside it")
            return learn(rollout)

        trainer._envs = Before(trainer._envs, lambda: noticed.append((trainer.learner.updates, updates.is_running)))
        updates._learn = slow
        for _ in range(3):
            trainer.iterate()
        updates._learn = learn
    assert noticed == [(0, False)] * 8 + [(0, True)] * 8 + [(1, True)] * 8


def interrupt() -> None:
    raise Interrupted


def test_the_lag_is_that_of_the_weights_that_acted() -> None:
    """The first iteration has nothing to learn from; also where an update is over before the rollout beside it."""
    with training(PPO, corridor()) as trainer:
        updates: Any = trainer._updates
        trainer._envs = Before(trainer._envs, updates.wait)
        assert trainer.iterate() == {}
        found = [trainer.iterate() for _ in range(3)]
    assert [(each["updates"], each["policy_lag"]) for each in found] == [(1, 0), (2, 1), (3, 1)]


def test_another_number_of_environments_after_a_rollout_loses_none() -> None:
    """The complete rollout is learned from before its buffer is released."""
    with training(PPO, corridor(), iterations=1) as trainer:
        trainer.owner.open(5)
        assert (trainer.learner.updates, trainer.steps, trainer.decisions) == (1, 8, 64)


def test_a_pause_is_a_gap_in_the_lane_of_the_training_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It collects before and after the pause, which has no phase."""
    monkeypatch.setattr("pac.training.ppo.overlap.PAUSE", 0.0)
    with training(PPO, corridor()) as trainer:
        timer = trainer._context.timer
        timer.skipped.clear()
        trainer._envs = Before(trainer._envs, timer.skip)
        trainer.iterate()
        (pause, *_), laps = timer.skipped, trainer._times.training_laps()
    before, after = (next(lap for lap in laps if at in lap[1:]) for at in pause[1:])
    assert (before.phase, before.end, after.phase, after.begin) == ("collecting", pause.begin, "collecting", pause.end)


@pytest.mark.thorough
def test_an_interrupted_rollout_is_lost_and_the_update_beside_it_is_not() -> None:
    """The next iteration collects again with the same weights, and returns the figures of that update."""
    with training(PPO, corridor()) as trainer, training(PPO, corridor()) as other:
        for each in (trainer, other):
            each.iterate()
            each.iterate()
        trainer._envs = Before(trainer._envs, interrupt)
        with pytest.raises(Interrupted):
            trainer.iterate()
        assert (trainer.learner.updates, trainer.steps) == (2, 16)
        trainer.owner.open(5)
        wanted = other.iterate()
        assert untimed(trainer.iterate()) == untimed(wanted)
        assert equal(weights(trainer), weights(other))


@pytest.mark.session
@pytest.mark.parametrize("at", [1, 8, 9])
def test_a_worker_lost_around_the_hand_over_changes_no_running_update(at: int) -> None:
    """The half that is learned from stays as it was; the lost rows decide nothing until they are back."""
    task, steps, batch = find("staghunt"), 8, 256
    wanted, _ = trained(SequentialPPO, task, 4, batch=batch)
    with training(PPO, task, backend="shm", batch=batch, iterations=1) as trainer:
        trainer.iterate()
        envs: Any = trainer._envs
        step = count(1)

        def kill() -> None:
            if next(step) == at:
                os.kill(envs.workers[1].pid, signal.SIGKILL)

        trainer._envs = Before(envs, kill)
        assert [each.steps for each in trainer._storages] == [steps, steps]
        assert untimed(trainer.iterate()) == wanted[2]
        fourth = untimed(trainer.iterate())
        if at <= steps:
            assert fourth["decisions"] < wanted[3]["decisions"]
        else:
            assert fourth == wanted[3]
        iterations, texts = 4, [event.text for event in envs.drain_events()]
        while not any("is back" in text for text in texts):
            trainer.iterate()
            iterations += 1
            texts += [event.text for event in envs.drain_events()]
        assert trainer.iterate()["updates"] == iterations
        assert all(bool(value.isfinite().all()) for value in weights(trainer).values())
        trainer._envs = envs


@pytest.mark.session
def test_a_resumed_training_equals_the_uninterrupted_one() -> None:
    """A checkpoint changes nothing; from it and the environments' states follow the same figures and weights."""
    task = find("drmario")
    metrics, wanted = trained(PPO, task, 4)
    with training(PPO, task) as first, training(PPO, task) as second:
        first.iterate()
        first.iterate()
        envs: Any = first._envs
        assert envs.save(envs.order.newest)
        tensors, data = first.state()
        second.load_state(tensors, json.loads(json.dumps(data)))
        assert second._envs.restore(envs.buffer["state"][0].copy())
        for trainer in (first, second):
            assert [untimed(trainer.iterate()) for _ in range(2)] == metrics[2:]
            assert equal(weights(trainer), wanted)


def test_the_end_of_a_training_learns_from_the_last_rollout() -> None:
    """So no step is collected in vain, and the last figures are those of that update; no thread is left."""
    with training(PPO, corridor(), iterations=1) as trainer:
        assert trainer.state()[1]["decisions"] == 64
        assert any(thread.name == "learner" for thread in threading.enumerate())
        assert trainer.finish()["updates"] == 1
    assert not any(thread.name == "learner" for thread in threading.enumerate())
