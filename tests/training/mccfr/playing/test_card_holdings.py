"""All of hold'em's hands at once, on tables with random buckets."""

import numpy as np
import pytest

from pac.envs.poker.cards.deal import look_up_many
from pac.envs.poker.cards.evaluator import strength
from pac.envs.poker.cards.words import HOLE_CARDS, HOLE_WORDS, HOLES, hole_of, word_of
from pac.envs.poker.holdem import holdem
from pac.envs.poker.sizes import sizes_of
from pac.envs.poker.tree import DECISION
from pac.training.mccfr.playing.card_holdings import CardHoldings
from pac.training.mccfr.playing.local_best_response import local_best_response
from pac.training.mccfr.playing.matches import BLOCK, bot, match
from pac.training.mccfr.playing.resolving import Resolver, ResolverSettings

from ....envs.poker.cards.made_up import random_tables
from ....envs.poker.cards.twin import cards_of


def cards(text):
    """Return cards from text: `AsKd`."""
    return tuple(cards_of(text))


def hole(text):
    """Return the number of a pair of cards."""
    return hole_of(*cards_of(text))


BUCKETS = 5
BOARDS = {0: (), 1: cards("QsJs2c"), 2: cards("QsJs2c7d"), 3: cards("QsJs2c7dTs")}


@pytest.fixture(scope="module")
def game():
    """Return hold'em of few bets, with few buckets."""
    return holdem(sizes_of("fcpa"), 100, (BUCKETS,) * 3)


@pytest.fixture(scope="module")
def few():
    """Return the hands with as many buckets as the game has."""
    return CardHoldings(random_tables(BUCKETS, BUCKETS, BUCKETS))


@pytest.fixture(scope="module")
def tables():
    """Return tables in which nearly every board and pair of cards has its own bucket."""
    return random_tables(256, 256, 256)


@pytest.fixture(scope="module")
def holdings(tables):
    return CardHoldings(tables)


@pytest.mark.thorough
@pytest.mark.parametrize("street", BOARDS)
def test_buckets_are_those_of_dealt_hands(tables, holdings, street):
    """The same as for a single deal; a hand that shares a card with the board has none."""
    found = holdings.buckets(0, BOARDS[street])
    board = sum(word_of(card) for card in BOARDS[street])
    assert ((found < 0) == ((HOLE_WORDS & board) != 0)).all()
    rest = [card for card in range(52) if card not in BOARDS[3]]
    random, buckets = np.random.default_rng(street), np.zeros((20, 4, 2), np.int32)
    hands = np.array([[*random.choice(rest, 4, replace=False), *BOARDS[3]] for _ in buckets])
    look_up_many(tables, hands, buckets, np.zeros(20, np.int8))
    for held, bucket in zip(hands, buckets, strict=True):
        assert found[holdings.number(tuple(held[:2].tolist()))] == bucket[street, 0]


@pytest.mark.thorough
def test_the_hands_that_the_opponent_can_hold(holdings):
    """Every pair without own cards and cards of the board: 45 choose 2 after the flop."""
    free = holdings.against(0, hole("AsKs"), BOARDS[1])
    assert free.sum() == 47 * 46 / 2
    assert not free[hole("AsAd")]
    assert free[hole("AcAd")]


@pytest.mark.thorough
def test_the_best_hand_wins_against_all(holdings):
    """A royal flush on the river wins 1 against every possible hand."""
    hand = hole("AsKs")
    fares = holdings.equities(0, hand, BOARDS[3], np.random.default_rng(0))
    assert (fares[holdings.against(0, hand, BOARDS[3])] == 1).all()


def test_on_the_turn_all_rivers_count(holdings):
    """The equity of a hand against another is the mean over the 44 remaining rivers."""
    one, other = cards("AhQd"), cards("9s8s")
    left = [card for card in range(52) if card not in {*BOARDS[2], *one, *other}]
    signs = []
    for card in left:
        river = sum(word_of(seen) for seen in (*BOARDS[2], card))
        mine, theirs = (strength(river | sum(word_of(seen) for seen in hand)) for hand in (one, other))
        signs.append(np.sign(mine - theirs))
    fares = holdings.equities(0, hole_of(*one), BOARDS[2], np.random.default_rng(0))
    assert len(signs) == 44
    assert fares[hole_of(*other)] == pytest.approx(np.mean(signs))


def test_before_the_turn_many_boards_are_sampled(holdings):
    """Aces win about 0.64 against kings before the flop; with 64 boards the standard deviation is about 0.1."""
    fares = holdings.equities(0, hole("AsAh"), (), np.random.default_rng(0))
    assert fares[hole("KsKh")] == pytest.approx(0.64, abs=0.4)
    assert fares[holdings.against(0, hole("AsAh"), ())].mean() == pytest.approx(0.7, abs=0.1)


