"""Means and standard deviations over all ranks: of all values so far, or of some values."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..ranks import Ranks

LIMIT = 10.0
"""Normalized values are clipped to -LIMIT ... LIMIT."""
EPSILON = 1e-8


class RunningMoments(nn.Module):
    """The mean and the variance of all values so far, per element of `shape`. They are part of the state dict.

    Attributes:
        count: The number of values so far.
        mean: `shape`, float32.
        variance: `shape`, float32; 1 until there are values.
    """

    count: Tensor
    mean: Tensor
    variance: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))

    @property
    def deviation(self) -> Tensor:
        """The standard deviation, `shape`, never 0."""
        return (self.variance + EPSILON).sqrt()

    def forward(self, values: Tensor) -> Tensor:
        """Return values `(n, *shape)` with the mean subtracted and divided by the standard deviation, clipped."""
        return ((values - self.mean) / self.deviation).clamp(-LIMIT, LIMIT)

    @torch.no_grad()
    def add(self, values: Tensor, ranks: Ranks) -> None:
        """Add the finite values `(n, *shape)` of all ranks; at least one rank must have some."""
        exact = values.to(torch.float32 if values.device.type == "mps" else torch.float64)
        count = torch.tensor(len(values), dtype=exact.dtype, device=values.device)
        total = exact.sum(0)
        ranks.add([count, total])
        mean = total / count
        squares = (exact - mean).square().sum(0)
        ranks.add([squares])
        # Chan, Golub and LeVeque, 1979: moments of two sets together.
        share = count / (self.count + count)
        change = mean - self.mean
        variance = self.variance * (1 - share) + squares / count * share + change.square() * share * (1 - share)
        self.mean.add_((change * share).to(self.mean.dtype))
        self.variance.copy_(variance)
        self.count.add_(count.to(self.count.dtype))


class ImageMoments(RunningMoments):
    """The moments of images: a mean for every pixel, and one deviation of all pixels from their means.

    Without the constant background, what moves has larger numbers. A pixel that rarely changes is not amplified.
    """

    @property
    def deviation(self) -> Tensor:
        """The standard deviation of all pixels from their means, a scalar that is never 0."""
        return (self.variance.mean() + EPSILON).sqrt()

    def forward(self, values: Tensor) -> Tensor:
        """Return images `(n, *shape)` with the mean subtracted and divided by the standard deviation, clipped."""
        return (values - self.mean).div_(self.deviation).clamp_(-LIMIT, LIMIT)


def mean_and_deviation(values: Tensor, ranks: Ranks) -> tuple[Tensor, Tensor]:
    """Return the mean and the standard deviation of the values `(n,)` of all ranks; at least one rank must have some.

    The ranks add counts, sums and squares. They do so in float64, so that one rank alone gets `values.mean()` and
    `values.std(correction=0)`, bit for bit.
    """
    exact = torch.float32 if values.device.type == "mps" else torch.float64
    own = values if len(values) else values.new_zeros(1)
    count = torch.tensor(float(len(values)), dtype=exact, device=values.device)
    own_mean, own_variance = own.mean().to(exact), own.std(correction=0).to(exact).square()
    sums = torch.stack((count, count * own_mean))
    ranks.add([sums])
    mean = sums[1] / sums[0]
    squares = count * (own_variance + (own_mean - mean).square())
    ranks.add([squares])
    return mean.to(values.dtype), (squares / sums[0]).sqrt().to(values.dtype)
