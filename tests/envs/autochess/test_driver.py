"""Stepping many games in place."""

from __future__ import annotations

import numpy as np
import pytest

from pac.envs.autochess.layout import ALIVE, END_TURN, GOLD, LEVEL, LIFE, RANK, SEATS, STAGE, TURN_ACTIONS
from pac.envs.fields import OUT

from .play import Match, Seat

EIGHT = "autochess:players=8,reward=v3"
BOTH = pytest.mark.parametrize("spec", ["autochess", EIGHT])


def test_who_ended_the_turn_waits():
    """A seat that ended its turn is inactive and may only end it, until the last one ends it and the fights run."""
    match = Match("autochess:players=8")
    first_picks = match.mask().argmax(axis=1)
    match.step(first_picks)
    actions = np.where(np.arange(SEATS) == 0, match.random_actions(), END_TURN)
    actions[0] = 8
    match.step(actions)
    assert match.buffers["active"][0].tolist() == [1, *[0] * 7]
    assert (match.mask()[1:].sum(axis=1) == 1).all()
    assert match.mask()[1:, END_TURN].all()
    assert match.buffers["stage"][0, 0] == 1
    match.step([END_TURN] * SEATS)
    assert match.buffers["active"][0].tolist() == [1] * SEATS
    assert match.buffers["stage"][0, 0] == 2


@pytest.mark.parametrize(
    ("spec", "actions"),
    [("autochess", TURN_ACTIONS), ("autochess:turn_actions=1", 1), ("autochess:turn_actions=15", 15)],
)
def test_a_turn_ends_after_its_last_action(spec: str, actions: int):
    """Whatever that action is; the task's parameter says how many a turn has."""
    match = Match(spec)
    for _ in range(actions):
        assert match.state[0, STAGE] == 1
        allowed = match.mask()[0]
        allowed[END_TURN] = 0
        match.step([int(allowed.argmax())])
    assert match.state[0, STAGE] == 2


def test_the_default_number_of_actions_changes_nothing():
    """The task with the default set by name gives the same bytes as the task without it."""
    plain, named = Match("autochess", 2, 5), Match(f"autochess:turn_actions={TURN_ACTIONS}", 2, 5)
    for _ in range(100):
        actions = plain.random_actions()
        plain.step(actions)
        named.step(actions)
    assert all((plain.buffers[name] == named.buffers[name]).all() for name in plain.buffers)


def test_the_dead_wait_for_the_end():
    """In self-play a dead seat is out, earns nothing more, and ends when the game does, with all others."""
    match = Match("autochess:players=8", 1, 3)
    died: dict[int, int] = {}
    while True:
        dead = list(died)
        match.step(match.random_actions())
        ended = match.buffers["terminated"][0]
        assert ended.sum() in (0, SEATS)
        assert (match.buffers["reward"][0, dead] == 0).all()
        if ended.all():
            break
        dead = [seat for seat in range(SEATS) if not Seat(match.state[0], seat)[ALIVE]]
        died |= {seat: Seat(match.state[0], seat)[RANK] for seat in dead}
        assert (match.buffers["active"][0, dead] == OUT).all()
        assert not (np.delete(match.buffers["active"][0], dead) == OUT).any()
    assert len(died) >= SEATS - 3
    assert len(set(died.values())) == len(died)


def test_every_seat_has_its_own_numbers():
    """They are those of its part of the state, and at the end those of the game that ended: each place once."""
    match, words = Match("autochess:players=8", 1, 3), {"life": LIFE, "rank": RANK, "level": LEVEL, "gold": GOLD}
    differed, ended = set(), False
    while not ended:
        match.step(match.random_actions())
        ended = bool(match.buffers["terminated"][0].any())
        for name, word in () if ended else words.items():
            seats = [Seat(match.state[0], seat)[word] for seat in range(SEATS)]
            assert match.buffers[name][0].tolist() == seats
            differed |= {name} if len(set(seats)) > 1 else set()
    assert differed == set(words)
    assert sorted(match.buffers["rank"][0]) == list(range(1, SEATS + 1))
    assert np.count_nonzero(match.buffers["life"][0]) <= 1


def test_the_learners_death_ends_the_game():
    """With one learning seat the episode ends when it dies, with its rank's outcome and a last observation."""
    match = Match("autochess", 1, 0)
    while not match.buffers["terminated"][0, 0]:
        match.step(match.random_actions())
    rank = int(match.buffers["rank"][0, 0])
    assert match.buffers["life"][0, 0] == 0
    assert match.buffers["outcome"][0, 0] == (1 if rank == 1 else 2 if rank <= 4 else 3)
    final = match.buffers["final_observation"][0, 0]
    assert (final[0], final[5], final[6]) == (0, 0, np.float32(rank / 8))
    assert match.buffers["observation"][0, 0, 0] == 1


def test_life_only_falls():
    """Nobody's life ever rises within a game, and the board shows it."""
    match = Match("autochess:players=8", 4, 9)
    lives = np.full((4, SEATS), 100)
    for _ in range(200):
        match.step(match.random_actions())
        now = np.array([[Seat(game, seat)[LIFE] for seat in range(SEATS)] for game in match.state])
        begun = match.buffers["outcome"][0] > 0
        assert (now[~begun] <= lives[~begun]).all()
        assert (match.buffers["seats"][0, :, :, 0] == now).all()
        lives = now
