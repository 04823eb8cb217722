"""What the processes of one training decide together, with threads in their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pac.envs.fields import WAITS
from pac.training.nets.running_moments import mean_and_deviation
from pac.training.ppo.trainer import PPO
from pac.training.ppo.update import NonFiniteRollout
from pac.training.ranks import Ranks, SingleRank
from pac.training.trainer import Interrupted, ProcessFailed, Stopped

from .alone import context, started, weights
from .corridor import corridor
from .thread_ranks import on_ranks


def train(ranks: Ranks, num_envs: int, iterations: int = 2, **settings: Any) -> tuple[dict[str, torch.Tensor], Any]:
    """Train one rank; return its weights and its last metrics."""
    metrics: dict[str, float] = {}
    with started(PPO, replace(context(corridor(), **settings), ranks=ranks), num_envs) as trainer:
        for _ in range(iterations):
            metrics = trainer.iterate()
        return weights(trainer), metrics


@pytest.fixture
def doubles() -> Iterator[None]:
    """Tensors of float64 by default."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.thorough
@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize(("iterations", "most"), [(1, 1e-10), (2, 1e-5)])
def test_two_ranks_learn_what_one_process_learns(iterations: int, most: float) -> None:
    """With one gradient step per pass and halves of the environments, weights and metrics differ by rounding only."""
    settings = {"minibatch": 128, "batch": 128}
    whole, metrics = train(SingleRank(), 8, iterations, **settings)
    for found, figures in on_ranks(2, lambda ranks: train(ranks, 4, iterations, **settings)):
        assert all(value.dtype == torch.float64 for value in found.values())
        assert all(torch.allclose(whole[name], found[name], rtol=0, atol=most) for name in whole)
        assert figures == pytest.approx(metrics, abs=1e-4)


@pytest.mark.thorough
def test_ranks_keep_equal_weights() -> None:
    """Minibatches, and the end of an update at a KL divergence, leave all ranks with the same weights, bit for bit."""
    one, *others = on_ranks(3, lambda ranks: train(ranks, 2, target_kl=1e-4))
    for other in others:
        assert all(torch.equal(one[0][name], other[0][name]) for name in one[0])
        assert one[1] == other[1]


def test_a_rank_without_decisions_takes_the_steps_of_the_others() -> None:
    """Its rows waited during the whole rollout; it learns what the others have seen."""

    def rank(ranks: Ranks) -> tuple[dict[str, torch.Tensor], float]:
        with started(PPO, replace(context(corridor()), ranks=ranks), 4) as trainer:
            envs = trainer.owner.envs
            step = envs.advance

            def advance(slot: int) -> None:
                step(slot)
                if ranks.rank:
                    envs.buffer["active"][...] = WAITS

            envs.advance = advance
            decisions = trainer.iterate()["decisions"]
            return weights(trainer), decisions

    (one, decisions), (other, same) = on_ranks(2, rank)
    assert decisions == same == 64
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_fault_on_one_rank_ends_the_iteration_on_all() -> None:
    """The rank whose environment returned NaN names it, the others name another process."""

    def rank(ranks: Ranks) -> str:
        with started(PPO, replace(context(corridor()), ranks=ranks), 4) as trainer:
            envs = trainer.owner.envs
            step = envs.advance

            def advance(slot: int) -> None:
                step(slot)
                if ranks.rank:
                    envs.buffer["reward"][3, 2] = np.nan

            envs.advance = advance
            with pytest.raises(NonFiniteRollout) as caught:
                trainer.iterate()
            return str(caught.value)

    others, own = on_ranks(2, rank)
    assert "of another process" in others
    assert "in environment 3 of 4" in own


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ((None, None), None),
        ((None, Interrupted), Interrupted),
        ((Interrupted, Stopped), Stopped),
        ((Stopped, None), Stopped),
        ((Interrupted, ProcessFailed), ProcessFailed),
        ((ProcessFailed, Stopped), Stopped),
    ],
)
def test_what_one_rank_raises_all_raise(
    raised: tuple[type[Exception] | None, ...], expected: type[Exception] | None
) -> None:
    """A stop goes before a failed process, and both before an interruption."""

    def rank(ranks: Ranks) -> type[Exception] | None:
        def enter() -> None:
            if kind := raised[ranks.rank]:
                raise kind

        try:
            ranks.raise_together(enter, (Interrupted, ProcessFailed, Stopped))
        except (Interrupted, ProcessFailed, Stopped) as error:
            return type(error)
        return None

    assert on_ranks(2, rank) == [expected, expected]


def test_a_process_that_failed_on_one_rank_has_no_number_on_the_others() -> None:
    """The rank whose process it was raises its own error."""

    def rank(ranks: Ranks) -> tuple[int, str]:
        def check() -> None:
            if ranks.rank:
                raise ProcessFailed(3, "learner 4 failed")

        with pytest.raises(ProcessFailed) as caught:
            ranks.raise_together(check, (ProcessFailed,))
        return caught.value.index, str(caught.value)

    assert on_ranks(2, rank) == [(-1, "a process of another rank has failed"), (3, "learner 4 failed")]


def test_moments_are_those_of_all_values() -> None:
    """Of three ranks, one of which has no values; and one rank alone gets PyTorch's, bit for bit."""
    values = torch.randn(101, generator=torch.Generator().manual_seed(0)) * 3 + 100
    parts = values[:70], values[:0], values[70:]
    for mean, deviation in on_ranks(3, lambda ranks: mean_and_deviation(parts[ranks.rank], ranks)):
        assert torch.allclose(mean, values.mean())
        assert torch.allclose(deviation, values.std(correction=0))
    alone = mean_and_deviation(values, SingleRank())
    assert torch.equal(torch.stack(alone), torch.stack((values.mean(), values.std(correction=0))))


def test_environments_have_global_numbers_and_one_rank_writes() -> None:
    """Rank 1 of two with four environments each has numbers 4 to 7, and rank 0 writes the run."""
    found = on_ranks(2, lambda ranks: (ranks.first_env(4), ranks.is_writer, ranks.from_writer(ranks.rank)))
    assert found == [(0, True, 0), (4, False, 0)]
