"""Agents of PettingZoo that take turns, in a loop that ends when one of them learns that the game is over."""

from types import MappingProxyType

import gymnasium
import pytest

from pac.training import watch

from .scripted import session_of

pytest.importorskip("pettingzoo")

from pettingzoo import AECEnv

MOVES = 5


class Race(AECEnv):  # type: ignore[misc]
    """The agent that makes the fifth move wins."""

    metadata = MappingProxyType({"name": "race"})
    possible_agents = ("one", "two")

    def action_space(self, _agent):
        return gymnasium.spaces.Discrete(2)

    def observe(self, _agent):
        return self.moves

    def reset(self, **_):
        self.agents, self.moves, self.agent_selection = list(self.possible_agents), 0, "one"
        self.rewards, self._cumulative_rewards = (dict.fromkeys(self.agents, 0.0) for _ in range(2))
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
        self.infos: dict[str, dict[str, float]] = {agent: {} for agent in self.agents}

    def step(self, _action):
        self.moves, mine = self.moves + 1, self.agent_selection
        self.agent_selection = self.agents[1 - self.agents.index(mine)]
        if self.moves == MOVES:
            self._cumulative_rewards = {agent: 1.0 if agent == mine else -1.0 for agent in self.agents}
            self.terminations = dict.fromkeys(self.agents, True)


@pytest.mark.parametrize("last", ["reset", "close"])
def test_a_move_that_ends_the_game_counts_if_nobody_asks_what_came_of_it(last):
    """With its reward, which the script takes from the environment."""
    env = watch(Race())
    for _ in range(3):
        env.reset()
        while not any(env.last()[2:4]):
            env.step(0)
    session = session_of(env)
    getattr(env, last)()
    session.close()
    counts = session.counter.counts
    assert (counts.steps, counts.episodes) == (3 * MOVES, 6)
    returns = session.debugger.diagnosis.evidence.stepped.returns
    assert (returns.count, returns.low, returns.high) == (6, -1.0, 1.0)
