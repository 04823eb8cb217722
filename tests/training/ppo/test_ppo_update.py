"""The advantages and the update of PPO, against slow and simple implementations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pac.envs import BadParameter, UnknownName, find
from pac.training.nets.adam import Adam
from pac.training.nets.compute_threads import ComputeThreads
from pac.training.nets.gradient_step import GradientStep
from pac.training.nets.weights import placed
from pac.training.ppo.gae import gae
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings
from pac.training.ppo.update import (
    STATISTICS,
    Coefficients,
    PpoBatch,
    PpoLearner,
    clipped_surrogate,
    explained_variance,
    minibatches,
    normalized,
    update,
    value_error,
)
from pac.training.ranks import SingleRank
from pac.training.settings import scheduled

from ..corridor import corridor

T, R = 12, 5
THREADS = ComputeThreads(torch.device("cpu"), 1)


def learner(policy: PpoPolicy, optimizer: Adam, settings: PpoSettings) -> PpoLearner:
    """Return a learner of one thread and one rank."""
    gradients = GradientStep(
        optimizer,
        THREADS,
        SingleRank(),
        policy.network.rows_at_once,
        settings.max_grad_norm,
        len(STATISTICS) - 1,
    )
    return PpoLearner(policy, gradients, settings, torch.Generator().manual_seed(0))


def experience(seed: int = 0, ends: float = 0.2, idle: float = 0.0) -> dict[str, torch.Tensor]:
    random = np.random.default_rng(seed)
    ended = random.random((T, R)) < ends
    cut = random.random((T, R)) < 0.5
    arrays = {
        "rewards": random.normal(size=(T, R)),
        "values": random.normal(size=(T + 1, R)),
        "final_values": random.normal(size=(T, R)),
        "discounts": random.uniform(0.8, 1, size=(T, R)),
    }
    tensors = {name: torch.tensor(array, dtype=torch.float32) for name, array in arrays.items()}
    flags = {"terminated": ended & ~cut, "truncated": ended & cut, "active": random.random((T, R)) >= idle}
    return tensors | {name: torch.tensor(flag) for name, flag in flags.items()}


def slow_gae(e: dict[str, torch.Tensor], row: int, lam: float) -> list[float]:
    """Sum discounted errors forwards from every step, for one row that is always active."""
    advantages = []
    for start in range(T):
        total, weight = 0.0, 1.0
        for t in range(start, T):
            follows = e["values"][t + 1, row]
            if e["truncated"][t, row]:
                follows = e["final_values"][t, row]
            if e["terminated"][t, row]:
                follows = torch.tensor(0.0)
            discount = float(e["discounts"][t, row])
            total += weight * float(e["rewards"][t, row] + discount * follows - e["values"][t, row])
            weight *= discount * lam
            if e["terminated"][t, row] or e["truncated"][t, row]:
                break
        advantages.append(total)
    return advantages


@pytest.mark.parametrize("lam", [0.0, 0.9, 1.0])
def test_advantages_are_those_of_a_slow_loop(lam: float) -> None:
    """Terminations, truncations and discounts that differ per decision, for every row."""
    e = experience()
    advantages, returns = gae(**e, gae_lambda=lam)
    for row in range(R):
        assert np.allclose(advantages[:, row], slow_gae(e, row, lam), atol=1e-4)
    assert torch.allclose(returns, advantages + e["values"][:-1])


def test_nothing_follows_a_termination_and_a_value_follows_a_truncation() -> None:
    """The same step, once terminated and once truncated."""
    e = {
        "rewards": torch.tensor([[1.0, 1.0]]),
        "values": torch.tensor([[0.0, 0.0], [50.0, 50.0]]),
        "final_values": torch.tensor([[0.0, 10.0]]),
        "discounts": torch.full((1, 2), 0.5),
        "terminated": torch.tensor([[True, False]]),
        "truncated": torch.tensor([[False, True]]),
        "active": torch.ones(1, 2, dtype=torch.bool),
    }
    assert gae(**e, gae_lambda=0.95)[0].tolist() == [[1.0, 6.0]]


def test_idle_steps_are_as_if_they_were_not_there() -> None:
    """A row's decisions have the advantages that they have without the idle steps between them."""
    e = experience(seed=3, ends=0.0, idle=0.4)
    e["active"][-1] = True
    e["rewards"][~e["active"]] = 0
    advantages, _ = gae(**e, gae_lambda=0.9)
    for row in range(R):
        active = e["active"][:, row]
        only = {name: tensor[:T][active, row].unsqueeze(1) for name, tensor in e.items()}
        only["values"] = torch.cat([only["values"], e["values"][-1:, row : row + 1]])
        expected, _ = gae(**only, gae_lambda=0.9)
        assert torch.allclose(advantages[active, row], expected.squeeze(1), atol=1e-5)


