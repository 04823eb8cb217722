"""How the bottle game is described."""

from __future__ import annotations

import numpy as np
import pytest
from rich.cells import cell_len

from pac.envs import BadParameter, UnknownName, find
from pac.envs.drmario.looks import GLYPHS

from .play import Game


def test_glyphs_have_their_width():
    """A wide glyph takes two columns, a narrow one a column."""
    assert {(cell_len(glyph.wide), cell_len(glyph.narrow)) for glyph in GLYPHS} == {(2, 1)}


def test_viruses_and_colours_differ_without_colour():
    """Narrow glyphs tell the colours apart by letter and a virus from a pill by case."""
    letters = [glyph.narrow for glyph in GLYPHS]
    assert letters[0] == " "
    assert len({letter.lower() for letter in letters[1:]}) == 3
    assert [letter.isupper() for letter in letters[1:]] == [False] * 15 + [True] * 3


@pytest.mark.parametrize("name", ["drmario", "drmario-frames"])
def test_cells_are_known_codes(name: str):
    """The boards hold codes that have a glyph, the pill in hand among them."""
    game = Game(name, 4, 1)
    for board in game.task.boards:
        assert game.buffers[board.name].max() < len(GLYPHS)
    assert (game.buffers["bottle"][0, :, 0, 3] >= 4).all()
    assert (game.buffers["bottle"][0] > 0).sum(axis=(1, 2)).tolist() == [6] * 4


@pytest.mark.parametrize(("level", "viruses"), [(0, 4), (20, 84)])
def test_the_level_is_a_parameter(level: int, viruses: int):
    """A level has 4 * (level + 1) viruses."""
    game = Game(f"drmario:level={level}")
    assert game.buffers["viruses"][0, 0] == viruses
    assert np.count_nonzero(game.buffers["bottle"][0, 0] >= 16) == viruses


def test_bad_parameters_are_refused():
    """An unknown speed, a level out of range and an unknown parameter are errors."""
    for spec, error in (
        ("drmario:speed=warp", BadParameter),
        ("drmario:level=21", BadParameter),
        ("drmario:lvl=1", UnknownName),
    ):
        with pytest.raises(error):
            find(spec)


def test_frame_actions_have_names():
    """Each of the 18 actions has a name of its own."""
    names = find("drmario-frames").action_names
    assert (len(names), len(set(names)), names[0], names[5]) == (18, 18, "nothing", "left B")
