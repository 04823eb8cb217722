"""The rules, drawn as small bottles."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs import episode_seed, native
from pac.envs.drmario import deal
from pac.envs.drmario import layout as at
from pac.envs.drmario.rules import frame, hang, lock, until_control

from .bottles import State, cells, drawing, drawn


def settled(text: str, pill: str, place: tuple[int, int, int]) -> State:
    """Lock a pill at (row, column, turn) and wait for the next."""
    state = drawn(text, pill)
    lock(state.board, state.game, *place)
    until_control(state.board, state.game)
    return state


def played(state: State, *buttons: int) -> tuple[int, int, int]:
    """Play frames; where the pill is then."""
    for held in buttons:
        frame(state.board, state.game, held)
    return int(state.game[at.ROW]), int(state.game[at.COLUMN]), int(state.game[at.TURN])


def test_four_in_a_row_vanish():
    """Four of a colour beside each other vanish, with the virus among them, and the other half stays as a single."""
    state = settled("|R r r . S . . . |", "rs", (15, 3, 1))
    assert drawing(state) == "|. . . s S . . . |"


def test_four_in_a_column_vanish():
    """Four of a colour above each other vanish."""
    state = settled("|. s . . . . . . |\n|. a . . . . . . |\n|. a . . . . . S |", "aa", (12, 1, 1))
    assert (
        drawing(state)
        == "|. a^. . . . . . |\n|. av. . . . . . |\n|. s . . . . . . |\n|. a . . . . . . |\n|. a . . . . . S |"
    )
    state = settled("|. a . . . . . . |\n|. a . . . . . S |", "aa", (13, 1, 1))
    assert drawing(state) == "|. . . . . . . S |"


def test_an_orphan_half_falls():
    """A half whose partner vanished is a single and falls to the floor."""
    state = settled("|. . . . . . . S |\n|. . . . . . . S |\n|r r r . . . . S |", "rs", (15, 3, 0))
    assert drawing(state).splitlines()[-1] == "|. . . . s . . S |"


def test_a_lying_pill_needs_both_cells_below():
    """A lying pill falls when both cells below are free, and stays where one of them is held."""
    state = settled("|. s<a>r<r>. . . |\n|A a a . . . . S |", "as", (15, 3, 0))
    assert drawing(state) == "|. . . r<r>. . . |\n|. s<a>. s . . S |"


def test_a_cascade_clears_twice():
    """What falls may complete another line, and its virus is worth twice the one before."""
    column = "|. . s . . . . . |\n" * 3
    state = settled(column + "|R r r . . . . . |\n|a s S . . . . A |", "ra", (15, 3, 3))
    assert drawing(state) == "|a s . a . . . A |"
    assert state.game[at.SCORE] == 100 + 200


@pytest.mark.parametrize(("speed", "worth"), [(0, 100), (1, 200), (2, 300)])
def test_viruses_score_by_speed_and_double(speed: int, worth: int):
    """The k-th virus of one pill is worth twice the one before."""
    state = drawn("|R R R . . . . A |", "ra", speed)
    lock(state.board, state.game, 15, 3, 1)
    until_control(state.board, state.game)
    assert state.game[at.SCORE] == worth * (1 + 2 + 4)


def test_the_last_virus_wins():
    """The episode ends on the frame on which the last virus vanishes: 15 of rest, one of falling, three of matching."""
    state = drawn("|R r r . . . . . |", "ra")
    lock(state.board, state.game, 15, 3, 1)
    before = int(state.game[at.CLOCK])
    until_control(state.board, state.game)
    assert (state.game[at.OUTCOME], state.game[at.CLOCK] - before) == (at.CLEARED, 19)


def test_a_taken_spawn_cell_ends_the_game():
    """The game is lost when a pill can't appear."""
    column = "\n".join("|. . . a . . . S |" if row % 2 else "|. . . r . . . A |" for row in range(15))
    state = drawn(column, "as")
    lock(state.board, state.game, 0, 3, 0)
    until_control(state.board, state.game)
    assert state.game[at.OUTCOME] == at.TOPPED_OUT


def test_a_half_above_the_rim_is_lost():
    """A pill that locks standing in the top row leaves its lower half, as a single."""
    column = "\n".join("|. a . . . . . S |" if row % 2 else "|. r . . . . . A |" for row in range(15))
    state = drawn(column, "sr")
    lock(state.board, state.game, 0, 1, 1)
    until_control(state.board, state.game)
    assert cells(state.board)[0][1] == (2, "single")
    assert state.game[at.OUTCOME] == at.RUNNING


def test_rest_and_throw_take_43_frames():
    """A pill that completes nothing gives control back 43 frames after the one on which it locks."""
    state = drawn("|. . . . . . . S |")
    lock(state.board, state.game, 15, 0, 0)
    until_control(state.board, state.game)
    assert (state.game[at.STAGE], state.game[at.CLOCK]) == (at.FALLING, 43)


