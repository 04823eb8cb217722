"""Divides rewards by the standard deviation of discounted returns, so that the size of values does not matter."""

from __future__ import annotations

import torch
from torch import Tensor

from ..nets.running_moments import LIMIT, RunningMoments
from ..ranks import Ranks


class RewardScale:
    """The discounted sum of rewards in each row since its episode began, and the moments of these sums.

    The sums run forward in time, as in `VecNormalize` of Stable-Baselines3, and only set the scale: rewards keep their
    sign, and no mean is subtracted.

    Attributes:
        sums: `(R,)` after the last step; None before the first rollout of this number of rows.
    """

    def __init__(self, moments: RunningMoments) -> None:
        self.sums: Tensor | None = None
        self._moments = moments

    @torch.no_grad()
    def apply(self, rewards: Tensor, discounts: Tensor, ended: Tensor, ranks: Ranks) -> Tensor:
        """Add the rewards `(T, R)` of a rollout to the moments; return them divided by the deviation, and clipped.

        Args:
            rewards: Finite rewards.
            discounts: `(T, R)`, as for the returns.
            ended: `(T, R)` bool, where an episode ended with the reward.
            ranks: Share the moments.
        """
        if self.sums is None or self.sums.shape != rewards.shape[1:]:
            self.sums = torch.zeros_like(rewards[0])
        sums, discounted = self.sums, torch.empty_like(rewards)
        for step, (reward, discount, end) in enumerate(zip(rewards, discounts, ended, strict=True)):
            sums = sums * discount + reward
            discounted[step] = sums
            sums = sums.masked_fill(end, 0.0)
        self.sums = sums
        self._moments.add(discounted.flatten(), ranks)
        return (rewards / self._moments.deviation).clamp(-LIMIT, LIMIT)
