"""How the auto-battler is described."""

from __future__ import annotations

import numpy as np

from pac.envs import find
from pac.envs.autochess.creatures import KINDS, LINES, RARITIES
from pac.envs.autochess.looks import CODES
from pac.envs.autochess.tables import ITEMS

from .play import Match


def test_lines_have_their_letters():
    """Every line has two letters of its own."""
    assert len(set(CODES)) == len(LINES)


def test_the_data_is_whole():
    """94 lines of the pool over five rarities, 24 kinds, 65 items, all with names of their own."""
    counts = [sum(line.rarity == rarity for line in LINES) for rarity in range(len(RARITIES))]
    assert counts == [22, 23, 18, 17, 14, 6, 6]
    for things in (LINES, KINDS, ITEMS):
        assert len({thing.name for thing in things}) == len(things)
    assert len(ITEMS) == 65
    assert {kind for line in LINES for kind in line.kinds} == set(range(len(KINDS)))


def test_actions_have_names():
    """Each of the 92 actions has a name of its own."""
    names = find("autochess").action_names
    assert len(set(names)) == 92
    assert [names[action] for action in (0, 6, 9, 10, 42, 80, 86)] == [
        "buy 1", "refresh", "end turn", "move to 1,0", "sell 1,0", "pick 1", "combine 1",
    ]  # fmt: skip


def test_seats_are_rows():
    """Eight players are eight rows of an environment."""
    match = Match("autochess:players=8", 3)
    assert match.buffers["observation"].shape == (1, 24, 612)
    assert match.buffers["action_mask"].shape == (1, 24, 12)
    assert np.unpackbits(match.buffers["action_mask"], bitorder="little").sum() > 24
