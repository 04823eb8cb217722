"""The tasks on a grid: `treasure` and `staghunt`."""

from __future__ import annotations

from typing import Any

from ..errors import BadParameter
from ..family import Parameter, TaskFamily
from ..fields import Field
from ..panels import Panel, Sight
from ..task import Outcome, Task
from . import layout as at
from .layout import AGENT, AGENT_COLORS, SEEN, glyphs_of

TREASURE_TITLE = "Treasure Meadow"
STAGHUNT_TITLE = "Stag Hunt"


def _grid_parameters(agents: int, size: int) -> tuple[Parameter, ...]:
    return (
        Parameter("agents", agents, low=2, high=at.MOST_AGENTS, help="agents on the grid"),
        Parameter("size", size, low=at.SMALLEST, high=at.LARGEST, help="rows and columns of the grid"),
        Parameter("view", 4, low=at.NEAREST, high=at.FARTHEST, help="cells that an agent sees in each direction"),
        Parameter("turns", 100, low=10, high=at.MOST_TURNS, help="turns of an episode"),
        Parameter(
            "bots", 0, low=0, high=at.MOST_AGENTS - 1, help="how many of the agents are scripted; the others learn"
        ),
    )


TREASURE_PARAMETERS = (
    *_grid_parameters(3, 15),
    Parameter("resources", 0.1, low=0, high=0.5, help="share of the cells with a resource at the beginning"),
    Parameter("regrowth", 0.005, low=0, high=0.5, help="probability per turn that a resource grows in an empty cell"),
)
STAGHUNT_PARAMETERS = (
    *_grid_parameters(4, 9),
    Parameter("stags", 4, low=0, high=64, help="stags on the grid"),
    Parameter("hares", 2, low=0, high=64, help="hares on the grid"),
    Parameter("hunters", 2, low=1, high=4, help="agents that must be next to a stag to catch it"),
    Parameter("stag", 5.0, low=0, high=100, help="reward of each of them"),
    Parameter("hare", 1.0, low=0, high=100, help="reward for a hare"),
    Parameter("risk", 0.0, low=0, high=100, help="what an attack on a stag costs that fails"),
    Parameter("prey", "hare", choices=at.KINDS[at.STAGHUNT], help="what scripted agents hunt: hare or stag"),
)
TREASURE_OUTCOMES = (Outcome("profit", "good"), Outcome("loss", "bad"))
STAGHUNT_OUTCOMES = (Outcome("stags", "good"), Outcome("hares", "neutral"), Outcome("nothing", "bad"))
PPO = {
    "learning_rate": 1e-3,
    "gamma": 0.95,
    "entropy_coefficient": 0.01,
    "batch": 4096,
    "minibatch": 512,
    "epochs": 2,
    "normalize_reward": True,
    "channels": 32,
    "layers": 1,
}
Q_LEARNING = {
    "learning_rate": 5e-4,
    "gamma": 0.95,
    "n_step": 3,
    "replay_size": 50_000,
    "train_frequency": 8,
    "target_update": 2_000,
    "epsilon": ((0, 1.0), (30_000, 0.05)),
    "channels": 0,
}


def treasure(spec: str, **values: Any) -> Task:
    """One step is a turn, in which every agent moves by one cell. Whoever moves onto a resource takes it.

    A gem is worth 10, food 5, and a bone -10.
    """
    cells = values["size"] ** 2
    if round(values["resources"] * cells) + values["agents"] > cells:
        raise BadParameter("resources and agents must fit on the grid")
    return _task(at.TREASURE, TREASURE_TITLE, spec, values, TREASURE_OUTCOMES, at.ACTION_NAMES[:-1])


def staghunt(spec: str, **values: Any) -> Task:
    """One step is a turn, in which every agent moves by one cell, attacks, or waits.

    A hare is caught by moving onto it, a stag by several hunters next to it, of whom one attacks by moving towards it.
    """
    if values["stags"] + values["hares"] + values["agents"] > (values["size"] - 2) ** 2 // 2:
        raise BadParameter("stags, hares and agents must fit into half of the grid without its edge; use a larger size")
    return _task(at.STAGHUNT, STAGHUNT_TITLE, spec, values, STAGHUNT_OUTCOMES, at.ACTION_NAMES)


def _task(
    name: str, title: str, spec: str, values: dict[str, Any], outcomes: tuple[Outcome, ...], actions: tuple[str, ...]
) -> Task:
    agents, size, view, bots = (values[key] for key in ("agents", "size", "view", "bots"))
    if bots >= agents:
        raise BadParameter(f"bots must be fewer than the {agents} agents, got {bots}")
    kinds, counts, glyphs = at.KINDS[name], at.COUNTS[name], glyphs_of(name)
    planes = ("border", *kinds, "agents")
    shape = (len(planes) + at.TIMES, 2 * view + 1, 2 * view + 1)
    times = (len(planes), len(planes) + at.TIMES)
    labels = tuple(f"{'agent' if number <= agents - bots else 'bot'} {number}" for number in range(1, agents + 1))
    return Task(
        spec=spec,
        name=name,
        title=title,
        factory=f"{__package__}.driver:GAME",
        observation=Field("observation", "uint8", shape, "bits", per="seat", low=0, high=1, uniform=times),
        num_actions=len(actions),
        players=agents - bots,
        native=True,
        kernels=f"{__package__}.driver:GAME.compile_all",
        reward_terms=counts,
        outcomes=outcomes,
        info=(
            *(Field(count, "int32", per="seat", low=0) for count in counts),
            *((Field("bot_return", "float32"),) if bots else ()),
        ),
        headline=counts,
        panels=(
            Panel("cells", "Grid", "grid", glyphs=glyphs, main=True, sight=Sight(AGENT, view, SEEN)),
            Panel("bars", "Agents", "scores", labels=labels, columns=("return", *counts), colors=AGENT_COLORS[:agents]),
        ),
        boards=(
            Field("grid", "uint8", (size, size), timed=False, low=0, high=AGENT + agents - 1),
            Field("scores", "float32", (agents, 1 + len(counts)), timed=False),
        ),
        state=Field("state", "int64", (at.words_of(len(kinds), agents, size, view),), timed=False),
        slices={**{plane: (index, index + 1) for index, plane in enumerate(planes)}, "time left": times},
        action_names=actions,
        values=values,
        settings={"ppo": PPO, "dqn": Q_LEARNING, "iqn": Q_LEARNING, "independent": Q_LEARNING},
    )


TASKS = (
    TaskFamily(at.TREASURE, TREASURE_TITLE, treasure, TREASURE_PARAMETERS),
    TaskFamily(at.STAGHUNT, STAGHUNT_TITLE, staghunt, STAGHUNT_PARAMETERS),
)

assert len(AGENT_COLORS) + AGENT <= SEEN