@pytest.mark.parametrize(("speed", "speed_ups", "frames"), [
    (0, 0, 40), (1, 0, 20), (2, 0, 14), (0, 10, 20), (1, 10, 10), (2, 10, 7), (0, 20, 10), (1, 20, 6), (2, 20, 6),
    (0, 49, 4), (1, 49, 2), (2, 49, 1),
])  # fmt: skip
def test_gravity(speed: int, speed_ups: int, frames: int):
    """A pill falls by one row after the frames that the console's table gives."""
    state = drawn("|. . . . . . . S |", speed=speed, speed_ups=speed_ups)
    assert hang(state.game) + 1 == frames
    assert played(state, *[0] * (frames - 1))[0] == 0
    assert played(state, 0)[0] == 1


def test_a_soft_drop_takes_two_frames_a_row():
    """Down alone drops the pill on every second frame; with another arrow it does nothing."""
    assert played(drawn("|. . . . . . . S |"), *[at.HOLD_DOWN] * 8)[0] == 4
    assert played(drawn("|. . . . . . . S |"), *[at.HOLD_DOWN | at.HOLD_LEFT] * 8)[0] == 0


def test_a_held_arrow_repeats_after_16_frames_and_then_every_6():
    """The pill moves on the frame of the press, 16 frames later, and every 6 frames from then on."""
    state = drawn("|. . . . . . . S |")
    columns = [played(state, at.HOLD_RIGHT)[1] for _ in range(24)]
    assert [frame for frame in range(1, 24) if columns[frame] != columns[frame - 1]] == [16, 22]
    assert columns[0] == 4


def test_a_blocked_arrow_tries_again_on_every_frame():
    """An arrow held against the wall moves the pill as soon as there is room."""
    state = drawn("\n".join(["|. . . . . a . S |"] + ["|. . . . . . . S |"] * 14))
    state.game[at.ROW] = 1
    assert played(state, *[at.HOLD_RIGHT] * 3)[1] == 3
    state.game[at.ROW] = 2
    assert played(state, at.HOLD_RIGHT)[1] == 4


def test_a_turn_is_kicked_off_the_wall():
    """A standing pill at the right wall lies down one column to the left."""
    state = drawn("|. . . . . . . S |")
    played(state, at.PRESS_B, *[at.HOLD_RIGHT, 0] * 4)
    assert played(state, 0)[1:] == (7, 1)
    assert played(state, at.PRESS_B)[1:] == (6, 2)


def test_a_turn_with_left_held_moves_left():
    """A standing pill that lies down while Left is held moves one column further; turning up it does not."""
    state = drawn("|. . . . . . . S |")
    assert played(state, at.HOLD_LEFT, at.HOLD_LEFT | at.PRESS_A)[1:] == (2, 3)
    assert played(state, at.HOLD_LEFT, at.HOLD_LEFT | at.PRESS_A)[1:] == (1, 2)


def test_a_and_b_turn_opposite_ways():
    """A turns clockwise, so that the first half goes up; B the other way."""
    assert played(drawn("|. . . . . . . S |"), at.PRESS_A)[2] == 3
    assert played(drawn("|. . . . . . . S |"), at.PRESS_B)[2] == 1


def test_every_tenth_pill_makes_it_faster():
    """The speed goes up by one step for every ten pills placed."""
    state = drawn("|. . . . . . . S |", speed=0)
    state.game[at.PILLS] = 9
    lock(state.board, state.game, 15, 0, 0)
    until_control(state.board, state.game)
    assert hang(state.game) + 1 == 38


def test_the_register_has_the_consoles_period():
    """The random register returns to its state after 32,767 steps."""
    state, steps = deal.draw(0x8988), 1
    start = state
    state = deal.draw(state)
    while state != start:
        state, steps = deal.draw(state), steps + 1
    assert steps == 32_767


@pytest.mark.parametrize("numbers", [(0, 0, 0), (1, 2, 3), (2**64 - 1, 31, 10**12)])
def test_the_compiled_seed_is_the_documented_one(numbers: tuple[int, int, int]):
    """The kernels seed episodes as `pac.envs.episode_seed` says."""
    assert int(native.episode_seed(*map(np.uint64, numbers))) == episode_seed(*numbers)


@pytest.mark.parametrize("level", [0, 10, 16, 18, 20])
def test_viruses_are_dealt_by_the_placement_rule(level: int):
    """Every bottle has 4 * (level + 1) viruses, none too high, none with its colour exactly two cells away."""
    state = State(np.zeros(at.WORDS, np.uint64))
    for seed in range(2, 65_536, 131):
        deal.deal(state.board, state.game, np.uint64(seed), level, 0)
        planes = np.unpackbits(state.board[: 2 * at.PLANES].view(np.uint8), bitorder="little").reshape(at.PLANES, 16, 8)
        assert (planes[: at.COLORS].sum(axis=0) == planes[at.VIRUS]).all()
        assert planes[at.VIRUS].sum() == 4 * (level + 1)
        assert not planes[:, : 15 - deal.highest_virus(level)].any()
        assert not (planes[: at.COLORS, 2:] & planes[: at.COLORS, :-2]).any()
        assert not (planes[: at.COLORS, :, 2:] & planes[: at.COLORS, :, :-2]).any()
