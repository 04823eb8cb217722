"""Running means and variances, against NumPy over all values at once."""

import numpy as np
import torch

from pac.training.nets.running_moments import LIMIT, RunningMoments
from pac.training.ranks import SingleRank

from ..thread_ranks import on_ranks


def values(seed: int, count: int) -> torch.Tensor:
    """Return `(count, 3)` values whose columns have very different means and deviations."""
    drawn = torch.randn(count, 3, generator=torch.Generator().manual_seed(seed))
    return drawn * torch.tensor([1e-3, 1.0, 1e3]) + torch.tensor([5.0, -1.0, 1e4])


def moments_of(*parts: torch.Tensor) -> RunningMoments:
    """Return the moments after each part was added."""
    moments = RunningMoments((3,))
    for part in parts:
        moments.add(part, SingleRank())
    return moments


def test_parts_give_the_moments_of_the_whole() -> None:
    """Three parts of different lengths have the mean and the variance of all their values."""
    parts = [values(0, 1000), values(1, 7), values(2, 333)]
    moments, whole = moments_of(*parts), torch.cat(parts).double().numpy()
    assert int(moments.count) == 1340
    assert np.allclose(moments.mean, whole.mean(0), rtol=1e-6)
    assert np.allclose(moments.variance, whole.var(0), rtol=1e-4)


def test_values_are_normalized_and_clipped() -> None:
    """Also where all values so far were equal; before the first, values within the limit are returned as they are."""
    normalized = moments_of(values(0, 5000))(values(0, 5000))
    assert np.allclose(normalized.mean(0), 0, atol=2e-3)
    assert np.allclose(normalized.std(0), 1, atol=1e-2)
    assert moments_of(torch.ones(10, 3))(torch.tensor([[1.0, 2.0, -5.0]])).tolist() == [[0.0, LIMIT, -LIMIT]]
    assert torch.allclose(RunningMoments((3,))(torch.tensor([[1.0, -2.0, 3.0]])), torch.tensor([[1.0, -2.0, 3.0]]))


def test_ranks_share_the_moments() -> None:
    """Two ranks, one of them without values, get the moments of one rank with all of them."""
    parts = [values(3, 50), values(3, 0)]
    alone = moments_of(parts[0])

    def add(ranks):
        moments = RunningMoments((3,))
        moments.add(parts[ranks.rank], ranks)
        return moments

    for moments in on_ranks(2, add):
        assert torch.allclose(moments.mean, alone.mean)
        assert torch.allclose(moments.variance, alone.variance)
