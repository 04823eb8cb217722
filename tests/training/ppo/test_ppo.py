"""PPO as a trainer: it learns, resumes, resizes and repeats itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs import Task
from pac.envs.fields import OUT
from pac.training.nets.weights import WrongCheckpoint
from pac.training.ppo.evaluate import PpoPlayer
from pac.training.ppo.trainer import PPO
from pac.training.ppo.update import NonFiniteRollout
from pac.training.trainer import Interrupted, NonFiniteWeights

from ..alone import context, equal, started, weights
from ..corridor import CELLS, corridor


def training(task: Task, num_envs: int = 8, **options: Any) -> AbstractContextManager[PPO]:
    return started(PPO, context(task, **options), num_envs)


def buffer_of(trainer: PPO) -> Any:
    return trainer._context.make_envs.made[-1].buffer  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def trained() -> tuple[dict[str, torch.Tensor], dict[str, Any], Any]:
    """The state after 2,300 decisions in the corridor, and the lengths of the last rollout's episodes."""
    with training(corridor()) as trainer:
        for _ in range(18):
            trainer.iterate()
        buffer = buffer_of(trainer)
        ended = (buffer["terminated"] | buffer["truncated"]) > 0
        return *trainer.state(), buffer["episode_length"][ended].copy()


@pytest.mark.session
def test_learns_the_corridor(trained) -> None:
    """After a few thousand decisions nearly every episode takes the shortest way."""
    _, _, lengths = trained
    assert len(lengths) > 10
    assert lengths.mean() < CELLS - 1 + 0.5


@pytest.mark.thorough
def test_same_seed_gives_the_same_weights() -> None:
    """Two trainings with equal seeds and N end with equal weights, bit for bit."""
    results = []
    for _ in range(2):
        with training(corridor(), seed=5) as trainer:
            for _ in range(3):
                trainer.iterate()
            results.append(weights(trainer))
    assert equal(*results)


def test_another_seed_gives_other_weights() -> None:
    """The seed decides the first weights."""
    with training(corridor(), seed=1) as one, training(corridor(), seed=2) as two:
        assert not equal(weights(one), weights(two))


def test_resize_keeps_what_was_learned() -> None:
    """Another N keeps weights, optimiser and counters, and goes on learning."""
    with training(corridor()) as trainer:
        trainer.iterate()
        before, _ = trainer.state()
        trainer.resize(3)
        after, data = trainer.state()
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert data == {"decisions": 128, "updates": 1, "steps": 16}
        metrics = trainer.iterate()
    assert metrics["decisions"] == 128 + 3 * 43


def test_state_restores_everything_learned() -> None:
    """A new trainer given a state has it."""
    with training(corridor(), seed=1) as one, training(corridor(), seed=2) as two:
        for _ in range(2):
            one.iterate()
        tensors, data = one.state()
        two.load_state({name: tensor.numpy() for name, tensor in tensors.items()}, data)
        again, counters = two.state()
    assert data == counters
    assert tensors.keys() == again.keys()
    assert all(torch.equal(tensors[name], again[name]) for name in tensors)
    assert any(name.endswith("exp_avg_sq") for name in tensors)


@pytest.mark.thorough
def test_resumed_training_equals_the_uninterrupted_one() -> None:
    """From one state and fresh environments, training gives the same weights, whatever the trainer did before."""
    with training(corridor()) as one:
        one.iterate()
        tensors, data = one.state()
    results = []
    for iterations in (0, 2):
        with training(corridor()) as two:
            for _ in range(iterations):
                two.iterate()
            two.load_state(tensors, data)
            two.resize(8)
            two.iterate()
            results.append(weights(two))
    assert equal(*results)


def test_the_state_of_version_0_1_loads() -> None:
    """It has a generator per thread and no number of steps; the weights and counters are taken over."""
    with training(corridor(), seed=1) as one, training(corridor(), seed=2) as two:
        one.iterate()
        tensors, data = one.state()
        del data["steps"]
        two.load_state(tensors | {"generator.sampler.0": torch.Generator().get_state()}, data)
        two.iterate()
        assert (two.learner.decisions, two.learner.updates, two.steps) == (256, 2, 16)


