"""The advantages and the update of PPO, against slow and simple implementations."""

from typing import Any

import numpy as np
import pytest
import torch

from pac.envs import BadParameter, UnknownName, find
from pac.training.device import TrainingPlace
from pac.training.nets.compute_threads import ComputeThreads
from pac.training.nets.gradient_step import GradientStep
from pac.training.nets.weights import Adam, placed
from pac.training.ppo.device_defaults import bytes_per_decision, device_defaults
from pac.training.ppo.gae import gae, step_discounts
from pac.training.ppo.policy import PpoPolicy
from pac.training.ppo.settings import PpoSettings
from pac.training.ppo.update import (
    STATISTICS,
    Coefficients,
    PpoBatch,
    PpoLearner,
    explained_variance,
    normalized,
    random_order,
    update,
)
from pac.training.ranks import SingleRank
from pac.training.settings import scheduled

from ..corridor import corridor

T, R = 12, 5
THREADS = ComputeThreads(torch.device("cpu"), 1)


def learned(policy: PpoPolicy, settings: PpoSettings, batch: PpoBatch, **options: Any) -> dict[str, float]:
    """Update a policy once, in one thread and as the only rank; return the figures."""
    optimizer, rows = Adam(policy, **options), policy.network.rows_at_once
    gradients = GradientStep(optimizer, THREADS, SingleRank(), rows, settings.max_grad_norm, len(STATISTICS) - 1)
    learner = PpoLearner(policy, gradients, settings, torch.Generator().manual_seed(0))
    return update(learner, batch, len(batch.index), Coefficients(0.01, 0.2))


def test_an_episode_cut_short_while_idle_reaches_the_decision_before() -> None:
    """A worker that died and came back: the last decision is worth the last observation's value."""
    zeros = torch.zeros(3, 1)
    e = {
        "rewards": zeros,
        "values": torch.full((4, 1), 7.0),
        "final_values": torch.tensor([[0.0], [0.0], [3.0]]),
        "terminated": zeros.bool(),
        "truncated": torch.tensor([[False], [False], [True]]),
        "active": torch.tensor([[True], [False], [False]]),
        "out": zeros.bool(),
    }
    e["discounts"] = step_discounts(zeros, e["active"], 0.5, per_frame=False)
    assert gae(**e, gae_lambda=0.95)[0][0].item() == pytest.approx(0.5 * 3 - 7)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_minibatches_are_a_partition_in_random_order(device: str) -> None:
    """Every decision once, in parts of nearly equal length, in an order that follows from the generator."""
    orders = [random_order(103, torch.Generator().manual_seed(0), torch.device(device)) for _ in range(2)]
    parts, again = (order.tensor_split(4) for order in orders)
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


def test_a_gpu_decides_what_nobody_has_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch and minibatch follow from N, as far as there is memory, and are those of the task on the CPU."""
    task = find("drmario")
    settings = PpoSettings.for_task(task).model_dump(mode="json")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))

    def decided(rows: int, *given: str, free: int = 140 << 30, device: str = "cuda:0", resident: bool = True) -> Any:
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, free))
        return device_defaults(task, settings, frozenset(given), TrainingPlace(device, rows, resident))

    assert decided(65_536) == {"precision": "bfloat16", "batch": 524_288, "minibatch": 16_384}
    assert decided(8_192) == {"precision": "bfloat16", "batch": 65_536, "minibatch": 2_048}
    assert decided(64) == decided(65_536, resident=False) == decided(65_536, "batch") == {"precision": "bfloat16"}
    assert decided(65_536, device="cpu") == {"precision": "float32"}
    needed = bytes_per_decision(task, PpoSettings.for_task(task), torch.bfloat16)
    assert decided(65_536, free=4 * 8_192 * needed)["minibatch"] == 8_192
    exact = bytes_per_decision(task, PpoSettings.for_task(task), torch.float32)
    assert 177_000 < exact < 2 * 177_000  # what an H200 needed
    assert exact / 3 < needed < exact


def test_rows_that_took_no_decision_change_nothing() -> None:
    """What is stored for inactive rows reaches neither the weights nor the metrics."""
    random, task, count = np.random.default_rng(0), corridor(), 96
    active = torch.tensor(random.random(count) < 0.7)
    values = torch.tensor(random.normal(size=(3, count)), dtype=torch.float32)[:, active]
    observations = torch.tensor(random.integers(0, 256, (count, 2)), dtype=torch.uint8)
    actions, found = torch.tensor(random.integers(0, 6, count))[active], []
    for poison in (0, 255):
        observations[~active] = poison
        policy = PpoPolicy(task, PpoSettings.for_task(task), torch.Generator().manual_seed(0))
        batch = PpoBatch(
            index=active.nonzero().squeeze(-1),
            observations=observations,
            masks=torch.full((count, 1), 63, dtype=torch.uint8),
            actions=actions,
            logprobs=values[2] - 1.5,
            advantages=normalized(values[0], SingleRank()),
            returns=values[1],
        )
        metrics = learned(policy, PpoSettings.for_task(task), batch, learning_rate=1e-2)
        found.append((metrics, torch.cat([each.detach().flatten() for each in policy.parameters()])))
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])


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
        learned(policy, settings, batch, learning_rate=1e-3, fused=fused)
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


@pytest.mark.parametrize(
    ("bad", "reported"),
    [
        ({"lerning_rate": 1}, "Did you mean learning_rate"),
        *((bad, r"^ppo.*(got|must not exceed)") for bad in ({"gamma": 2}, {"gamma": "much"}, {"epochs": 0})),
        ({"minibatch": 10**6}, r"^ppo.*must not exceed"),
    ],
)
def test_a_setting_that_does_not_fit_is_one_sentence(bad: dict[str, object], reported: str) -> None:
    """Unknown, out of range, of another type, or in conflict with another setting."""
    with pytest.raises((BadParameter, UnknownName), match=reported):
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
