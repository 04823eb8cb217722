"""The observation's layout, on states made by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from pac.envs import find
from pac.envs.autochess import layout as at
from pac.envs.autochess.creatures import LINES
from pac.envs.autochess.tables import SPECIES
from pac.envs.autochess.view import observe

from .play import NUMBERS, Seat, species

SLICES = find("autochess").slices


@pytest.fixture
def seat() -> Seat:
    """The third player of an otherwise empty game."""
    seat = Seat(np.zeros(at.WORDS, np.int64), 2)
    seat[at.ALIVE], seat[at.LEVEL] = 1, 3
    return seat


def part(seat: Seat, name: str, turn_actions: int = at.TURN_ACTIONS) -> NDArray[np.float32]:
    """A named slice of what the third player observes."""
    out = np.full(at.OBSERVATION, 7, np.float32)
    observe(seat.game, 2, turn_actions, out)
    return out[slice(*SLICES[name])]


def types(name: str) -> list[float]:
    """The four numbers of a line's kinds."""
    kinds = LINES[NUMBERS[name]].kinds
    return [*((kind + 1) / 31 for kind in kinds), *[0.0] * (4 - len(kinds))]


def test_slices_cover_the_observation():
    """The named slices are the eight of the layout, one after another, 612 numbers in all."""
    bounds = list(SLICES.values())
    assert bounds[0][0] == 0
    assert [hi for _, hi in bounds] == [14, 68, 452, 462, 493, 500, 570, 612]
    assert all(one[1] == other[0] for one, other in pairwise(bounds))


def test_the_player(seat: Seat):
    """Life, gold, level, streak, interest, alive, rank, board size, experience needed, and the rest."""
    seat[at.LIFE], seat[at.GOLD], seat[at.STREAK], seat[at.RANK], seat[at.XP] = 80, 25, -4, 3, 2
    seat.put(9, "Cindle")
    expected = [0.8, 0.25, 3 / 9, 0.3, 0.4, 1, 3 / 8, 1 / 9, 4 / 72, 0, 0, 0, 0, 0]
    assert part(seat, "player") == pytest.approx(expected)


@pytest.mark.parametrize(("streak", "shown"), [(-10, 0), (-3, 0.35), (0, 0.5), (1, 0.55), (10, 1)])
def test_a_streak_of_victories_differs_from_one_of_defeats(seat: Seat, streak: int, shown: float):
    """Of the player and of its rivals."""
    seat[at.STREAK] = Seat(seat.game, 3)[at.STREAK] = streak
    assert part(seat, "player")[3] == pytest.approx(shown)
    assert part(seat, "opponents")[4] == pytest.approx(shown)


def test_the_experience_needed_differs_at_every_level(seat: Seat):
    """The higher levels need up to 72 points, and none is cut."""
    needed = []
    for level in range(2, 9):
        seat[at.LEVEL] = level
        needed.append(float(part(seat, "player")[8]))
    assert needed == pytest.approx([number / 72 for number in (2, 6, 10, 22, 34, 52, 72)])


@pytest.mark.parametrize("turn_actions", [1, at.TURN_ACTIONS, at.MOST_TURN_ACTIONS])
def test_the_actions_of_a_turn_are_observed(seat: Seat, turn_actions: int):
    """As the share of those after which a turn ends; offers do not change it."""
    seat[at.OFFERED] = 1
    shares = []
    for actions in range(turn_actions):
        seat[at.ACTED] = actions
        shares.append(float(part(seat, "game", turn_actions)[1]))
    assert shares == pytest.approx([actions / turn_actions for actions in range(turn_actions)])


def test_the_shop(seat: Seat):
    """An offered creature: presence, species, rarity, cost, kinds, whether it would grow."""
    seat[at.SHOP + 2] = species("Cindle")
    seat.put(0, "Cindle")
    seat.put(9, "Cindle")
    shop = part(seat, "shop").reshape(6, 9)
    assert shop[2] == pytest.approx([1, species("Cindle") / SPECIES, 0.1, 0.1, *types("Cindle"), 1])
    assert not shop[[0, 1, 3, 4, 5]].any()


def test_cells(seat: Seat):
    """A creature on cell y * 8 + x: presence, species, stars, rarity, kinds, attack, life, range, items."""
    name = "Cindle"
    seat.put(3 * 8 + 5, name, 2)
    seat[at.GEAR + 29] = 12
    cells = part(seat, "cells").reshape(32, 12)
    head = [1, species(name, 2) / SPECIES, 2 / 3, 0.1, *types(name)]
    assert cells[29, :8] == pytest.approx(head)
    assert cells[29, 10:] == pytest.approx([0.25, 1 / 3])
    assert 0 < cells[29, 8] < 1
    assert 0 < cells[29, 9] < 1
    assert np.flatnonzero(cells.any(axis=1)).tolist() == [29]


def test_bag_kinds_and_game(seat: Seat):
    """Items held by number, lines of each kind, and the seven numbers of the game."""
    seat[at.HELD], seat[at.HELD + 1] = 13, 65
    seat.put(9, "Cindle")
    seat.refresh()
    seat.game[at.STAGE], seat.game[at.LIVING], seat.game[at.WEATHER] = 9, 6, 2
    assert part(seat, "items")[:3] == pytest.approx([13 / 65, 1, 0])
    counts = part(seat, "synergies")
    assert {int(kind): float(counts[kind]) for kind in np.flatnonzero(counts)} == pytest.approx(
        dict.fromkeys(LINES[NUMBERS["Cindle"]].kinds, 0.1)
    )
    assert part(seat, "game") == pytest.approx([9 / 50, 0, 6 / 8, 0, 0.5, 1, 3 / 9])


def test_opponents_follow_in_turn(seat: Seat):
    """The seven others, from the next seat on: life, rank, level, gold, streak, board size, two kinds."""
    for number in range(at.SEATS):
        other = Seat(seat.game, number)
        other[at.LIFE], other[at.TOP_KINDS], other[at.TOP_KINDS + 2] = 10 * number, -1, -1
    rival = Seat(seat.game, 4)
    rival[at.RANK], rival[at.LEVEL], rival[at.GOLD], rival[at.STREAK] = 2, 6, 30, 5
    rival[at.TOP_KINDS], rival[at.TOP_KINDS + 1], rival[at.TOP_KINDS + 2], rival[at.TOP_KINDS + 3] = 4, 3, 11, 2
    rivals = part(seat, "opponents").reshape(7, 10)
    assert rivals[:, 0] == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7, 0, 0.1])
    assert rivals[1] == pytest.approx([0.4, 2 / 8, 6 / 9, 0.3, 0.75, 0, 5 / 31, 0.3, 12 / 31, 0.2])


def test_propositions(seat: Seat):
    """What is offered: species, rarity, kinds, item; and the game says that something is."""
    seat[at.OFFERED], seat[at.OFFER_UNIT + 1], seat[at.OFFER_ITEM + 1] = 1, species("Zephyrax"), 4
    offers = part(seat, "propositions").reshape(6, 7)
    assert offers[1] == pytest.approx([species("Zephyrax") / SPECIES, 1, *types("Zephyrax"), 4 / 65])
    assert part(seat, "game")[3] == 1
