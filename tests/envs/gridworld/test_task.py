"""How the games on a grid are described, and what scripted agents earn in them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from pac.envs import find
from pac.envs.gridworld.layout import MOST_AGENTS
from pac.envs.gym import GAMES

from ..begun import begun


@pytest.mark.parametrize("name", ["treasure", "staghunt"])
def test_agents_have_their_letters(name: str):
    """Every agent has a letter and a color of its own."""
    glyphs = find(f"{name}:agents={MOST_AGENTS}").panels[0].glyphs
    agents = glyphs[4 : 4 + MOST_AGENTS]
    assert len({glyph.narrow for glyph in glyphs[: 4 + MOST_AGENTS]}) >= MOST_AGENTS + 2
    assert len({glyph.ground for glyph in agents}) == MOST_AGENTS


@pytest.mark.parametrize("name", ["pac/Treasure-v0", "pac/StagHunt-v0"])
def test_they_are_vector_environments(name: str):
    """The rows of Gymnasium's vector environment are agents, and all of them end together."""
    envs = gymnasium.make_vec(name, num_envs=2, agents=3, turns=10)
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (6, *find(GAMES[name]).observation.shape)
    ends = [envs.step(np.zeros(6, np.int64))[2].tolist() for _ in range(10)]
    assert ends == [[False] * 6] * 9 + [[True] * 6]
    envs.close()


def returns_of(spec: str) -> tuple[float, float]:
    """Mean returns of random agents and of bots over 32 episodes."""
    task, buffers, environments = begun(spec, 32, seed=0)
    random = np.random.default_rng(0)
    while not buffers["terminated"][0].any():
        buffers["action"][0] = random.integers(task.num_actions, size=32 * task.players)
        environments.step(0)
    return float(buffers["episode_return"][0].mean()), float(buffers["bot_return"][0].mean())


def test_foragers_earn_much_more_than_random_agents():
    """A baseline is worth beating only if it is far from chance."""
    chance, foragers = returns_of("treasure:agents=6,bots=3")
    assert foragers > 5 * abs(chance)


@pytest.mark.thorough
@pytest.mark.parametrize("risk", [0, 5])
def test_hunters_of_stags_earn_more_than_hunters_of_hares(risk: int):
    """Whatever the risk, hunting together pays most, so hunting hares is the worse of two equilibria."""
    _, stags = returns_of(f"staghunt:agents=5,bots=4,prey=stag,risk={risk}")
    _, hares = returns_of(f"staghunt:agents=5,bots=4,prey=hare,risk={risk}")
    assert stags > hares
