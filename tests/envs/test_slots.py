"""The order of slots: rollouts, a single slot and a ring."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import BadParameter
from pac.envs.slots import KEPT_SLOTS, PerSlot, SlotOrder

ORDERS = st.one_of(
    st.builds(SlotOrder, st.integers(1, 6), ring=st.booleans()),
    st.builds(
        lambda size, rollouts: SlotOrder(size * rollouts, rollouts=rollouts), st.integers(2, 5), st.integers(2, 3)
    ),
)
ACTS = st.lists(st.sampled_from(["step", "step", "step", "step", "carry", "begin"]), max_size=40)


class Written:
    """What the slots of a buffer contain, in numbers of steps.

    Attributes:
        order: The order under test.
        results: Per slot, the number of the step whose results it contains; -1 where a carry or a start left none.
        actions: Per slot, the number of the step whose actions it contains.
    """

    def __init__(self, order: SlotOrder) -> None:
        self.order = order
        self.results, self.actions = [-1] * order.slots, [-1] * order.slots
        order.begin(0)

    def act(self, what: str) -> None:
        order = self.order
        if what == "step" and not order.full:
            acted, written = order.newest, order.next(order.newest)
            self.actions[acted] = self.results[written] = order.head
            order.wrote(written)
        elif what == "begin":
            order.begin(0)
        elif order.full or what == "carry":
            self.results[order.carried_to] = self.results[order.newest]
            order.carried()


@given(ORDERS, ACTS, st.integers(0, 40))
def test_the_steps_since_a_head_are_the_last_ones(order, acts, head):
    """The slots of results and of actions contain the same consecutive steps, up to the newest."""
    written = Written(order)
    for what in acts:
        written.act(what)
    spans = order.since(head)
    results = [step for span in spans for step in written.results[span.written]]
    actions = [step for span in spans for step in written.actions[span.acted]]
    assert results == actions == list(range(order.head - len(results), order.head))
    assert len(results) == sum(span.steps for span in spans) <= max(0, order.head - head)


@given(ORDERS, ACTS, st.integers(0, 8))
def test_as_many_steps_as_there_is_room_for_lose_none(order, acts, ahead):
    """Without a carry, all steps since a head can be read until the room for it is used up, and then no more."""
    written = Written(order)
    for what in acts:
        written.act(what)
    if order.full:
        written.act("carry")
    head = order.head
    for _ in range(min(ahead, order.room(head))):
        written.act("step")
    for _ in range(order.room(head)):
        written.act("step")
    made = order.head - head
    assert sum(span.steps for span in order.since(head)) == made
    assert order.room(head) == 0
    if order.slots > 1:
        written.act("step")
        written.act("step")
        assert sum(span.steps for span in order.since(head)) < order.head - head


@given(ORDERS, ACTS)
def test_valid_slots_are_those_written_last(order, acts):
    """They contain consecutive steps that end with the newest, each of them once."""
    written = Written(order)
    for what in acts:
        written.act(what)
    valid = [slot for slot in range(-1, order.slots + 1) if slot in order]
    assert order.newest in valid
    assert all((order.newest - back) % order.slots in valid for back in range(len(valid)))
    assert sum(span.steps for span in order.since(0)) in {len(valid) - 1, 1}


@given(ORDERS, ACTS)
def test_the_head_never_decreases(order, acts):
    """It counts every written slot, and a carry writes none."""
    written = Written(order)
    for what in acts:
        before, full = order.head, order.full
        written.act(what)
        assert order.head == before + (what == "begin" or (what == "step" and not full))


@given(ORDERS)
def test_every_slot_that_can_be_stepped_has_a_next_one(order):
    """The actions that led to the next slot are in the slot itself."""
    count = 0
    for slot in range(order.slots):
        try:
            assert order.acted(order.next(slot)) == slot
            count += 1
        except BadParameter:
            assert (slot + 1) % (order.slots // order.rollouts) == 0
    assert count >= order.slots - order.rollouts


@pytest.mark.parametrize(("order", "led"), [(SlotOrder(4), (2, 2)), (SlotOrder(6, rollouts=2), (1, 4))])
def test_a_carry_does_not_forget_the_actions(order, led):
    """They stay in the slot before the one that was copied; the first observations of episodes have none."""
    order.begin(0)
    assert order.acted(0) == 0
    for slot in led:
        while not order.full:
            order.wrote(order.next(order.newest))
        order.carried()
        assert order.acted(order.newest) == slot
    order.begin(0)
    assert order.acted(0) == 0


def test_the_last_slot_of_a_rollout_cannot_be_stepped():
    """The error says what to call."""
    with pytest.raises(BadParameter, match=r"0 to 2 can be stepped, got 3; call carry\(\) after slot 3"):
        SlotOrder(4).next(3)


def test_rollouts_follow_each_other():
    """A carry copies to the first slot of the other rollout; the steps of the one before can still be read there."""
    order = SlotOrder(6, rollouts=2)
    order.begin(0)
    slots = []
    for _ in range(3):
        for _ in range(2):
            order.wrote(order.next(order.newest))
            slots.append(order.newest)
        assert order.full
        order.carried()
    assert slots == [1, 2, 4, 5, 1, 2]
    assert order.newest == 3
    with pytest.raises(BadParameter, match=r"call carry\(\) after slot 2"):
        order.next(2)


@pytest.mark.parametrize(("slots", "ring"), [(5, False), (2, False), (4, True)])
def test_rollouts_have_equally_many_slots(slots, ring):
    """Each has at least two, and a ring has none."""
    with pytest.raises(BadParameter, match=f"2 rollouts need .* got {slots}"):
        SlotOrder(slots, ring=ring, rollouts=2)


def test_a_ring_goes_on_at_slot_0():
    """Steps that wrap around come in spans in which results and actions are contiguous."""
    order = SlotOrder(4, ring=True)
    order.begin(0)
    for _ in range(5):
        order.wrote(order.next(order.newest))
    assert order.newest == 1
    assert [(span.written, span.acted) for span in order.since(0)] == [
        (slice(3, 4), slice(2, 3)),
        (slice(0, 1), slice(3, 4)),
        (slice(1, 2), slice(0, 1)),
    ]


def test_what_is_made_of_a_slot_is_kept_for_some_slots():
    """A ring of a million slots has views of the newest ones only."""
    made = []

    def make(slot: int) -> int:
        made.append(slot)
        return -slot

    kept = PerSlot(make)
    assert [kept[slot] for slot in (0, 1, 1)] == [0, -1, -1]
    assert made == [0, 1]
    for slot in range(KEPT_SLOTS + 1):
        assert kept[slot] == -slot
    assert len(kept) == KEPT_SLOTS
    assert 0 not in kept
