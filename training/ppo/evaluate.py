"""Plays a trained policy without learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...envs.fields import Array
from ..trainer import Context, Envs, Metrics, PolicyOutput
from .output import policy_output
from .policy import Policy
from .settings import Settings
from .state import copied, load_policy
from .storage import Storage

STEPS = 16


class Player:
    """A `Trainer` that only plays: its iterations are a few steps each, its state the weights alone."""

    def __init__(self, context: Context, greedy: bool = True) -> None:
        settings = Settings.read("ppo", context.settings)
        torch.set_num_threads(settings.threads or 1)
        self._context = context
        self._greedy = greedy
        self._generator = torch.Generator(torch.device(context.device)).manual_seed(context.seed)
        policy = Policy(context.task, settings, torch.Generator().manual_seed(context.seed))
        self._policy = policy.placed(torch.device(context.device))
        self._envs: Envs | None = None
        self._storage: Storage | None = None
        self._logits: Tensor | None = None
        self._decided = 0

    def start(self, num_envs: int) -> None:
        """Make the environments and begin an episode in each."""
        self._envs = self._context.make_envs(num_envs, STEPS + 1)
        self._storage = Storage(self._context.task, self._envs.buffer, self._context.device)
        self._envs.start(0)

    @torch.inference_mode()
    def iterate(self) -> Metrics:
        """Play a few steps; return the mean value."""
        assert self._envs is not None
        assert self._storage is not None
        timer = self._context.timer
        total = 0.0
        for slot in range(STEPS):
            self._logits, self._storage.values[slot] = self._policy(*self._storage.load(slot))
            self._decided = slot
            played = self._policy.distribution
            best = self._greedy
            action = played.best(self._logits) if best else played.sample(self._logits, self._generator)[0]
            self._storage.actions[slot] = action
            self._storage.publish_actions(slot)
            total += float(self._storage.values[slot].mean())
            timer.lap("inference")
            self._envs.advance(slot)
        self._envs.carry()
        timer.lap("python")
        return {"value_mean": total / STEPS}

    def resize(self, num_envs: int) -> None:
        """Go on with another number of environments."""
        self.close()
        self.start(num_envs)

    def inspect(self, row: int) -> PolicyOutput | None:
        """What the policy thought of a row at the last step; None before the first."""
        if self._logits is None or self._storage is None or row >= len(self._logits):
            return None
        value = self._storage.values[self._decided, row]
        return policy_output(self._policy.distribution, self._storage.units, self._logits[row], value)

    def values(self, slots: slice) -> Array | None:
        """The value estimates behind the decisions of some slots, `(slots, rows)`."""
        return None if self._storage is None else self._storage.values[slots].cpu().numpy()

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights."""
        return {f"policy.{name}": copied(value) for name, value in self._policy.state_dict().items()}, {}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Play with the weights of a training's state; the rest of it is not needed.

        Raises:
            WrongCheckpoint: They are those of another network.
        """
        del data
        load_policy(self._policy, {name: torch.as_tensor(tensor) for name, tensor in tensors.items()})

    def finish(self) -> Metrics:
        """Nothing."""
        return {}

    def close(self) -> None:
        """Let go of the buffer and close the environments."""
        self._logits = None
        if self._storage is not None:
            self._storage.close()
            self._storage = None
        if self._envs is not None:
            self._envs.close()
            self._envs = None
