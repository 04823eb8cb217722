"""Hold'em hands for the kernels, with a tiny random card abstraction."""

import numpy as np
import pytest

from pac.envs.poker.cards.abstraction import CardAbstraction
from pac.envs.poker.game import PokerGame
from pac.envs.poker.holdem import holdem
from pac.envs.poker.sizes import sizes_of
from pac.training.mccfr.solving.cards import CardDealer
from pac.training.mccfr.solving.sampling import SamplingSolver

from ....envs.poker.cards.made_up import random_tables
from ..tables import learned, tables

BUCKETS = (3, 4, 2)


@pytest.fixture(scope="module")
def abstraction(tmp_path_factory):
    """Buckets drawn at random."""
    flop, turn, river = (np.full(count, 1 / count) for count in BUCKETS)
    even = (flop, turn, river)
    return CardAbstraction(tmp_path_factory.getbasetemp() / "none", random_tables(*BUCKETS), even, even)


@pytest.fixture(scope="module")
def game():
    """With few bets."""
    return holdem(sizes_of("fcpa"), 20, BUCKETS)


@pytest.mark.thorough
def test_hands_are_at_the_places_of_their_buckets(game, abstraction):
    """Every entry and row is the first of a bucket of its street and player, and all buckets occur."""
    hands, chosen = CardDealer(game, abstraction).deal(1, 0, 200)
    assert chosen.tolist() == list(range(200))
    for street, count in enumerate(game.buckets):
        for player in range(2):
            column = 2 * street + player
            entry, row = (array[:200, column].astype(np.int64) for array in (hands.entries, hands.rows))
            bucket, rest = np.divmod(entry - game.entry_base[street, player], game.tree.width[street, player])
            assert not rest.any()
            assert np.array_equal(row, game.row_base[street, player] + bucket * game.tree.decisions[street, player])
            assert set(bucket) == set(range(count)) or street == 0
    assert set(hands.signs[:200, 0]) == {-1, 0, 1}
    assert (hands.signs[:, 1] == 1).all()


@pytest.mark.thorough
def test_a_hand_depends_on_its_iteration_alone(game, abstraction):
    """An iteration has the same deal for batches of any size; other iterations have other deals."""
    whole = CardDealer(game, abstraction).deal(3, 0, 60)[0].entries[:60].copy()
    parts = CardDealer(game, abstraction)
    cut = [parts.deal(3, first, 20)[0].entries[:20].copy() for first in (0, 20, 40)]
    assert np.array_equal(np.concatenate(cut), whole)
    assert len(np.unique(whole, axis=0)) > 50


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["external", "outcome"])
def test_holdem_is_learned(game, abstraction, method):
    """Batches of any size give the same tables, and the mean winnings are within the stacks."""

    def learn(*sizes):
        table, updates = tables(game)
        sampler = SamplingSolver(game, table, updates, 5, method=method, dealer=CardDealer(game, abstraction))
        done, won = 0, 0.0
        for size in sizes:
            won += sampler.run(done, size).utility_sum
            done += size
        return table, updates, won / done

    table, updates, won = learn(700)
    again, counted, _ = learn(300, 400)
    assert np.array_equal(table, again)
    assert np.array_equal(updates, counted)
    assert updates.sum() > 700
    assert np.isfinite(table).all()
    assert abs(won) < 40


def test_other_buckets_are_refused(game, abstraction):
    """The abstraction must have the number of buckets of the game."""
    with pytest.raises(ValueError, match="buckets"):
        CardDealer(holdem(sizes_of("fcpa"), 20, (3, 4, 5)), abstraction)
    with pytest.raises(ValueError, match="does not list"):
        learned(PokerGame("cards", game.tree, game.buckets), 1)
