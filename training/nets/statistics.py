"""Statistics over the values of all ranks."""

from __future__ import annotations

import torch
from torch import Tensor

from ..ranks import Ranks


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
