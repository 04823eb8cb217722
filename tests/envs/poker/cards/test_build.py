"""Buckets of a few boards, and of all."""

from __future__ import annotations

import re
from itertools import permutations

import numpy as np
import pytest

from pac.envs import BadParameter
from pac.envs.poker.cards.__main__ import main
from pac.envs.poker.cards.abstraction import card_abstraction, open_abstraction
from pac.envs.poker.cards.build import UNITS, build_river, build_street, sort_in, write_points
from pac.envs.poker.cards.clusters import ordered
from pac.envs.poker.cards.deal import DEALT, deal_many, look_up_many
from pac.envs.poker.cards.equity import BINS, FULL, RiverEquities, histograms, river_equities
from pac.envs.poker.cards.parallel import ThreadCrew
from pac.envs.poker.cards.store import opened
from pac.envs.poker.cards.words import HOLE_CARDS, HOLE_WORDS, HOLES, hole_of, renamed, renamed_card, renamings, word_of

from .made_up import found_boards
from .test_equity import ALL, rivers_of
from .twin import cards_of

TURNS = found_boards(4)
TURN = 8_000
BOARD = [rank * 4 + suit for rank in range(13) for suit in range(4) if TURNS.words[TURN] >> (suit * 13 + rank) & 1]
CODES = [sum(suit << 2 * place for place, suit in enumerate(order)) for order in permutations(range(4))]


@pytest.fixture(scope="module")
def rivers():
    """Return the equities on the rivers of one turn."""
    return rivers_of(BOARD)


@pytest.fixture(scope="module")
def points(rivers):
    """Return the points of all hands on that turn."""
    bins, found = np.empty((HOLES, BINS + 1), np.uint16), np.empty((HOLES, BINS), np.int16)
    histograms(rivers, TURNS.words[TURN], 4, ALL, bins)
    write_points(bins, UNITS[4], found)
    return found


@pytest.fixture(scope="module")
def street(rivers):
    """Return the buckets of that turn, as if there were no other."""
    with ThreadCrew(2) as crew:
        one = TURNS._replace(words=TURNS.words[TURN : TURN + 1], weights=TURNS.weights[TURN : TURN + 1])
        return build_street(4, one, rivers, 7, seed=0, crew=crew)


def test_a_hand_belongs_to_the_nearest_centre(rivers, points):
    """Every hand's bucket is the one whose centre is nearest by the earth mover's distance; clashing ones have 0."""
    centres = ordered(points[::100])
    table, mass, sums = np.empty((1, HOLES), np.uint8), *(np.zeros(len(centres), np.int64) for _ in range(2))
    sort_in(rivers, TURNS.words[TURN : TURN + 1], np.array([3]), 4, centres, table, mass, sums)
    away = np.abs(points[:, None].astype(np.int64) - centres).sum(axis=2)
    live = (TURNS.words[TURN] & HOLE_WORDS) == 0
    assert (away[live, table[0, live]] == away[live].min(axis=1)).all()
    assert not table[0, ~live].any()
    assert mass.tolist() == (3 * np.bincount(table[0, live], minlength=len(centres))).tolist()
    assert sums.sum() == 3 * points[live].sum(dtype=np.int64)


def test_buckets_rise_with_equity(street, points):
    """Buckets are numbered by the mean equity of their hands, and their shares are those of the hands."""
    live = (TURNS.words[TURN] & HOLE_WORDS) == 0
    assert (np.diff(street.equities) > 0).all()
    np.testing.assert_allclose(street.shares, np.bincount(street.table[0, live]) / live.sum())
    means = (points.sum(axis=1, dtype=np.int64) / (46 * UNITS[4]) + 0.5) / BINS
    for bucket, equity in enumerate(street.equities):
        assert means[live & (street.table[0] == bucket)].mean() == pytest.approx(equity)


@pytest.mark.thorough
def test_hands_that_are_the_same_up_to_suits_share_a_bucket():
    """Where renaming suits leaves the board as it is, it leaves the buckets as they are."""
    board = cards_of("AhKdQdJd")
    word = sum(word_of(card) for card in board)
    one = TURNS._replace(words=np.array([word]), weights=np.array([1]))
    with ThreadCrew(1) as crew:
        table = build_street(4, one, rivers_of(board), 9, seed=0, crew=crew).table[0]
    same = [code for code in CODES if renamed(word, code) == word]
    assert len(same) > 1
    for code in same:
        for hole, (high, low) in enumerate(HOLE_CARDS.tolist()):
            assert table[hole_of(renamed_card(high, code), renamed_card(low, code))] == table[hole]


