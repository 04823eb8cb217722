"""Steps environments that do nothing but count steps and end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import ZERO_AT_FIRST, Array, Buffers
from ..slots import next_slot
from ..task import Task

TRUNCATED = 1


class NoopSlotViews:
    """Memory views of one slot, through which a number is written in a fraction of the time that NumPy takes.

    Attributes:
        shares: The first element of each observation.
        lengths: The lengths of the current episodes.
        returns: The returns of the current episodes.
        settled: Whether the fields that are the same at every step within an episode are written.
    """

    def __init__(self, part: dict[str, Array], slot: int) -> None:
        self.shares: Any = memoryview(part["observation"][slot][:, 0])
        self.lengths: Any = memoryview(part["episode_length"][slot])
        self.returns: Any = memoryview(part["episode_return"][slot])
        self.settled = False


class NoopEnvironments:
    """Environments `lo..hi` of `noop`."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        del seed  # nothing is random
        self._length = int(task.values["length"])
        self._legal = np.packbits(np.ones(task.num_actions, np.bool_), bitorder="little")
        self._part: dict[str, Array] = {name: array[:, lo:hi] for name, array in buffers.items()}
        self._slots = [NoopSlotViews(self._part, slot) for slot in range(len(buffers["action"]))]
        self._steps = [0] * (hi - lo)
        self._beats: Any = memoryview(self._part["heartbeat"][0])
        drawn = self._part.get("final_drawn")  # tasks whose environments share memory have none
        self._last_drawn: Any = [0] * (hi - lo) if drawn is None else memoryview(drawn[0])

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked environments, `(hi - lo,)`, and write their observations to `slot`."""
        part, into = self._part, self._slots[slot]
        for name in ZERO_AT_FIRST:
            part[name][slot, mask] = 0
        part["active"][slot, mask] = 1
        part["action_mask"][slot, mask] = self._legal
        into.settled = False
        for index in np.flatnonzero(mask).tolist():
            self._begin(index, into)

    def step(self, slot: int) -> None:
        """Write all fields into the next slot and reset ended environments; actions have no effect."""
        target = next_slot(slot, len(self._slots))
        into, steps, beats, length = self._slots[target], self._steps, self._beats, self._length
        if not into.settled:
            self._settle(target)
        shares, lengths, returns = into.shares, into.lengths, into.returns
        for index, before in enumerate(steps):
            steps[index] = lengths[index] = returns[index] = count = before + 1
            shares[index] = count / length
            beats[index] += 1
            if count == length:
                self._end(index, target)

    def close(self) -> None:
        """Release the buffers."""
        self._part.clear()
        self._slots.clear()

    def _begin(self, index: int, into: NoopSlotViews) -> None:
        self._steps[index] = 0
        into.shares[index] = 0
        self._part["episode"][0, index] += 1
        self._part["begun"][0, index] = self._part["episode"][0, index] + 1

    def _settle(self, slot: int) -> None:
        part = self._part
        part["active"][slot] = part["reward"][slot] = part["frames"][slot] = 1
        part["terminated"][slot] = part["truncated"][slot] = part["outcome"][slot] = 0
        part["action_mask"][slot] = self._legal
        self._slots[slot].settled = True

    def _end(self, index: int, slot: int) -> None:
        part, into = self._part, self._slots[slot]
        part["truncated"][slot, index] = 1
        part["outcome"][slot, index] = TRUNCATED
        part["final_observation"][slot, index] = part["observation"][slot, index]
        if self._last_drawn[index]:
            part["final_begun"][0, index] = part["begun"][0, index]
            self._last_drawn[index] = int(part["episode"][0, index]) + 1
        self._begin(index, into)
        into.settled = False
