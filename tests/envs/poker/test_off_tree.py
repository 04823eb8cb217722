"""Bets that a tree does not have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pac.envs.poker.holdem import holdem
from pac.envs.poker.live import chance_of_smaller, taken_for
from pac.envs.poker.sizes import sizes_of

SHARES = st.floats(0, 20)


@pytest.fixture(scope="module")
def tree():
    """Return the standard tree, of few chips."""
    return holdem(sizes_of("standard"), 25, (50, 50, 50)).tree


@given(st.lists(SHARES, min_size=4, max_size=4).map(sorted))
def test_the_nearer_a_bet_the_likelier(shares):
    """At its neighbours a bet is certainly taken for them; the larger it is, the less often for the smaller one."""
    smaller, bet, more, larger = shares
    assume(larger - smaller > 1e-6)
    assert chance_of_smaller(smaller, larger, smaller) == pytest.approx(1)
    assert chance_of_smaller(smaller, larger, larger) == 0
    one, other = chance_of_smaller(smaller, larger, bet), chance_of_smaller(smaller, larger, more)
    assert 1 + 1e-9 >= one >= other >= 0


def test_a_known_case():
    """A bet of half the pot between a check and a pot is taken for the check a third of the time."""
    assert chance_of_smaller(0, 1, 0.5) == pytest.approx(1 / 3)


@pytest.mark.thorough
@given(st.floats(0, 1, exclude_max=True))
def test_what_the_tree_has_is_taken_for_itself(tree, coin):
    """The first decision's raises to 5, 7 and 10 chips are what they are, whatever the coin."""
    actions = tree.actions_of(0)
    assert [action.chips for action in actions] == [1, 2, 5, 7, 10]
    for place in (2, 3, 4):
        assert taken_for(tree, 0, actions[place].chips, coin) == place


@given(st.floats(0, 1, exclude_max=True))
def test_beyond_the_ends(tree, coin):
    """Less than the smallest raise is the smallest, more than the largest is the largest."""
    assert [taken_for(tree, 0, chips, coin) for chips in (3, 4, 11, 50)] == [2, 2, 4, 4]


def test_between_two_raises_the_coin_decides(tree):
    """Six chips are taken for five or seven, as often as the mapping says."""
    places = [taken_for(tree, 0, 6, coin) for coin in np.linspace(0, 1, 1000, endpoint=False)]
    assert set(places) == {2, 3}
    assert np.mean(np.array(places) == 2) == pytest.approx(chance_of_smaller(0.75, 1.25, 1.0), abs=2e-3)


def test_a_raise_where_the_tree_has_none(tree):
    """It is taken for a call."""
    node = next(n for n in range(len(tree.kind)) if [action.name for action in tree.actions_of(n)] == ["fold", "call"])
    assert taken_for(tree, node, 40, 0.5) == 1
