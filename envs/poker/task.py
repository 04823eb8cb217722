"""The tasks of card and dice games for two players; the policy plays both seats."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..family import TaskFamily
from ..fields import Field
from ..panels import Panel
from ..task import Outcome, Task
from .families import FAMILIES, game_of, has_game
from .layout import PLAYERS
from .looks import shape_of

__all__ = ["TASKS", "game_of", "has_game"]

OUTCOMES = (Outcome("seat 1 wins", "good"), Outcome("seat 2 wins", "bad"), Outcome("split", "neutral"))
PPO = {
    "learning_rate": 1e-3,
    "gamma": 1.0,
    "entropy_coefficient": 0.2,
    "batch": 4096,
    "minibatch": 512,
    "hidden": 128,
}
"""With less entropy, self-play goes in circles."""


def build(name: str, spec: str, **values: Any) -> Task:
    """One step is one action of the seat whose turn it is; the other seat waits, and its action is ignored.

    Seat 1 begins; at hold'em it has the button. The reward comes at the hand's end: chips won or lost.
    """
    family = FAMILIES[name]
    layout = family.layout(**values)
    return Task(
        spec=spec,
        name=name,
        title=family.title,
        factory=f"{__package__}.driver:GAME",
        observation=Field("observation", "float32", (layout.observed,), per="seat", low=0, high=1),
        num_actions=len(layout.actions),
        masked=True,
        players=PLAYERS,
        native=True,
        kernels=f"{__package__}.driver:GAME.compile_all",
        outcomes=OUTCOMES,
        info=(Field("pot", "float32", low=0), Field("street", "int32", low=0, high=layout.streets - 1)),
        headline=("pot",),
        panels=(Panel("text", "Table", "hand", main=True, close=True),),
        boards=(Field("hand", "uint32", shape_of(layout), timed=False),),
        state=Field("state", "int64", (layout.words,), timed=False),
        slices=layout.slices,
        action_names=layout.actions,
        values=values,
        settings={"ppo": PPO},
        trainer="mccfr",
    )


TASKS = tuple(
    TaskFamily(name, family.title, partial(build, name), family.parameters) for name, family in FAMILIES.items()
)