@pytest.mark.thorough
@pytest.mark.parametrize("threads", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_threads_do_not_change_the_actions(threads: int) -> None:
    """All actions of a rollout are those of one thread."""
    taken = []
    for count in (1, threads):
        with training(corridor(threads=count), num_envs=60, batch=240) as trainer:
            trainer.iterate()
            taken.append(buffer_of(trainer)["action"].copy())
    assert np.array_equal(*taken)


def interrupted_after(steps: int, advance: Callable[[int], None]) -> Callable[[int], None]:
    def interrupted(slot: int) -> None:
        if slot == steps:
            raise Interrupted
        advance(slot)

    return interrupted


@pytest.mark.thorough
def test_a_discarded_rollout_leaves_no_trace() -> None:
    """After a step that was interrupted, the state and the next rollout's actions are as without it."""
    states = []
    for interrupted in (False, True):
        with training(corridor()) as trainer:
            trainer.iterate()
            if interrupted:
                envs = trainer._context.make_envs.made[-1]  # type: ignore[attr-defined]
                envs.advance = interrupted_after(5, envs.advance)
                with pytest.raises(Interrupted):
                    trainer.iterate()
            trainer.resize(8)
            trainer.iterate()
            states.append(trainer.state())
    (tensors, data), (again, counters) = states
    assert data == counters
    assert all(torch.equal(tensors[name], again[name]) for name in tensors)


def test_refuses_the_state_of_another_network() -> None:
    """A checkpoint of other shapes is refused with a sentence that names both."""
    with (
        training(corridor()) as one,
        training(corridor(), channels=16) as two,
        pytest.raises(WrongCheckpoint, match="should be"),
    ):
        two.load_state(*one.state())


def test_the_rollout_is_the_buffer() -> None:
    """On the CPU the learner's tensors are views of what the environments write."""
    with training(corridor()) as trainer:
        trainer.iterate()
        shown = trainer._storages[0].data().observations
        assert shown.data_ptr() == buffer_of(trainer)["observation"].ctypes.data


def test_what_follows_a_seat_that_is_out_is_worth_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rollout's last values are the network's, but for rows that left their episode."""
    with training(corridor()) as trainer:
        envs = trainer._context.make_envs.made[-1]  # type: ignore[attr-defined]
        advance = envs.advance

        def dying(slot: int) -> None:
            advance(slot)
            envs.buffer["active"][slot + 1, 3] = OUT

        monkeypatch.setattr(envs, "advance", dying)
        trainer.iterate()
        assert trainer._storages[0].values[-1].nonzero().flatten().tolist() == [0, 1, 2, 4, 5, 6, 7]


def test_every_action_taken_is_legal() -> None:
    """Neither an untrained nor a trained policy ever takes a masked action."""
    with training(corridor()) as trainer:
        for _ in range(4):
            trainer.iterate()
            buffer = buffer_of(trainer)
            legal = np.unpackbits(buffer["action_mask"], axis=-1, count=CELLS, bitorder="little")[:-1]
            taken = np.take_along_axis(legal, buffer["action"][:-1, :, None], axis=-1)
            assert taken.all()


def test_a_reward_that_is_no_number_is_refused_before_it_is_learned() -> None:
    """The error names the row, and the weights stay as they were."""
    with training(corridor()) as trainer:
        trainer.iterate()
        before = weights(trainer)
        envs = trainer._context.make_envs.made[-1]  # type: ignore[attr-defined]
        step = envs.advance

        def advance(slot: int) -> None:
            step(slot)
            envs.buffer["reward"][3, 5] = np.nan

        envs.advance = advance
        with pytest.raises(NonFiniteRollout, match="a reward is NaN or infinite, in a rollout of row 5 of 8"):
            trainer.iterate()
        assert equal(before, weights(trainer))


def test_weights_that_an_update_spoiled_are_told_and_not_saved() -> None:
    """It is not the environment that is to blame."""
    with training(corridor()) as trainer:
        trainer.iterate()
        assert trainer.state()
        with torch.no_grad():
            next(trainer.policy.parameters()).fill_(np.nan)
        with pytest.raises(NonFiniteWeights, match="weights NaN or infinite"):
            trainer.state()
        with pytest.raises(NonFiniteRollout, match="the policy's value estimates are NaN"):
            trainer.iterate()


def test_metrics_are_finite_and_named() -> None:
    """Every iteration gives the figures worth a curve."""
    with training(corridor()) as trainer:
        metrics = trainer.iterate()
    assert {"loss/policy", "loss/value", "loss/entropy", "approx_kl", "clip_fraction", "grad_norm"} <= metrics.keys()
    assert {"explained_variance", "learning_rate", "updates"} <= metrics.keys()
    assert np.isfinite(list(metrics.values())).all()


def test_seats_are_rows() -> None:
    """Two seats of three environments are six rows, and all are learned from."""
    with training(corridor(players=2), num_envs=3) as trainer:
        metrics = trainer.iterate()
        assert buffer_of(trainer)["action"].shape == (23, 6)
    assert metrics["decisions"] == 22 * 6


def test_inspect_shows_only_legal_actions_as_likely() -> None:
    """What the policy thought: at most five actions, likeliest first, illegal ones at probability 0."""
    with training(corridor()) as trainer:
        assert trainer.inspect(0) is None
        trainer.iterate()
        output = trainer.inspect(0)
        assert output is not None
        legal = np.unpackbits(buffer_of(trainer)["action_mask"][-2, 0], count=CELLS, bitorder="little")
    assert sorted(output.probabilities, reverse=True) == list(output.probabilities)
    assert all(p == 0 or legal[action] for action, p in zip(output.actions, output.probabilities, strict=True))
    assert 0 <= output.entropy <= np.log(2) + 1e-5


@pytest.mark.session
def test_player_plays_the_weights_and_does_not_learn(trained) -> None:
    """A player given a trained state walks straight, and its weights stay."""
    tensors, data, _ = trained
    player = PpoPlayer(context(corridor()), greedy=True)
    player.start(4)
    player.load_state(tensors, data)
    player.iterate()
    buffer = player._context.make_envs.made[-1].buffer  # type: ignore[attr-defined]
    ended = buffer["terminated"] > 0
    assert set(buffer["episode_length"][ended]) == {CELLS - 1}
    held, _ = player.state()
    assert all(torch.equal(held[name], tensors[name]) for name in held)
    player.close()
