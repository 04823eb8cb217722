"""The rules of shops, growth, kinds, items, income and rewards, on states made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pac.envs.autochess import layout as at
from pac.envs.autochess.creatures import ATTACK, BEAST, FLAME, KINDS
from pac.envs.autochess.kernels import last_terms, round_terms
from pac.envs.autochess.legal import is_legal
from pac.envs.autochess.market import fill_pool, receive
from pac.envs.autochess.rounds import begin, count_streak, income, match
from pac.envs.autochess.tables import COMPONENTS, ITEMS, UNIT_STATS
from pac.envs.autochess.teams import muster
from pac.envs.autochess.turn import add_xp, take
from pac.envs.autochess.views import new_work

from .play import NUMBERS, Seat, species


@pytest.fixture
def seat() -> Seat:
    """The first player of an otherwise empty game, with ten gold and a team of four."""
    game = np.zeros(at.WORDS, np.int64)
    fill_pool(game)
    game[at.STAGE] = 6
    seat = Seat(game)
    seat[at.ALIVE], seat[at.LIFE], seat[at.GOLD], seat[at.LEVEL] = 1, 100, 10, 4
    seat.refresh()
    return seat


def do(seat: Seat, action: int) -> None:
    """Take an action that must be legal."""
    seat.refresh()
    assert is_legal(seat.game, seat.me, action), action
    take(seat.game, seat.me, action, at.TURN_ACTIONS)


def test_a_game_begins_by_the_rules():
    """Everybody has 100 life, 5 gold, level 2, a creature, six offers to pick from and a full shop."""
    game = np.zeros(at.WORDS, np.int64)
    begin(game, np.uint64(1))
    assert game[at.STAGE] == 1
    for number in range(at.SEATS):
        seat = Seat(game, number)
        assert (seat[at.LIFE], seat[at.GOLD], seat[at.LEVEL]) == (100, 5, 2)
        assert sum(seat[at.UNIT + cell] > 0 for cell in range(at.CELLS)) == 1
        assert all(seat[at.OFFER_UNIT + offer] and seat[at.OFFER_ITEM + offer] for offer in range(at.OFFERS))
        assert all(seat[at.SHOP + slot] for slot in range(6))


def test_three_become_one_of_two_stars(seat: Seat):
    """The third copy bought makes a creature of two stars on the board, even with a full bench."""
    seat.put(12, "Cindle")
    for cell, name in enumerate(
        ["Cindle", "Ripplet", "Thornby", "Zapling", "Rimelet", "Pebbloth", "Whiffin", "Gloomkin"]
    ):
        seat.put(cell, name)
    seat[at.SHOP] = species("Cindle")
    do(seat, at.BUY)
    assert seat[at.UNIT + 12] == species("Cindle", 2)
    assert (seat[at.UNIT], seat[at.SHOP], seat[at.GOLD]) == (0, 0, 9)


def test_nine_become_one_of_three_stars(seat: Seat):
    """Stars add up in one go: two of two stars and two of one, and the third."""
    for cell, stars in ((8, 2), (9, 2), (0, 1), (1, 1)):
        seat.put(cell, "Cindle", stars)
    receive(seat.game, seat.me, species("Cindle"))
    cells = [seat[at.UNIT + cell] for cell in range(at.CELLS)]
    assert sorted(cells)[-2:] == [0, species("Cindle", 3)]


def test_a_full_bench_refuses_others(seat: Seat):
    """Without room only what completes three can be bought."""
    for cell in range(at.BENCH):
        seat.put(cell, ["Cindle", "Ripplet"][cell % 2], 1 + cell // 4)
    seat[at.SHOP], seat[at.SHOP + 1] = species("Cindle"), species("Zapling")
    seat.refresh()
    assert is_legal(seat.game, seat.me, at.BUY)
    assert not is_legal(seat.game, seat.me, at.BUY + 1)


@pytest.mark.parametrize(("stars", "copies"), [(1, 1), (2, 3), (3, 9)])
def test_a_sale_returns_copies_and_items(seat: Seat, stars: int, copies: int):
    """A creature sells for cost times stars; its copies go to the pool and its items to the bag."""
    line = NUMBERS["Cindle"]
    seat.game[at.POOL + line] -= copies
    seat.put(9, "Cindle", stars)
    seat[at.GEAR + 9] = 12 | 13 << 8
    do(seat, at.SELL + 9)
    assert seat[at.GOLD] == 10 + stars
    assert seat.game[at.POOL + line] == 27
    assert [seat[at.HELD], seat[at.HELD + 1], seat[at.GEAR + 9]] == [12, 13, 0]


def test_a_move_takes_the_first_of_the_bench(seat: Seat):
    """A move takes the first of the bench, to free cells, to the board only while the team has room."""
    for cell, name in ((2, "Cindle"), (5, "Zapling"), (8, "Ripplet"), (9, "Thornby"), (10, "Rimelet")):
        seat.put(cell, name)
    do(seat, at.MOVE + 20)
    assert (seat[at.UNIT + 2], seat[at.UNIT + 20]) == (0, species("Cindle"))
    assert not is_legal(seat.game, seat.me, at.MOVE + 21)
    assert is_legal(seat.game, seat.me, at.MOVE + 2)
    do(seat, at.MOVE)
    assert not any(is_legal(seat.game, seat.me, at.MOVE + cell) for cell in range(at.CELLS))


def test_a_lock_keeps_the_shop_and_is_used_once(seat: Seat):
    """Locking is possible once a turn."""
    do(seat, at.LOCK)
    assert seat[at.LOCKED] == 1
    assert not is_legal(seat.game, seat.me, at.LOCK)


def test_a_free_roll_costs_nothing(seat: Seat):
    """A roll takes a free one first, then a gold; what was offered goes back."""
    seat[at.FREE_ROLLS] = 1
    do(seat, at.REFRESH)
    assert (seat[at.GOLD], seat[at.FREE_ROLLS]) == (10, 0)
    do(seat, at.REFRESH)
    assert seat[at.GOLD] == 9
    assert seat.game[at.POOL : at.POOL + 94].sum() == 1802 - 6


def test_two_components_make_an_item(seat: Seat):
    """A pair leaves the bag and its item enters; at the turn's end the worthiest creature carries it."""
    seat[at.HELD], seat[at.HELD + 1], seat[at.HELD + 2] = 5, 1, 5
    seat.put(8, "Cindle")
    seat.put(9, "Zapling", 2)
    do(seat, at.COMBINE + 1)
    assert [seat[at.HELD], seat[at.HELD + 1], seat[at.HELD + 2]] == [1, 1 + _item(4, 4), 0]
    do(seat, at.END_TURN)
    assert (seat[at.GEAR + 9], seat[at.HELD + 1]) == (1 + _item(4, 4), 0)


