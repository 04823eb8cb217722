"""PPO as a trainer: it learns, resumes, resizes and repeats itself."""

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


def training(task: Task, num_envs: int = 8, iterations: int = 0, **options: Any) -> AbstractContextManager[Any]:
    return started(PPO, context(task, **options), num_envs, iterations)


def envs_of(trainer: Any) -> Any:
    return trainer.owner.envs


def buffer_of(trainer: Any) -> Any:
    return envs_of(trainer).buffer


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
def test_the_seed_decides_the_weights() -> None:
    """Trainings with equal seeds and N end with equal weights, bit for bit, and others begin with others."""
    results = []
    for seed, iterations in ((5, 3), (5, 3), (1, 0), (2, 0)):
        with training(corridor(), seed=seed) as trainer:
            for _ in range(iterations):
                trainer.iterate()
            results.append(weights(trainer))
    assert equal(*results[:2])
    assert not equal(*results[2:])


def test_resize_keeps_what_was_learned() -> None:
    """Another N keeps weights, optimiser and counters, and goes on learning."""
    with training(corridor(), iterations=1) as trainer:
        before, _ = trainer.state()
        trainer.owner.open(3)
        after, data = trainer.state()
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert data == {"decisions": 128, "updates": 1, "steps": 16}
        metrics = trainer.iterate()
    assert metrics["decisions"] == 128 + 3 * 43


@pytest.mark.thorough
def test_resumed_training_equals_the_uninterrupted_one() -> None:
    """A state restores everything: with fresh environments the same weights follow, whatever the trainer did before."""
    with training(corridor(), iterations=1) as one:
        tensors, data = one.state()
        arrays = {name: tensor.clone().numpy() for name, tensor in tensors.items()}
        one.owner.open(8)
        one.iterate()
        results = [one.state()]
    for iterations in (0, 2):
        with training(corridor()) as two:
            for _ in range(iterations):
                two.iterate()
            two.load_state(arrays, data)
            two.owner.open(8)
            two.iterate()
            results.append(two.state())
    assert results[0][1] == results[1][1] == results[2][1]
    assert equal(results[0][0], results[1][0])
    assert equal(results[0][0], results[2][0])


@pytest.mark.thorough
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
def test_threads_do_not_change_the_actions() -> None:
    """All actions of a rollout are those of one thread."""
    taken = []
    for count in (1, 2, 3):
        with training(corridor(threads=count), num_envs=60, batch=240, iterations=1) as trainer:
            taken.append(buffer_of(trainer)["action"].copy())
    assert np.array_equal(*taken[:2])
    assert np.array_equal(*taken[1:])


def before_each_step(trainer: Any, function: Callable[[int], object]) -> None:
    envs = envs_of(trainer)
    advance = envs.advance
    envs.advance = lambda slot: (function(slot), advance(slot))


def interrupt_at_5(slot: int) -> None:
    if slot == 5:
        raise Interrupted


@pytest.mark.thorough
def test_a_discarded_rollout_leaves_no_trace() -> None:
    """After a step that was interrupted, the state and the next rollout's actions are as without it."""
    states = []
    for interrupted in (False, True):
        with training(corridor(), iterations=1) as trainer:
            if interrupted:
                before_each_step(trainer, interrupt_at_5)
                with pytest.raises(Interrupted):
                    trainer.iterate()
            trainer.owner.open(8)
            trainer.iterate()
            states.append(trainer.state())
    (tensors, data), (again, counters) = states
    assert data == counters
    assert equal(tensors, again)


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
    with training(corridor(), iterations=1) as trainer:
        shown = trainer._storages[0].data().observations
        assert shown.data_ptr() == buffer_of(trainer)["observation"].ctypes.data


def test_what_follows_a_seat_that_is_out_is_worth_nothing() -> None:
    """The rollout's last values are the network's, but for rows that left their episode."""
    with training(corridor()) as trainer:
        envs = envs_of(trainer)
        advance, active = envs.advance, envs.buffer["active"]
        envs.advance = lambda slot: (advance(slot), active[slot + 1 :, 3].fill(OUT))
        trainer.iterate()
        assert trainer._storages[0].values[-1].nonzero().flatten().tolist() == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.thorough
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
    """The error names environments and seats from 1, and how to see the steps before; the weights stay as they were."""
    with training(corridor(players=2), num_envs=4, iterations=1) as trainer:
        before = weights(trainer)
        envs = trainer.owner.envs
        step = envs.advance

        def advance(slot: int) -> None:
            step(slot)
            envs.buffer["reward"][3, [1, 4, 5]] = np.nan

        envs.advance = advance
        with pytest.raises(NonFiniteRollout, match="a reward is NaN") as caught:
            trainer.iterate()
        assert "in environments 1 (seat 2), 3 (seats 1, 2) of 4;" in str(caught.value)
        assert "--break 'any: nan(reward)'" in str(caught.value)
        assert equal(before, weights(trainer))


@pytest.mark.thorough
def test_weights_that_an_update_spoiled_are_told_and_not_saved() -> None:
    """It is not the environment that is to blame."""
    with training(corridor(), iterations=1) as trainer:
        assert trainer.state()
        with torch.no_grad():
            next(trainer.policy.parameters()).fill_(np.nan)
        with pytest.raises(NonFiniteWeights, match="weights NaN or infinite"):
            trainer.state()
        with pytest.raises(NonFiniteRollout, match="the policy's value estimates are NaN"):
            trainer.iterate()


def test_seats_are_rows() -> None:
    """Two seats of three environments are six rows, and all are learned from."""
    with training(corridor(players=2), num_envs=3) as trainer:
        metrics = trainer.iterate()
        assert buffer_of(trainer)["action"].shape == (23, 6)
    assert metrics["decisions"] == 22 * 6
    assert {"explained_variance", "learning_rate", "updates"} <= metrics.keys()
    assert np.isfinite(list(metrics.values())).all()


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
    with started(PpoPlayer, context(corridor()), 4) as player:
        player.load_state(tensors, data)
        player.iterate()
        buffer = buffer_of(player)
        assert set(buffer["episode_length"][buffer["terminated"] > 0]) == {CELLS - 1}
        held, _ = player.state()
    assert all(torch.equal(held[name], tensors[name]) for name in held)
