"""States from outside: kernels trust what a state says, so one that could lead them astray must not get in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pac.envs import allocate, find
from pac.envs.errors import IllegalAction, ImpossibleState

from .begun import legal_actions

SPECS = (
    "drmario:level=15",
    "drmario-frames",
    pytest.param("autochess", marks=pytest.mark.thorough),
    "autochess:players=8",
    "treasure:bots=1,agents=3",
    "frames:steps=12",
    "staghunt:bots=2,prey=stag",
    "leduc",
    "liars_dice",
    "holdem:betting=fcpa",
)
WEIRD = (-(2**63), -1, 0, 1, 2, 5, 7, 15, 64, 127, 255, 2**31, 2**62, 2**63 - 1)
native = pytest.mark.parametrize("spec", SPECS)


class Play:
    """One environment, which has memory on both of its sides."""

    def __init__(self, spec: str) -> None:
        self.task = find(spec)
        self.buffers = allocate(self.task, 3)
        self.envs: Any = self.task.make(1, 2, self.buffers, 5)
        self.envs.reset(np.ones(1, np.bool_), 0)

    @property
    def state(self) -> np.ndarray:
        """The state's words."""
        words: np.ndarray = self.buffers["state"][0, 1].view(np.int64)
        return words

    def beside(self) -> list[bytes]:
        """All that belongs to the other two."""
        found = []
        for item in self.task.fields:
            rows = self.buffers[item.name][0].reshape(3, -1)
            found += [rows[0].tobytes(), rows[2].tobytes()]
        return found

    def step(self, random: np.random.Generator) -> None:
        """Take any action that the masks allow."""
        seats = slice(self.task.players, 2 * self.task.players)
        self.buffers["action"][0, seats] = legal_actions(self.task, self.buffers, 0, random)[seats]
        self.envs.step(0)


@pytest.mark.thorough
@native
def test_what_was_played_is_possible(spec):
    """Every state that play leads to is let in, and shows there what it showed here."""
    play, other, random = Play(spec), Play(spec), np.random.default_rng(3)
    for _ in range(150):
        play.step(random)
        other.state[:] = play.state
        other.envs.restore(0)
        for name in ("observation", "state", *(("action_mask",) if play.task.masked else ())):
            assert np.array_equal(other.buffers[name], play.buffers[name]), name


@pytest.mark.thorough
@native
def test_no_state_leads_out_of_the_games_own_memory(spec):
    """Whatever stands in some words: the state is refused, or is played without a byte of others being touched."""
    play, random = Play(spec), np.random.default_rng(4)
    before, refused = play.beside(), 0
    for _ in range(150):
        for _ in range(5):
            play.step(random)
        sound = play.state.copy()
        play.state[random.integers(len(sound), size=random.integers(1, 4))] = random.choice(WEIRD)
        try:
            play.envs.restore(0)
            for _ in range(10):
                play.step(random)
        except ImpossibleState as error:
            refused += "given for environment 1:" in str(error)
        except IllegalAction:  # a state that allows nothing
            pass
        assert play.beside() == before
        play.state[:] = sound
        play.envs.restore(0)
    assert 0 < refused < 150
