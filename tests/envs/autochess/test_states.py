"""What holds of every state that random play reaches."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.autochess.layout import ACTIONS, SEATS
from pac.envs.errors import IllegalAction

from .play import Match, Seat
from .states import violations
from .twin import legal_actions


def play_out(spec: str, games: int, seed: int) -> list[int]:
    """Play every game at least once to its end, looking at every state; returns the lengths of those that ended."""
    match = Match(spec, games, seed)
    lengths: list[int] = []
    done = np.zeros(games, np.bool_)
    while not done.all():
        match.step(match.random_actions())
        assert violations(match.state) == []
        ended = match.buffers["outcome"][0] > 0
        lengths += match.buffers["episode_length"][0][ended & ~done].tolist()
        done |= ended
    return lengths


@pytest.mark.parametrize("spec", ["autochess", pytest.param("autochess:players=8", marks=pytest.mark.thorough)])
def test_random_play_breaks_no_rule(spec: str):
    """Thirty random games keep all rules at every step, and take 100 to 300 steps."""
    lengths = play_out(spec, 30, 1)
    assert min(lengths) >= 90
    assert max(lengths) <= 330
    assert 100 <= np.median(lengths) <= 300


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(20))
def test_random_play_of_many_seeds_breaks_no_rule(seed: int):
    """Ten thousand random games keep all rules at every step, in twenty parts."""
    play_out("autochess:players=8" if seed % 2 else "autochess:reward=v3", 500, seed)


@pytest.mark.thorough
def test_the_mask_is_its_twins():
    """The mask of every seat is what the slow rules allow, at every third step of some games."""
    match = Match("autochess:players=8", 3, 5)
    for step in range(280):
        match.step(match.random_actions())
        if step % 3 == 0:
            mask = match.mask()
            for row in range(3 * SEATS):
                seat = Seat(match.state[row // SEATS], row % SEATS)
                assert set(np.flatnonzero(mask[row]).tolist()) == legal_actions(seat), (step, row)


def test_step_accepts_what_the_mask_allows():
    """From some states every action is tried: the allowed ones step, the others are refused and change nothing."""
    match = Match("autochess", 1, 2)
    for _ in range(6):
        match.advance(9)
        saved, mask = match.state.copy(), match.mask()[0].copy()
        for action in range(-1, ACTIONS + 1):
            match.state[:] = saved
            if 0 <= action < ACTIONS and mask[action]:
                match.step([action])
                assert violations(match.state) == []
            else:
                with pytest.raises(IllegalAction, match="expects an action"):
                    match.step([action])
                assert (match.state == saved).all()
        match.state[:] = saved
        match.games.show(0)