def test_an_episode_cut_short_while_idle_reaches_the_decision_before() -> None:
    """A worker that died and came back: the last decision is worth the last observation's value."""
    zeros = torch.zeros(3, 1)
    e = {
        "rewards": zeros,
        "values": torch.full((4, 1), 7.0),
        "final_values": torch.tensor([[0.0], [0.0], [3.0]]),
        "discounts": torch.full((3, 1), 0.5),
        "terminated": zeros.bool(),
        "truncated": torch.tensor([[False], [False], [True]]),
        "active": torch.tensor([[True], [False], [False]]),
    }
    assert gae(**e, gae_lambda=0.95)[0][0].item() == pytest.approx(0.5 * 3 - 7)


def test_the_surrogate_is_clipped_only_where_it_would_gain() -> None:
    """Equation 7 of the paper, case by case."""
    log_ratio = torch.tensor([0.5, 0.5, 1.5, 1.5]).log()
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    loss, ratio = clipped_surrogate(log_ratio, advantages, 0.2)
    assert loss.item() == pytest.approx(-np.mean([0.5, -0.8, 1.2, -1.5]))
    assert torch.allclose(ratio, torch.tensor([0.5, 0.5, 1.5, 1.5]))


def test_both_value_losses_agree_near_zero() -> None:
    """They have the same curvature, and the Huber form is linear beyond 1."""
    near, far = torch.tensor([0.5]), torch.tensor([3.0])
    zero = torch.zeros(1)
    assert value_error(near, zero, huber=True) == value_error(near, zero, huber=False)
    assert value_error(far, zero, huber=True).item() == 2.5
    assert value_error(far, zero, huber=False).item() == 4.5


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_minibatches_are_a_partition_in_random_order(device: str) -> None:
    """Every decision once, in parts of nearly equal length, in an order that follows from the generator."""
    parts, again = (minibatches(103, 4, torch.Generator().manual_seed(0), torch.device(device)) for _ in range(2))
    assert [len(part) for part in parts] == [26, 26, 26, 25]
    assert sorted(torch.cat(parts).tolist()) == list(range(103))
    assert torch.cat(parts).tolist() != list(range(103))
    assert torch.equal(torch.cat(parts), torch.cat(again))


def test_minibatches_that_are_too_small_for_a_gpu_are_named() -> None:
    """The advice is accepted, and needs no other."""
    few = PpoSettings(batch=2048, minibatch=256, epochs=2)
    assert not few.advice_for_gpu(rows=256)
    advice = few.advice_for_gpu(rows=65_536)
    assert advice.startswith("an update of 524,288 decisions takes 4,096 gradient steps of 256")
    assert "--ppo.batch 524288 --ppo.minibatch 16384" in advice
    assert not PpoSettings(batch=524_288, minibatch=16_384).advice_for_gpu(rows=65_536)


def learned(active: np.ndarray, poison: float) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    """Update a fresh policy on a batch whose inactive rows hold `poison`."""
    task = corridor()
    settings = PpoSettings.for_task(task)
    policy = PpoPolicy(task, settings, torch.Generator().manual_seed(0))
    optimizer = Adam(policy, learning_rate=1e-2)
    random = np.random.default_rng(0)
    flags = torch.tensor(active)
    values = torch.tensor(random.normal(size=(3, len(active))), dtype=torch.float32)
    values[:, ~flags] = poison
    advantages, returns, logprobs = normalized(values[0][flags], SingleRank()), values[1][flags], values[2][flags] - 1.5
    batch = PpoBatch(
        index=flags.nonzero().squeeze(-1),
        observations=torch.tensor(random.integers(0, 256, (len(active), 2)), dtype=torch.uint8),
        masks=torch.full((len(active), 1), 63, dtype=torch.uint8),
        actions=torch.tensor(random.integers(0, 6, len(active)))[flags],
        logprobs=logprobs,
        advantages=advantages,
        returns=returns,
    )
    metrics = update(learner(policy, optimizer, settings), batch, len(batch.index), Coefficients(0.01, 0.2))
    return policy.state_dict(), metrics


