"""Assignments of iterations that several workers take from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.training.mccfr.solving.sharing import MIN_CLAIM, Assignments


def orders(*counts: int, shared: bool = True) -> Assignments:
    """Assignments of so many iterations, one after the other, from number 100."""
    count = np.array(counts, np.float32)
    first = 100 + (np.cumsum(count) - count).astype(np.int64)
    return Assignments(first, count, np.zeros(len(counts), np.int64), shared)


@given(
    counts=st.lists(st.integers(0, 10_000), min_size=1, max_size=4),
    turns=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5_000)), max_size=40),
    shared=st.booleans(),
)
def test_every_iteration_is_taken_once(counts, turns, shared):
    """Whichever worker takes from which assignment, in any order, until all are taken."""
    assigned = orders(*counts, shared=shared)
    made: list[int] = []
    for worker, most in [*turns, *((worker, 1 << 24) for worker in range(len(counts)) for _ in range(20))]:
        first, size = assigned.claim(worker % len(counts), most)
        assert size <= most
        made += range(first, first + size)
    assert sorted(made) == list(range(100, 100 + sum(counts)))


@pytest.mark.parametrize(("shared", "sizes"), [(True, [500, 250, 125, MIN_CLAIM, 61, 0]), (False, [1000, 0])])
def test_half_of_what_is_left_stays_for_others(shared, sizes):
    """Pieces get smaller towards the end if another process could help; otherwise there is one piece."""
    assigned = orders(1000, shared=shared)
    assert [assigned.claim(0, 1 << 24)[1] for _ in sizes] == sizes
