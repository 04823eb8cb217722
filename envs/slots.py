"""The order in which the slots of a buffer are written. No other module computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from .errors import BadParameter

Made = TypeVar("Made")
KEPT_SLOTS = 4096
"""Slots of which something is kept. Views of a slot take kilobytes, and a replay has up to millions of slots."""


class PerSlot(dict[int, Made]):
    """What is made of a slot when it is needed, so that a step does no slicing. That of the newest slots is kept."""

    def __init__(self, make: Callable[[int], Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, slot: int) -> Made:
        """Make it."""
        if len(self) >= KEPT_SLOTS:
            del self[next(iter(self))]
        made = self[slot] = self._make(slot)
        return made


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


def rollout_spans(slots: int, rollouts: int = 1) -> list[Span]:
    """Return the steps of each whole rollout in a buffer of `slots` slots; each has one slot more than it has steps."""
    size = slots // rollouts
    return [Span(slice(first + 1, first + size), slice(first, first + size - 1)) for first in range(0, slots, size)]


class SlotOrder:
    """Which slots of a buffer have been written, and which follow.

    A buffer of one slot is stepped in place. A rollout of T steps has T + 1 slots: when it is `full`, its last slot is
    copied to slot 0 (`carry`), and the next rollout begins there. If the buffer holds several rollouts, the carry
    copies to the first slot of the next one, and the previous one can still be read. In a ring, slot 0 follows the last
    slot.

    Args:
        slots: Number of slots S.
        ring: Whether slot 0 follows slot S - 1, instead of a carry.
        rollouts: Number of rollouts that the buffer holds; each has S / rollouts slots.

    Attributes:
        slots: Number of slots S.
        head: Number of times that a slot was written; never decreases, also not at a carry.
        newest: The slot that was written last.
    """

    def __init__(self, slots: int, *, ring: bool = False, rollouts: int = 1) -> None:
        if slots % rollouts or (rollouts > 1 and (ring or slots < 2 * rollouts)):
            raise BadParameter(
                f"{rollouts} rollouts need a multiple of {rollouts} slots, at least {2 * rollouts} and not a ring, "
                f"got {slots}"
            )
        self.slots, self.ring, self.rollouts = slots, ring, rollouts
        self.head = 0
        self.newest = 0
        self._size = slots // rollouts
        self._cyclic = ring or slots == 1
        self._following = [None if self._is_last(slot) else next_slot(slot, slots) for slot in range(slots)]
        self._first = 0  # the head when episodes began, or at the last carry
        self._before: dict[int, int] = {}  # the slot with the actions that led to one to which a carry copied

    def next(self, slot: int) -> int:
        """Return the slot that a step of `slot` writes.

        Raises:
            BadParameter: No step can be made from that slot.
        """
        following = self._following[slot] if 0 <= slot < self.slots else None
        if following is None:
            last = self.slots - (1 if self._cyclic else 2)
            known = f"a slot from 0 to {last} can be stepped, got {slot}"
            raise BadParameter(known if self._cyclic else f"{known}; call carry() after slot {self._last_of(slot)}")
        return following

    def has_next(self, slot: int) -> bool:
        """Return whether a step can be made from a slot without a carry."""
        return self._following[slot] is not None

    def acted(self, slot: int) -> int:
        """Return the slot with the actions that led to `slot`, also after a carry; itself if episodes began there.

        A carry leaves them where they were, until the steps of the next rollout overwrite them.
        """
        return (slot - 1) % self.slots if self._cyclic or slot % self._size else self._before.get(slot, slot)

    @property
    def full(self) -> bool:
        """Whether the next step needs a carry first."""
        return self._is_last(self.newest)

    @property
    def acting(self) -> int:
        """The slot in which the next actions are written: the newest, or where a carry copies it if that is needed."""
        return self.carried_to if self.full else self.newest

    @property
    def carried_to(self) -> int:
        """The slot to which a carry copies the newest: the first of the next rollout."""
        return (self.newest // self._size + 1) % self.rollouts * self._size

    def begin(self, slot: int) -> None:
        """Note that first observations were written into `slot`; what other slots contain is no longer valid."""
        self.head += 1
        self.newest, self._first = slot, self.head
        self._before.clear()

    def wrote(self, slot: int, steps: int = 1) -> None:
        """Note that steps were made; the last of them wrote `slot`."""
        self.newest = slot
        self.head += steps

    def carried(self) -> None:
        """Note that the newest slot was copied to `carried_to`."""
        self._before[self.carried_to] = self.acted(self.newest)
        self.newest, self._first = self.carried_to, self.head

    def __contains__(self, slot: object) -> bool:
        """Return whether `slot` contains what was written since episodes began, or since the last carry."""
        kept = min(self.slots, self.head - self._first + 1) if self.head else 0
        return isinstance(slot, int) and 0 <= slot < self.slots and (self.newest - slot) % self.slots < kept

    def since(self, head: int) -> list[Span]:
        """Return the steps that were made after the head was `head`, oldest first.

        Steps whose results or actions were overwritten are left out: at most S - 1 are kept, and none from before a
        carry or a beginning of episodes.
        """
        left = min(self.head - max(head, self._first), max(1, self._size - 1))
        slot, spans = (self.newest - left + 1) % self.slots, []
        while left > 0:
            acted = (slot - 1) % self.slots
            count = min(left, self.slots - slot, self.slots - acted)
            spans.append(Span(slice(slot, slot + count), slice(acted, acted + count)))
            slot, left = (slot + count) % self.slots, left - count
        return spans

    def room(self, head: int) -> int:
        """Return how many steps can be made before `since(head)` loses one, where a carry loses all."""
        used = self.head - head if self._cyclic else self.newest % self._size
        return max(0, self._size - 1 - used)

    def _is_last(self, slot: int) -> bool:
        return not self._cyclic and (slot + 1) % self._size == 0

    def _last_of(self, slot: int) -> int:
        return min(slot // self._size * self._size + self._size, self.slots) - 1