def test_rows_that_took_no_decision_change_nothing() -> None:
    """The values of inactive rows reach neither the weights nor the metrics."""
    active = np.random.default_rng(1).random(96) < 0.7
    weights, metrics = learned(active, 0.0)
    again, figures = learned(active, 1e6)
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert metrics == figures


def test_the_fused_optimizer_learns_the_same_as_the_plain_one() -> None:
    """It reads weights and gradients in memory order, those of convolutions with channels last."""
    task = find("drmario")
    random = np.random.default_rng(0)
    count = 64
    batch = PpoBatch(
        index=torch.arange(count),
        observations=torch.tensor(random.integers(0, 256, (count, *task.observation.stored_shape)), dtype=torch.uint8),
        masks=None,
        actions=torch.tensor(random.integers(0, task.num_actions, count)),
        logprobs=torch.full((count,), -6.0),
        advantages=torch.tensor(random.normal(size=count), dtype=torch.float32),
        returns=torch.tensor(random.normal(size=count), dtype=torch.float32),
    )
    weights = []
    for fused in (True, False):
        settings = PpoSettings.for_task(task)
        policy = placed(PpoPolicy(task, settings, torch.Generator().manual_seed(0)), torch.device("cpu"))
        optimizer = Adam(policy, learning_rate=1e-3, fused=fused)
        update(learner(policy, optimizer, settings), batch, count, Coefficients(0.01, 0.2))
        weights.append(torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]))
    assert torch.allclose(weights[0], weights[1], atol=1e-5)


def test_explained_variance_of_perfect_and_of_constant_values() -> None:
    """1 for perfect values, 0 for the mean."""
    returns = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(returns, returns, SingleRank()) == 1
    assert explained_variance(torch.full((3,), 2.0), returns, SingleRank()) == 0


def test_settings_merge_defaults_task_and_overrides() -> None:
    """Overrides beat the task, the task beats the defaults."""
    settings = PpoSettings.for_task(corridor(), {"gamma": 0.5})
    assert (settings.gamma, settings.minibatch, settings.clip) == (0.5, 32, 0.2)


def test_an_unknown_setting_names_the_nearest() -> None:
    """The error for a typo suggests the nearest setting."""
    with pytest.raises(UnknownName, match="Did you mean learning_rate"):
        PpoSettings.for_task(corridor(), {"lerning_rate": 1})


@pytest.mark.parametrize("bad", [{"gamma": 2}, {"gamma": "much"}, {"epochs": 0}, {"minibatch": 10**6}])
def test_a_setting_that_does_not_fit_is_one_sentence(bad: dict[str, object]) -> None:
    """Out of range, of another type, or in conflict with another setting."""
    with pytest.raises(BadParameter, match=r"^ppo.*(got|must not exceed)"):
        PpoSettings.for_task(corridor(), bad)


def test_schedules_are_lines_between_points() -> None:
    """Warm-up, plateau and decay; as text or as points; a number is constant."""
    settings = PpoSettings.for_task(corridor(), {"learning_rate": "0:0,100:1e-3,200:1e-3,300:0"})
    at = [scheduled(settings.learning_rate, decisions) for decisions in (0, 50, 150, 250, 900)]
    assert at == pytest.approx([0, 5e-4, 1e-3, 5e-4, 0])
    assert scheduled(0.5, 10**9) == 0.5
    steps = PpoSettings.for_task(corridor(), {"learning_rate": "100:1,100:2,200:3"}).learning_rate
    assert [scheduled(steps, decisions) for decisions in (0, 99, 100, 150, 200, 201)] == [1, 1, 2, 2.5, 3, 3]


def test_the_rollout_scales_with_the_rows() -> None:
    """As many steps as the batch needs, and at least eight."""
    settings = PpoSettings(batch=512, minibatch=128)
    assert [settings.steps(rows) for rows in (1, 16, 100, 1000)] == [512, 32, 8, 8]