@pytest.mark.thorough
def test_deals_come_from_the_ranges(holdings):
    """No card occurs twice, every hand is in its range, and buckets and winners are those of the board."""
    board, random = BOARDS[3], np.random.default_rng(1)
    ranges = np.zeros((2, HOLES))
    ranges[0, [hole(text) for text in ("AcAd", "KcKd")]] = 1.0, 3.0
    ranges[1] = holdings.buckets(1, board) >= 0
    sample = holdings.deals(board, ranges, 2000, random)
    assert set(np.unique(sample.hands[:, 0])) == {hole("AcAd"), hole("KcKd")}
    assert (sample.hands[:, 0] == hole("KcKd")).mean() == pytest.approx(0.75, abs=0.05)
    assert not (HOLE_WORDS[sample.hands[:, 0]] & HOLE_WORDS[sample.hands[:, 1]]).any()
    assert sample.weight.sum() == pytest.approx(1)
    assert (sample.bucket[:, 3, 1] == holdings.buckets(1, board)[sample.hands[:, 1]]).all()
    for hand in np.unique(sample.hands[:, 0]):
        mine = sample.hands[:, 0] == hand
        fares = holdings.equities(0, int(hand), board, random)
        assert (sample.sign[mine, 0] == fares[sample.hands[mine, 1]]).all()


def test_ranges_without_a_possible_deal_are_an_error(holdings):
    """Two players cannot hold the same cards."""
    ranges = np.zeros((2, HOLES))
    ranges[:, 0] = 1
    with pytest.raises(ValueError, match="clash on"):
        holdings.deals((), ranges, 10, np.random.default_rng(0))


def test_a_shuffled_deck_has_every_card_once(holdings):
    """Two for a hand and five for the board."""
    for seed in range(50):
        hand, board = holdings.draw(np.random.default_rng(seed))
        assert len({*HOLE_CARDS[hand].tolist(), *board}) == 7


@pytest.mark.thorough
def test_what_a_local_best_response_wins(game, few):
    """The blinds of a player who folds, 1.5 chips in the mean; more from one who calls, since it bets good hands."""
    folds, calls = (local_best_response(game, bot(game, name), few, 40, threads=2) for name in ("fold", "call"))
    assert (folds.mean, folds.margin) == pytest.approx((1.5, 0))
    assert calls.mean > calls.margin > 0


@pytest.mark.thorough
@pytest.mark.parametrize(("player", "won", "margins"), [("call", 0.5, 1.5), ("allin", 1.5, 0)])
def test_a_match_against_a_player_who_folds(game, few, player, won, margins):
    """All-in wins two chips in one seat, one in the other; folding to a call loses the small blind in one seat."""
    found = match(game, bot(game, player), bot(game, "fold"), few, 2 * BLOCK)
    assert found.mean == pytest.approx(won, abs=margins * found.margin + 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("hands", [4, 1_000, 2 * BLOCK + 2])
def test_a_match_plays_the_requested_number_of_hands(game, few, hands):
    """Even if two drawn pairs of cards share a card, and if it is not a multiple of a block."""
    assert match(game, bot(game, "call"), bot(game, "allin"), few, hands).hands == hands


def waits_for_aces(game):
    """Return a strategy that is all-in with two aces and folds everything else."""
    strategy, jams = bot(game, "fold"), bot(game, "allin")
    for node in np.flatnonzero((game.tree.kind == DECISION) & (game.tree.street == 0)):
        aces = slice(game.entry(node, 0), game.entry(node, 0) + int(game.tree.degree[node]))
        strategy[aces] = jams[aces]
    return strategy


@pytest.mark.thorough
def test_an_all_in_player_against_a_player_who_waits_for_aces(game, few):
    """Aces come once in 221 hands and win 85.2 % of 200 chips; otherwise it wins the blinds, 1.5 chips on average."""
    found = match(game, bot(game, "allin"), waits_for_aces(game), few, 200_000, threads=2)
    assert found.mean == pytest.approx((220 * 1.5 - 200 * (2 * 0.852 - 1)) / 221, abs=1.5 * found.margin)
    assert found.margin < 0.1


@pytest.mark.thorough
@pytest.mark.parametrize("street", [1, 2, 3])
def test_a_decision_is_resolved(game, few, street):
    """The probabilities of every possible hand sum to 1 and differ from the blueprint's."""
    settings = ResolverSettings.read("resolver", {"iterations": 100, "deals": 300, "time_budget_ms": 600_000.0})
    resolver = Resolver(game, bot(game, "uniform"), few, settings)
    tree = game.tree
    node = int(np.flatnonzero((tree.kind == DECISION) & (tree.street == street) & (tree.degree > 2))[0])
    found = resolver.resolve(node, BOARDS[street])
    can_be = few.buckets(0, BOARDS[street]) >= 0
    assert found.probabilities[can_be].sum(axis=1) == pytest.approx(1)
    assert not found.probabilities[~can_be].any()
    assert np.abs(found.probabilities - found.blueprint).max() > 0.05
    assert found.deals >= 300
