"""Stepping many environments in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pac.envs import allocate, find
from pac.envs.drmario import driver
from pac.envs.drmario.driver import BottleEnvironments
from pac.envs.drmario.kernels import step_placements
from pac.envs.drmario.layout import BUTTONS, CLOCK, COLORS, OUT_OF_TIME, PLANES, WORDS
from pac.envs.errors import IllegalAction
from pac.envs.native import stamp_of

from .play import Game, legal

BOTH = pytest.mark.parametrize("name", ["drmario", "drmario-frames"])
Snapshot = dict[str, NDArray[Any]]


def actions(game: Game, random: np.random.Generator, slot: int = 0) -> NDArray[np.int64]:
    """A random allowed action for every environment."""
    if game.task.masked:
        return legal(game.mask(slot), random)
    return random.integers(0, game.task.num_actions, game.num_envs)


def advanced(game: Game, steps: int, seed: int) -> Game:
    """The game after some random steps."""
    random = np.random.default_rng(seed)
    for _ in range(steps):
        game.step(actions(game, random))
    return game


def snapshot(game: Game) -> Snapshot:
    """Copies of all buffers."""
    return {name: array.copy() for name, array in game.buffers.items()}


def assert_equal(one: Snapshot, other: Snapshot) -> None:
    """All buffers are the same, byte by byte."""
    assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


@BOTH
def test_the_same_seed_gives_the_same_bytes(name: str):
    """Two runs with one seed and the same actions are equal; another seed is not."""
    first, second, other = (advanced(Game(name, 4, seed), 150, 7) for seed in (5, 5, 6))
    assert_equal(snapshot(first), snapshot(second))
    assert first.buffers["state"].tobytes() != other.buffers["state"].tobytes()


@BOTH
def test_slices_do_not_matter(name: str):
    """Environments stepped in one slice or in three give the same bytes."""
    whole = Game(name, 6, 3)
    task, buffers = whole.task, allocate(whole.task, 6)
    parts = [BottleEnvironments(task, lo, hi, buffers, 3) for lo, hi in ((0, 1), (1, 4), (4, 6))]
    for part in parts:
        part.reset(np.ones(part.hi - part.lo, np.bool_), 0)
    random = np.random.default_rng(0)
    for _ in range(150):
        whole.step(actions(whole, random))
        buffers["action"][:] = whole.buffers["action"]
        for part in parts:
            part.step(0)
    assert_equal(snapshot(whole), buffers)


@BOTH
def test_a_rollouts_slots_hold_what_stepping_in_place_gives(name: str):
    """Slot k + 1 of a rollout is what the k-th step in place wrote."""
    steps = 120
    rollout, place = Game(name, 3, 1, slots=steps + 1), Game(name, 3, 1)
    random = np.random.default_rng(2)
    for step in range(steps):
        chosen = actions(place, random)
        rollout.step(chosen, step)
        place.step(chosen)
        for field in place.task.fields:
            if field.timed and field.name not in {"action", "final_observation"}:
                assert (rollout.buffers[field.name][step + 1] == place.buffers[field.name][0]).all(), field.name


@BOTH
def test_a_restored_state_goes_on_bit_for_bit(name: str):
    """The state's bytes, put into other buffers under another seed, are the same game to its end and beyond."""
    game = advanced(Game(name, 2, 11), 60, 0)
    other = Game(name, 2, 12)
    other.buffers["state"][:] = game.buffers["state"]
    other.envs.show(0)
    random = np.random.default_rng(1)
    for _ in range(200):
        chosen = actions(game, random)
        game.step(chosen)
        other.step(chosen)
        for field in ("observation", "reward", "frames", "state", "bottle", "episode", "episode_return", "outcome"):
            assert (game.buffers[field] == other.buffers[field]).all(), field


@pytest.mark.thorough
@BOTH
def test_an_episodes_numbers_add_up(name: str):
    """Return and length are those of the running episode, on its last step those of the ended one; terms add up."""
    game = Game(name, 3, 4)
    random = np.random.default_rng(4)
    returns, lengths = np.zeros(3, np.float32), np.zeros(3, np.int32)
    for _ in range(3_000 if name == "drmario-frames" else 200):
        begun = game.buffers["episode"][0].copy()
        game.step(actions(game, random))
        buffers = {key: array[0] for key, array in game.buffers.items()}
        returns += buffers["reward"]
        lengths += 1
        assert (buffers["episode_return"] == returns).all()
        assert (buffers["episode_length"] == lengths).all()
        assert np.allclose(buffers["reward_terms"].sum(axis=-1), buffers["reward"])
        ended = buffers["outcome"] > 0
        assert (ended == (buffers["terminated"] | buffers["truncated"])).all()
        assert (buffers["episode"] == begun + ended).all()
        returns[ended], lengths[ended] = 0, 0
    assert game.buffers["heartbeat"][0].tolist() == [3_000 if name == "drmario-frames" else 200] * 3


