"""Where a learner draws transitions from: the newest replay, and older ones until it is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ...envs.fields import Array
from .batches import Transitions
from .replay import Replay

GENERATOR = "generator.replay"
"""The name of the random generator in a checkpoint."""


class ReplaySource:
    """The replays of a learner. Others of another N may come after each other."""

    def __init__(self) -> None:
        self._replay: Replay | None = None
        self._older: list[Replay] = []
        self._generator: Array | None = None

    def open(self, replay: Replay, older: Sequence[Replay] = ()) -> None:
        """Draw transitions from `replay`, and from older ones until it is full."""
        self._replay, self._older = replay, list(older)
        if self._generator is not None:
            replay.set_generator(self._generator)
            self._generator = None

    @property
    def replays(self) -> list[Replay]:
        """The replays that transitions are drawn from, the newest one last."""
        return [*self._older, *([] if self._replay is None else [self._replay])]

    def release(self) -> None:
        """Forget the replays."""
        self._replay, self._older = None, []

    def sample(self, count: int) -> list[tuple[Replay, Transitions]]:
        """Draw transitions; of older replays, as large a share as the newest one is not filled yet.

        Raises:
            NothingToSample: There is none.
        """
        assert self._replay is not None
        replay = self._replay
        if replay.filled == 1:
            self._older = []
        if not self._older:
            return [(replay, replay.sample(count))]
        first, last = replay.window
        new = int(replay.filled * count) if last >= first else 0
        parts = np.array_split(np.arange(count - new), len(self._older))
        drawn = [(replay, new), *zip(self._older, map(len, parts), strict=True)]
        return [(each, each.sample(part)) for each, part in drawn if part]

    def state(self) -> dict[str, Tensor]:
        """Return a copy of the state of the newest replay's random generator, for a checkpoint."""
        assert self._replay is not None
        return {GENERATOR: torch.from_numpy(self._replay.generator().view(np.int64))}

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Let the next replay continue with the generator of `state`."""
        self._generator = tensors[GENERATOR].numpy().view(np.uint64)
