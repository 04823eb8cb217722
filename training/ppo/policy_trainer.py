"""What learning and playing have in common: environments, in which a policy acts."""

from __future__ import annotations

import torch

from ...envs.fields import Array
from ..nets.action_noise import ActionNoise
from ..nets.output import policy_output
from ..nets.weights import placed
from ..trainer import Context, Envs, PolicyOutput, Trainer
from .policy import Policy
from .storage import RolloutStorage


class PolicyTrainer(Trainer):
    """A trainer whose policy acts, rollout by rollout.

    Attributes:
        policy: The network.
    """

    def __init__(self, context: Context, policy: Policy) -> None:
        self.policy = placed(policy, torch.device(context.device))
        self._context = context
        self._envs: Envs | None = None
        self._storage: RolloutStorage | None = None
        self._noise: ActionNoise | None = None

    def _open(self, num_envs: int, steps: int) -> None:
        """Make the environments, and room for a rollout of `steps`; begin an episode in each."""
        self._envs = self._context.make_envs(num_envs, steps + 1)
        self._storage = RolloutStorage(self._context.task, self._envs.buffer, self._context.device)
        self._noise = ActionNoise(
            self._context.seed,
            first_env=self._context.ranks.first_env(num_envs),
            num_envs=num_envs,
            players=self._context.task.players,
            numbers=self.policy.distribution.numbers,
            device=torch.device(self._context.device),
        )
        self._envs.start(0)

    def inspect(self, row: int) -> PolicyOutput | None:
        """What the policy thinks of a row: of the observation that it decided on last; None before."""
        storage = self._storage
        if storage is None or storage.logits is None or row >= storage.rows:
            return None
        return policy_output(
            self.policy.distribution, storage.scale, storage.logits[row], storage.values[storage.decided, row]
        )

    def values(self, slots: slice) -> Array | None:
        """The value estimates behind the decisions of some slots, `(slots, rows)`."""
        return None if self._storage is None else self._storage.values[slots].cpu().numpy()

    def close(self) -> None:
        """Let go of the buffer and close the environments."""
        if self._storage is not None:
            self._storage.close()
            self._storage = None
        if self._envs is not None:
            self._envs.close()
            self._envs = None
