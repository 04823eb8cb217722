"""Stepping many environments in place."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pac.envs import find
from pac.envs.drmario import driver
from pac.envs.drmario.kernels import step_placements
from pac.envs.drmario.layout import CLOCK, COLORS, OUT_OF_TIME, PLANES, WORDS
from pac.envs.native import stamp_of

from .play import Game, legal


def advanced(game: Game, steps: int, seed: int) -> Game:
    """The game after some random steps."""
    random = np.random.default_rng(seed)
    for _ in range(steps):
        game.step(legal(game.mask(), random))
    return game


def test_an_ended_episode_leaves_its_last_observation():
    """The final observation has the last bottle, the observation the new one, whose viruses are the dealt ones."""
    game = Game("drmario", 1, 0)
    random = np.random.default_rng(0)
    while not game.buffers["terminated"][0, 0]:
        game.step(legal(game.mask(), random))
    field = game.task.observation
    final, new = (field.decode(game.buffers[name][0, 0]) for name in ("final_observation", "observation"))
    assert final[:COLORS].sum() > new[:COLORS].sum() == 4
    assert game.buffers["episode_length"][0, 0] > 1
    assert game.buffers["viruses"][0, 0] == final[game.task.slices["virus"][0]].sum()


def test_a_long_episode_is_truncated():
    """An episode is cut off before the first pill that would come past the limit; that is no termination."""
    game = Game("drmario", 1, 0)
    game.state().game[CLOCK] = 7_990
    game.step(legal(game.mask(), np.random.default_rng(0)))
    buffers = game.buffers
    assert (buffers["truncated"][0, 0], buffers["terminated"][0, 0], buffers["outcome"][0, 0]) == (1, 0, OUT_OF_TIME)


def test_every_placement_adds_its_two_colours():
    """A bottle gains the halves in hand, less what vanished: without a line, exactly one cell of each half's colour."""
    game = Game("drmario:level=3", 1, 9)
    random = np.random.default_rng(9)
    quiet = 0
    for _ in range(150):
        planes = game.task.observation.decode(game.buffers["observation"][0, 0])
        hand = planes[8:11, 0, 0] + planes[11:14, 0, 0]
        before = planes[:COLORS].sum(axis=(1, 2))
        game.step(legal(game.mask(), random))
        after = game.task.observation.decode(game.buffers["observation"][0, 0])[:COLORS].sum(axis=(1, 2))
        if not game.buffers["outcome"][0, 0] and after.sum() == before.sum() + 2:
            quiet += 1
            assert (after == before + hand).all()
        elif not game.buffers["outcome"][0, 0]:
            assert after.sum() < before.sum() + 2
    assert quiet > 50


def test_the_observation_shows_board_and_pills():
    """Planes stand where the slices say: every cell has one colour, hand and preview are whole planes of one colour."""
    game = advanced(Game("drmario:level=5", 1, 3), 30, 3)
    planes = game.task.observation.decode(game.buffers["observation"][0, 0])
    part = {name: planes[lo:hi] for name, (lo, hi) in game.task.slices.items()}
    taken = part["amber"] + part["rose"] + part["sky"]
    kinds = sum(part[name] for name in ("virus", "left", "right", "top", "bottom"))
    assert taken.max() == 1
    assert (kinds <= taken).all()
    for name in ("hand_first", "hand_second", "next_first", "next_second"):
        assert sorted(part[name].sum(axis=(1, 2))) == [0, 0, 128]
    assert (part["left"][0, :, :-1] == part["right"][0, :, 1:]).all()
    assert (part["top"][0, :-1] == part["bottom"][0, 1:]).all()


def test_the_falling_pill_is_observed_by_frames():
    """The last three planes hold the falling pill's two cells, each in its colour."""
    game = Game("drmario-frames", 1, 3)
    falling = game.task.observation.decode(game.buffers["observation"][0, 0])[20:23]
    assert np.argwhere(falling.any(axis=0)).tolist() == [[0, 3], [0, 4]]


def test_the_cache_counts_every_source():
    """A kernel that is kept on disk is stamped with all of the folder's sources, its callees' too."""
    stamp = stamp_of(Path(driver.__file__).parent)
    assert step_placements._cache._cache_file._version[1] == stamp  # type: ignore[attr-defined]


def test_the_state_is_one_block_of_words():
    """Planes and numbers fit in the state."""
    assert find("drmario").state.shape == (WORDS,)  # type: ignore[union-attr]
    assert 2 * PLANES < WORDS