def test_more_river_buckets_than_equities_leave_some_empty():
    """There are as many buckets as wanted; on the river each equity has its own, and the others have no hands."""
    found = found_boards(5)
    few = found._replace(words=found.words[::3000], weights=found.weights[::3000])
    equities = np.empty((len(few.words), HOLES), np.uint16)
    river_equities(few.words, 0, len(few.words), equities)
    with ThreadCrew(1) as crew:
        street = build_river(few, RiverEquities(found.table, equities, *renamings()), 3000, seed=0, crew=crew)
    there = np.unique(equities[equities <= FULL])
    assert len(street.shares) == len(street.equities) == 3000
    np.testing.assert_allclose(street.equities[: len(there)], there / FULL)
    assert street.shares[: len(there)].all()
    assert not street.shares[len(there) :].any()
    live = equities <= FULL
    np.testing.assert_array_equal(street.table[live], np.searchsorted(there, equities[live]))


@pytest.mark.parametrize("buckets", [(0, 50, 50), (50, 50), (50, 50, 70_000)])
def test_impossible_buckets_are_refused(buckets, tmp_path):
    """What are no three numbers of buckets is an error that says what is."""
    with pytest.raises(BadParameter, match="three numbers from 1 to 65,536"):
        card_abstraction(buckets, folder=tmp_path)


def test_the_command_refuses_bad_buckets(capsys):
    """A wrong number of buckets is bad usage, said in a sentence."""
    assert main(["50", "50"]) == 2
    assert "three numbers" in capsys.readouterr().err


@pytest.fixture(scope="module")
def abstraction(tmp_path_factory):
    """Return a whole abstraction, which takes some ten seconds of two cores."""
    return card_abstraction((30, 40, 300), workers=2, folder=tmp_path_factory.mktemp("cards"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_whole_abstraction_is_in_balance(abstraction):
    """All hands together have a share of one, and an equity of one half: exactly on the river, before it by bins."""
    assert abstraction.buckets == (169, 30, 40, 300)
    assert [table.dtype for table in abstraction.tables[3:]] == [np.uint8, np.uint8, np.uint16]
    for shares, equities, exact in zip(abstraction.shares, abstraction.equities, (3e-4, 3e-4, 1e-12), strict=True):
        assert shares.sum() == pytest.approx(1)
        assert shares @ equities == pytest.approx(0.5, abs=exact)
        assert (np.diff(equities) > 0).all()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_renaming_suits_changes_no_bucket(abstraction):
    """Every player of every deal has the same buckets, and the same result, when all suits are renamed."""
    cards = np.empty((2_400, DEALT), np.int64)
    deal_many(np.uint64(9), np.uint64(0), cards)
    others = [[renamed_card(card, CODES[at % 24]) for card in hand] for at, hand in enumerate(cards.tolist())]
    results = []
    for dealt in (cards, np.array(others)):
        buckets, signs = np.empty((len(cards), 4, 2), np.int32), np.empty(len(cards), np.int8)
        look_up_many(abstraction.tables, dealt, buckets, signs)
        results.append((buckets, signs))
    (buckets, signs), (again, same) = results
    np.testing.assert_array_equal(buckets, again)
    np.testing.assert_array_equal(signs, same)
    assert (buckets.max(axis=(0, 2)) > 20).all()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_abstraction_is_loaded_and_the_same_when_built_again(abstraction, tmp_path):
    """What was built is loaded without building, and building it anew with other threads makes the same arrays."""
    reported = []
    again = card_abstraction(
        (30, 40, 300), folder=abstraction.path.parent, progress=lambda *news: reported.append(news)
    )
    assert not reported
    other = card_abstraction((30, 40, 300), folder=tmp_path, workers=3, progress=lambda *news: reported.append(news))
    for name, array in opened(again.path).items():
        np.testing.assert_array_equal(opened(other.path)[name], array)
    assert reported[-1] == ("river buckets", 1.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worker_opens_what_the_session_verified(abstraction):
    """Another process opens the same tables by their path, as they are."""
    found = open_abstraction(abstraction.path)
    assert found.buckets == abstraction.buckets
    for mine, others in zip(found.tables, abstraction.tables, strict=True):
        assert mine.dtype == others.dtype
        np.testing.assert_array_equal(mine[::1000], others[::1000])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_tells_about_an_abstraction(abstraction, capsys, monkeypatch):
    """The command finds what was built, and prints its file and shares that add up on every street."""
    monkeypatch.setenv("PAC_CACHE_DIR", str(abstraction.path.parent))
    assert main(["30", "40", "300"]) == 0
    out = capsys.readouterr().out
    assert abstraction.path.name in out.replace("\n", "")
    shares = re.findall(r"(flop|turn|river) \S+ +\S+ +([\d.]+)%", out)
    for street in ("flop", "turn", "river"):
        assert sum(float(share) for name, share in shares if name == street) == pytest.approx(100, abs=1)