def _item(first: int, second: int) -> int:
    one, other = COMPONENTS[first], COMPONENTS[second]
    return [item.name for item in ITEMS].index(f"{one.quality} {other.thing}")


def test_the_turns_end_fills_the_team(seat: Seat):
    """The worthiest of the bench go to the board until the team is full."""
    for cell in range(6):
        seat.put(cell, ["Cindle", "Ripplet", "Thornby", "Zapling", "Rimelet", "Pebbloth"][cell], 2 if cell == 5 else 1)
    do(seat, at.END_TURN)
    board = [seat[at.UNIT + cell] for cell in range(at.BENCH, at.CELLS) if seat[at.UNIT + cell]]
    assert len(board) == 4
    assert species("Pebbloth", 2) in board


def test_kinds_count_lines_once_and_strengthen_their_holders(seat: Seat):
    """Two of one line count once; three lines of flame give two attack to each that holds it."""
    flames = [line for line, number in NUMBERS.items() if FLAME in _kinds(number)][:3]
    for cell, name in enumerate([*flames, flames[0]]):
        seat.put(8 + cell, name)
    seat.refresh()
    assert seat[at.KIND + FLAME] == 3
    work = new_work()
    size = muster(seat.game, seat.me, 0, work.one, work.cells)
    rows = work.one.reshape(9, -1)[:size]
    gained = [int(row[ATTACK] - UNIT_STATS[row[11], ATTACK]) for row in rows]
    others = 2 if KINDS[BEAST].team else 0
    assert all(gain >= 2 + others for gain in gained)


def _kinds(line: int) -> tuple[int, ...]:
    from pac.envs.autochess.creatures import LINES

    return LINES[line].kinds


