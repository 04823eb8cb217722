"""The order in which the slots of a buffer are written. No other module computes it."""

from __future__ import annotations

from typing import NamedTuple

from .errors import BadParameter


def next_slot(slot: int, slots: int) -> int:
    """Return the slot that a step of `slot` writes, in a buffer of `slots` slots: the next one, cyclically."""
    return (slot + 1) % slots


class Span(NamedTuple):
    """Consecutive steps whose results and actions are each contiguous in the buffer.

    Attributes:
        written: The slots with their results.
        acted: The slots with their actions and the observations before them; as many.
    """

    written: slice
    acted: slice

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self.written.stop - self.written.start)


def rollout_span(slots: int) -> Span:
    """Return the steps of a whole rollout in a buffer of `slots` slots, one more than it has steps."""
    return Span(slice(1, slots), slice(0, slots - 1))


class SlotOrder:
    """Which slots of a buffer have been written, and which follow.

    A buffer of one slot is stepped in place. A rollout of T steps has T + 1 slots: when it is `full`, its last slot is
    copied to slot 0 (`carry`), and the next rollout begins there. In a ring, slot 0 follows the last slot.

    Args:
        slots: Number of slots S.
        ring: Whether slot 0 follows slot S - 1, instead of a carry.

    Attributes:
        slots: Number of slots S.
        ring: The same.
        head: Number of times that a slot was written; never decreases, also not at a carry.
        newest: The slot that was written last.
    """

    def __init__(self, slots: int, *, ring: bool = False) -> None:
        self.slots, self.ring = slots, ring
        self.head = 0
        self.newest = 0
        self._cyclic = ring or slots == 1
        self._following = [next_slot(slot, slots) for slot in range(slots if self._cyclic else slots - 1)]
        self._first = 0  # the head when episodes began, or at the last carry

    def next(self, slot: int) -> int:
        """Return the slot that a step of `slot` writes.

        Raises:
            BadParameter: No step can be made from that slot.
        """
        if not 0 <= slot < len(self._following):
            known = f"a slot from 0 to {len(self._following) - 1} can be stepped, got {slot}"
            raise BadParameter(known if self._cyclic else f"{known}; call carry() after slot {self.slots - 1}")
        return self._following[slot]

    def acted(self, slot: int) -> int:
        """Return the slot with the actions that led to `slot`; a rollout's slot 0 has none and gives 0."""
        return (slot - 1) % self.slots if self._cyclic or slot else 0

    @property
    def full(self) -> bool:
        """Whether the next step needs a carry first."""
        return not self._cyclic and self.newest == self.slots - 1

    @property
    def acting(self) -> int:
        """The slot in which the next actions are written: the newest, or slot 0 if a carry is needed first."""
        return 0 if self.full else self.newest

    def begin(self, slot: int) -> None:
        """Note that first observations were written into `slot`; what other slots contain is no longer valid."""
        self.head += 1
        self.newest, self._first = slot, self.head

    def wrote(self, slot: int, steps: int = 1) -> None:
        """Note that steps were made; the last of them wrote `slot`."""
        self.newest = slot
        self.head += steps

    def carried(self) -> None:
        """Note that the newest slot was copied to slot 0."""
        self.newest, self._first = 0, self.head

    def __contains__(self, slot: object) -> bool:
        """Return whether `slot` contains what was written since episodes began, or since the last carry."""
        kept = min(self.slots, self.head - self._first + 1) if self.head else 0
        return isinstance(slot, int) and 0 <= slot < self.slots and (self.newest - slot) % self.slots < kept

    def since(self, head: int) -> list[Span]:
        """Return the steps that were made after the head was `head`, oldest first.

        Steps whose results or actions were overwritten are left out: at most S - 1 are kept, and none from before a
        carry or a beginning of episodes.
        """
        left = min(self.head - max(head, self._first), max(1, self.slots - 1))
        slot, spans = (self.newest - left + 1) % self.slots, []
        while left > 0:
            acted = (slot - 1) % self.slots
            count = min(left, self.slots - slot, self.slots - acted)
            spans.append(Span(slice(slot, slot + count), slice(acted, acted + count)))
            slot, left = (slot + count) % self.slots, left - count
        return spans

    def room(self, head: int) -> int:
        """Return how many steps can be made before `since(head)` loses one, where a carry loses all."""
        used = self.head - head if self._cyclic else self.newest
        return max(0, self.slots - 1 - used)