def test_an_ended_episode_leaves_its_last_observation():
    """The final observation has the last bottle, the observation the new one, whose viruses are the dealt ones."""
    game = Game("drmario", 1, 0)
    random = np.random.default_rng(0)
    while not game.buffers["terminated"][0, 0]:
        game.step(actions(game, random))
    field = game.task.observation
    final, new = (field.decode(game.buffers[name][0, 0]) for name in ("final_observation", "observation"))
    assert final[:COLORS].sum() > new[:COLORS].sum() == 4
    assert game.buffers["episode_length"][0, 0] > 1
    assert game.buffers["viruses"][0, 0] == final[game.task.slices["virus"][0]].sum()


def test_a_long_episode_is_truncated():
    """An episode is cut off before the first pill that would come past the limit; that is no termination."""
    game = Game("drmario", 1, 0)
    game.state().game[CLOCK] = 7_990
    game.step(actions(game, np.random.default_rng(0)))
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
        game.step(actions(game, random))
        after = game.task.observation.decode(game.buffers["observation"][0, 0])[:COLORS].sum(axis=(1, 2))
        if not game.buffers["outcome"][0, 0] and after.sum() == before.sum() + 2:
            quiet += 1
            assert (after == before + hand).all()
        elif not game.buffers["outcome"][0, 0]:
            assert after.sum() < before.sum() + 2
    assert quiet > 50


@pytest.mark.parametrize("action", [-1, 512, 10**12, 0])
def test_an_illegal_action_changes_nothing(action: int):
    """An action that the mask forbids, or that is none, is an error that names environment and action."""
    game = advanced(Game("drmario", 3, 2), 5, 0)
    chosen = actions(game, np.random.default_rng(0))
    chosen[1] = action
    game.buffers["action"][0] = chosen
    before = snapshot(game)
    with pytest.raises(IllegalAction, match=rf"^environment 1 expects an action .*, got {action}\b"):
        game.envs.step(0)
    assert_equal(before, snapshot(game))


def test_an_action_that_is_no_button_changes_nothing():
    """The same for the frames' 18 actions."""
    game = Game("drmario-frames", 2, 2)
    game.buffers["action"][0] = [3, len(BUTTONS)]
    before = snapshot(game)
    with pytest.raises(IllegalAction, match="environment 1 expects an action from 0 to 17, got 18"):
        game.envs.step(0)
    assert_equal(before, snapshot(game))


def test_a_second_driver_goes_on_with_the_episodes():
    """A driver made over buffers in use counts on, so that a replaced worker does not deal the same episodes again."""
    game = Game("drmario", 2, 0)
    again = BottleEnvironments(game.task, 0, 2, game.buffers, 0)
    assert game.buffers["episode"][0].tolist() == [0, 0]
    again.reset(np.array([True, False]), 0)
    assert game.buffers["episode"][0].tolist() == [1, 0]


def test_a_fresh_driver_has_begun_no_episode():
    """Before the first reset the episode counts -1."""
    task = find("drmario")
    buffers = allocate(task, 2)
    BottleEnvironments(task, 0, 2, buffers, 0)
    assert buffers["episode"][0].tolist() == [-1, -1]


def test_scattered_buffers_are_refused():
    """Kernels write to addresses, so a field that is not one block is an error and not a wrong write."""
    task = find("drmario")
    buffers = allocate(task, 4)
    buffers["reward"] = np.zeros((1, 8), np.float32)[:, ::2]
    with pytest.raises(ValueError, match="reward must be one contiguous block"):
        BottleEnvironments(task, 0, 4, buffers, 0)


def test_a_slot_outside_of_the_buffer_is_refused():
    """Kernels write to addresses, so a wrong slot is an error and not a wrong write."""
    game = Game("drmario", 1, 0, slots=3)
    with pytest.raises(IndexError, match="from 0 to 2"):
        game.envs.step(3)


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
