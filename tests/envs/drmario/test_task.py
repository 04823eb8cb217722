"""How the bottle game is described."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs import find
from pac.envs.drmario.task import GLYPHS

from .play import Game


def test_viruses_and_colours_differ_without_colour():
    """Narrow glyphs tell the colours apart by letter and a virus from a pill by case."""
    letters = [glyph.narrow for glyph in GLYPHS]
    assert letters[0] == " "
    assert len({letter.lower() for letter in letters[1:]}) == 3
    assert [letter.isupper() for letter in letters[1:]] == [False] * 15 + [True] * 3


@pytest.mark.parametrize("name", ["drmario", "drmario-frames"])
def test_a_new_bottle_has_viruses_and_a_pill(name: str):
    """The pill in hand is among the cells of a new bottle, with four viruses."""
    game = Game(name, 4, 1)
    assert (game.buffers["bottle"][0, :, 0, 3] >= 4).all()
    assert (game.buffers["bottle"][0] > 0).sum(axis=(1, 2)).tolist() == [6] * 4


@pytest.mark.parametrize(("level", "viruses"), [(0, 4), (20, 84)])
def test_the_level_is_a_parameter(level: int, viruses: int):
    """A level has 4 * (level + 1) viruses."""
    game = Game(f"drmario:level={level}")
    assert game.buffers["viruses"][0, 0] == viruses
    assert np.count_nonzero(game.buffers["bottle"][0, 0] >= 16) == viruses


def test_frame_actions_have_names():
    """Each of the 18 actions has a name of its own."""
    names = find("drmario-frames").action_names
    assert (len(names), len(set(names)), names[0], names[5]) == (18, 18, "nothing", "left B")