@pytest.mark.parametrize(("xp", "level", "left"), [(2, 3, 0), (8, 4, 0), (9, 4, 1), (198, 9, 0), (500, 9, 0)])
def test_experience_makes_levels(seat: Seat, xp: int, level: int, left: int):
    """Levels from 2 on need 2, 6, 10, 22, 34, 52, 72 each."""
    seat[at.LEVEL] = 2
    add_xp(seat.game, seat.me, xp)
    assert (seat[at.LEVEL], seat[at.XP]) == (level, left)


@pytest.mark.parametrize(
    ("gold", "streak", "won", "earned"), [(0, 0, False, 5), (49, 0, False, 9), (80, -7, False, 15), (10, 3, True, 10)]
)
def test_income(seat: Seat, gold: int, streak: int, won: bool, earned: int):
    """Five, a gold per ten up to five, the streak up to five, one for a win against a player."""
    seat[at.GOLD], seat[at.STREAK], seat[at.FOE], seat[at.RESULT] = gold, streak, 3, at.WON if won else 2
    income(seat.game, seat.me)
    assert seat[at.GOLD] == gold + earned


def test_streaks(seat: Seat):
    """The first of a run counts 0, then one more each; a draw keeps it, the opposite begins anew."""
    seen = []
    for result in (1, 1, 1, 0, 1, 2, 2, 2, 1):
        seat[at.RESULT] = result
        count_streak(seat.game, seat.me)
        seen.append(seat[at.STREAK])
    assert seen == [0, 1, 2, 2, 3, 0, -1, -2, 0]


def test_matches_avoid_repeats():
    """Over fourteen rounds nobody meets another more than four times; who is left over of seven fights a ghost."""
    game = np.zeros(at.WORDS, np.int64)
    seats = [Seat(game, number) for number in range(at.SEATS)]
    for seat in seats:
        seat[at.ALIVE] = 1
    met = np.zeros((at.SEATS, at.SEATS), np.int64)
    for game[at.STAGE] in range(1, 15):
        for seat in seats:
            seat[at.FOE] = -1
        match(game)
        foes = [seat[at.FOE] for seat in seats]
        assert [foes[foe] for foe in foes] == list(range(at.SEATS))
        met[range(at.SEATS), foes] += 1
    assert met.max() <= 4
    seats[7][at.ALIVE] = 0
    for seat in seats:
        seat[at.FOE] = -1
    match(game)
    ghosts = [seat[at.FOE] for seat in seats[:7] if seat[at.FOE] >= at.SEATS]
    assert len(ghosts) == 1
    assert 0 <= ghosts[0] - at.SEATS < 7


def terms_of(seat: Seat, preset: int, *, dying: bool = False) -> NDArray[np.float32]:
    """The terms of a round."""
    terms = np.zeros(at.TERMS, np.float32)
    round_terms(seat.game, seat.me, preset, terms)
    if dying:
        last_terms(seat.game, seat.me, preset, terms)
    return terms


def test_reward_v1(seat: Seat):
    """A win .5, a loss -.3, .05 per interest, at death -2 and (9 - rank) * 2 - 6."""
    seat[at.GOLD], seat[at.RESULT] = 37, at.WON
    terms = terms_of(seat, 0)
    assert terms[[at.TERM_FIGHT, at.TERM_INTEREST, at.TERM_DEATH]].tolist() == pytest.approx([0.5, 0.15, 0])
    seat[at.RESULT], seat[at.LIFE], seat[at.RANK] = 2, 0, 8
    terms = terms_of(seat, 0, dying=True)
    assert terms[[at.TERM_FIGHT, at.TERM_DEATH, at.TERM_PLACE]].tolist() == pytest.approx([-0.3, -2, -4])


@pytest.mark.parametrize(("rank", "place"), list(enumerate([28, 15, 8, -5, -9, -14, -19, -26], 1)))
def test_reward_v3(seat: Seat, rank: int, place: int):
    """Places count from 28 to -26, wins grow with the stage, hoarded gold costs up to 10."""
    seat[at.RANK], seat[at.RESULT], seat[at.GOLD] = rank, at.WON, 65
    early = terms_of(seat, 1, dying=True)
    seat.game[at.STAGE], seat[at.GOLD] = 30, 500
    late = terms_of(seat, 1)
    assert early[at.TERM_PLACE] == place
    assert early[at.TERM_HOARD] == pytest.approx(-1.0)
    assert late[at.TERM_HOARD] == -10
    assert early[at.TERM_FIGHT] < late[at.TERM_FIGHT] == 0.75 * 3
