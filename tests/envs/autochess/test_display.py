"""The film of a fight."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.autochess import views as at
from pac.envs.autochess.combat import fight
from pac.envs.autochess.creatures import HP
from pac.envs.autochess.display import TAKEN, draw_film, load
from pac.envs.autochess.layout import FILM, FILM_WORDS, NOBODY, PICTURES, WORDS, Ints
from pac.envs.autochess.looks import DARK, ENEMY
from pac.envs.autochess.teams import write_row
from pac.envs.autochess.views import RoundMemory, new_work

SHAPE = (PICTURES, at.ROWS, at.COLUMNS)


def fought(viewer: int, seed: int, size: int = 7) -> RoundMemory:
    """Two teams' fight, seen from a side; with `NOBODY` unseen."""
    work = new_work()
    for team, first in ((work.one, 0), (work.other, 20)):
        for index in range(size):
            write_row(team, index, 1 + 3 * (first + index), index, 2)
    load(work.film, viewer)
    fight(work.one, size, work.other, size, seed, work.arena, work.result, work.film)
    return work


def pictures(work: RoundMemory) -> tuple[Ints, Ints]:
    """The codes of all pictures, 0 where nobody stands, and the shares of life."""
    game = np.zeros(WORDS, np.int64)
    game[FILM : FILM + FILM_WORDS] = work.film
    codes, life, power = (np.zeros(SHAPE, np.int64) for _ in range(3))
    draw_film(game, codes.reshape(-1), life.reshape(-1), power.reshape(-1))
    codes[codes == DARK] = 0
    return codes, life


@pytest.mark.parametrize("seed", range(5))
def test_filming_changes_no_fight(seed: int):
    """The result is the same, filmed from either side or not at all."""
    results = [fought(viewer, seed).result.tolist() for viewer in (NOBODY, 0, 1)]
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("seed", range(5))
def test_the_last_picture_shows_who_stands(seed: int):
    """A film has some pictures, of everybody at first and of the survivors at last, each with life."""
    work = fought(0, seed)
    codes, life = pictures(work)
    assert 1 < work.film[TAKEN] <= PICTURES
    assert np.count_nonzero(codes[0]) == 14
    standing = int((work.arena[HP * at.SLOTS :][: work.arena[at.COUNT]] > 0).sum())
    assert np.count_nonzero(codes[-1]) == np.count_nonzero(life[-1]) == standing
    own = int((codes[-1] > 0).sum() - (codes[-1] > ENEMY).sum())
    assert own == work.result[at.SURVIVORS]


def test_each_side_sees_itself_below():
    """Seen from the other side, everything is turned round and own and enemy change places."""
    one, other = (pictures(fought(viewer, 3))[0][0] for viewer in (0, 1))
    turned = other[::-1, ::-1]
    assert ((one > ENEMY) == ((turned > 0) & (turned < ENEMY))).all()
    assert not (one[at.ROWS // 2 :] > ENEMY).any()


def test_no_fight_is_an_empty_board():
    """Before the first fight, only empty cells are drawn."""
    codes, life = pictures(new_work())
    assert not codes.any()
    assert not life.any()
