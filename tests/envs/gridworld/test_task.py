"""How the games on a grid are described, and what scripted agents earn in them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from rich.cells import cell_len

from pac.envs import BadParameter, find
from pac.envs.gridworld.layout import MOST_AGENTS
from pac.envs.gym import GAMES

from ..begun import begun


@pytest.mark.parametrize("name", ["treasure", "staghunt"])
def test_glyphs_have_their_width_and_agents_their_letters(name: str):
    """A wide glyph takes two columns and a narrow one a column; every agent has a letter and a color of its own."""
    glyphs = find(f"{name}:agents={MOST_AGENTS}").panels[0].glyphs
    assert {(cell_len(glyph.wide), cell_len(glyph.narrow)) for glyph in glyphs} == {(2, 1)}
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


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("treasure:agents=1", "agents expects 2 to 16"),
        ("treasure:size=49", "size expects 5 to 48"),
        ("treasure:view=0", "view expects 1 to 7"),
        ("treasure:agents=3,bots=3", "bots must be fewer than the 3 agents"),
        ("treasure:size=5,agents=16,resources=0.5", "must fit on the grid"),
        ("staghunt:size=5", "use a larger size"),
        ("staghunt:prey=wolf", "prey expects one of stag, hare"),
    ],
)
def test_bad_parameters_are_refused(spec: str, complaint: str):
    """Parameters out of range, or that do not fit together, are errors that say what was expected."""
    with pytest.raises(BadParameter, match=complaint):
        find(spec)


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
