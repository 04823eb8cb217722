"""How the auto-battler is described."""

from __future__ import annotations

import numpy as np
import pytest
from rich.cells import cell_len

from pac.envs import BadParameter, UnknownName, find
from pac.envs.autochess.creatures import LINES, RARITIES
from pac.envs.autochess.items import ITEMS
from pac.envs.autochess.kinds import KINDS
from pac.envs.autochess.looks import CODES, FIGHT_GLYPHS, GLYPHS, SHOP_GLYPHS

from .play import Match


def test_glyphs_have_their_width_and_lines_their_letters():
    """A wide glyph takes two columns, a narrow one a column; every line has two letters of its own."""
    glyphs = (*GLYPHS, *FIGHT_GLYPHS, *SHOP_GLYPHS)
    assert {(cell_len(glyph.wide), cell_len(glyph.narrow)) for glyph in glyphs} == {(2, 1)}
    assert len(set(CODES)) == len(LINES)


def test_the_data_is_whole():
    """94 lines of the pool over five rarities, 24 kinds, 65 items, all with names of their own."""
    counts = [sum(line.rarity == rarity for line in LINES) for rarity in range(len(RARITIES))]
    assert counts == [22, 23, 18, 17, 14, 6, 6]
    for things in (LINES, KINDS, ITEMS):
        assert len({thing.name for thing in things}) == len(things)
    assert len(ITEMS) == 65
    assert {kind for line in LINES for kind in line.kinds} == set(range(len(KINDS)))


def test_cells_are_known_codes():
    """The boards hold codes that have a glyph, throughout a game."""
    match = Match("autochess", 4, 1)
    for _ in range(120):
        match.step(match.random_actions())
        for panel in match.task.panels:
            if panel.kind in {"cells", "list"}:
                assert match.buffers[panel.field].max() < len(panel.glyphs)
    assert match.buffers["seats"][..., 0].max() <= 100


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


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("autochess:players=9", BadParameter),
        ("autochess:bots=8", BadParameter),
        ("autochess:reward=v2", BadParameter),
        ("autochess:turn_actions=0", BadParameter),
        ("autochess:turn_actions=31", BadParameter),
        ("autochess:bot=1", UnknownName),
    ],
)
def test_bad_parameters_are_refused(spec: str, error: type[Exception]):
    """Too many players or actions, an unknown bot, preset or parameter are errors."""
    with pytest.raises(error):
        find(spec)
