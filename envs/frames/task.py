"""The task `frames`."""

from __future__ import annotations

from typing import Any

from ..family import Parameter, TaskFamily
from ..fields import Field
from ..panels import Panel
from ..task import Outcome, Task
from .layout import ACTION_NAMES, HEIGHT, MOST_DRIFTERS, MOST_SHAPES, MOST_STEPS, NAME, WIDTH, WORDS

TITLE = "Goal Pictures"
PARAMETERS = (
    Parameter("shapes", 2, low=1, high=MOST_SHAPES, help="shapes to bring to their places, one after another"),
    Parameter("drifters", 2, low=0, high=MOST_DRIFTERS, help="squares that drift through the picture"),
    Parameter("steps", 60, low=10, high=MOST_STEPS, help="steps of an episode"),
    Parameter(
        "tau", 0.02, low=0, high=1, help="distance at which a goal picture is reached, as a share of the largest"
    ),
)
OUTCOMES = (Outcome("matched", "good"), Outcome("out of time", "bad"))
PPO = {
    "learning_rate": 5e-4,
    "gamma": 0.97,
    "entropy_coefficient": 0.01,
    "batch": 2048,
    "minibatch": 256,
    "epochs": 2,
}


def build(spec: str, **values: Any) -> Task:
    """One step moves a shape by four pixels, until the picture is nearly the goal picture.

    The observation is the picture, 72 x 80 pixels in four shades, packed. The reward is -0.01 per step, plus 5 times
    the decrease of the distance to the goal picture, plus 1 for reaching it.
    """
    picture = Field("observation", "uint8", (HEIGHT, WIDTH), "2bpp", per="seat", low=0, high=3)
    return Task(
        spec=spec,
        name=NAME,
        title=TITLE,
        factory=f"{__package__}.driver:GAME",
        observation=picture,
        num_actions=len(ACTION_NAMES),
        action_names=ACTION_NAMES,
        native=True,
        kernels=f"{__package__}.driver:GAME.compile_all",
        reward_terms=("step", "closer", "reached"),
        outcomes=OUTCOMES,
        info=(Field("distance", "float32", low=0, high=1), Field("stage", "int32", low=0, high=MOST_SHAPES)),
        headline=("stage", "distance"),
        panels=(
            Panel("shades", "Picture", "frame", main=True),
            Panel("shades", "Goal", "goal"),
            Panel("bars", "Progress", "progress", labels=("distance", "stage"), columns=("value",), full=1.0),
        ),
        boards=(
            Field("frame", "uint8", (HEIGHT, WIDTH), "2bpp", timed=False, low=0, high=3),
            Field("goal", "uint8", (HEIGHT, WIDTH), "2bpp", timed=False, low=0, high=3),
            Field("progress", "float32", (2, 2), timed=False),
        ),
        state=Field("state", "int64", (WORDS,), timed=False),
        values=values,
        settings={"ppo": PPO},
    )


TASKS = (TaskFamily(NAME, TITLE, build, PARAMETERS),)
