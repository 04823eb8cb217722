"""The task `gameboy`: a game of the first Game Boy, from one of this package's cartridges or from a user's file."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..family import Parameter, TaskFamily
from ..fields import Field
from ..panels import Panel
from ..task import Outcome, Task
from .cartridges import cartridge_for
from .games import Game, find_game
from .layout import block_bytes
from .looks import COLUMNS, LINES

NAME, TITLE = "gameboy", "Game Boy"
HEIGHT, WIDTH = 72, 80
FRAME_RATE = 4_194_304 / 70_224
PARAMETERS = (
    Parameter("rom", "", help="file of a cartridge; without one, game is catch or walk, which are built in"),
    Parameter("game", "", help="what is to be done: NAME.yaml beside the ROM, or one of the built-in files"),
    Parameter(
        "tau", 0.005, low=0, high=1, help="distance at which a goal picture is reached, as a share of the largest"
    ),
    Parameter("page", 0xC0, low=0, high=0xFF, help="page of memory that the inspector shows"),
)
PPO = {
    "learning_rate": 1e-3,
    "gamma": 0.97,
    "entropy_coefficient": 0.01,
    "batch": 2048,
    "minibatch": 256,
    "epochs": 2,
}


def build(spec: str, **values: Any) -> Task:
    """One step holds a set of buttons for some frames.

    The observation is every second pixel of the last frame, 72 x 80 pixels in four shades, packed. The reward is the
    growth of numbers in memory times their weights; of a game with goal pictures, -0.01 per step, plus 5 times the
    decrease of the distance from the next one, plus 1 for reaching it.
    """
    game = find_game(values["game"], values["rom"])
    cartridge = cartridge_for(values["rom"], values["game"])
    picture = Field("frame", "uint8", (HEIGHT, WIDTH), "2bpp", timed=False, low=0, high=3)
    labels = (*(value.name for value in game.values), *(("distance", "stage") if game.goals else ()))
    return Task(
        spec=spec,
        name=NAME,
        title=f"{TITLE}: {game.title}",
        factory=f"{__package__}.driver:GameBoyEnvironments",
        observation=replace(picture, name="observation", per="seat", timed=True),
        num_actions=len(game.actions),
        action_names=game.names,
        native=True,
        kernels=f"{__package__}.driver:compile_all",
        frame_rate=FRAME_RATE,
        reward_terms=("values", "step", "closer", "reached"),
        outcomes=_outcomes(game),
        info=(
            Field("score", "float32"),
            Field("stage", "int32", low=0),
            Field("distance", "float32", low=0, high=1),
            Field("cycles", "int64", low=0),
        ),
        headline=("stage", "distance") if game.goals else ("score",),
        panels=(
            Panel("shades", "Screen", "frame", main=True),
            *((Panel("shades", "Goal", "goal"),) if game.goals else ()),
            Panel("bars", "Progress", "progress", labels=labels, columns=("value",)),
            Panel("text", "Console", "machine", close=True),
        ),
        boards=(
            picture,
            replace(picture, name="goal"),
            Field("progress", "float32", (len(labels), 2), timed=False),
            Field("machine", "uint32", (LINES, COLUMNS), timed=False),
        ),
        state=Field("state", "int64", (block_bytes(cartridge.ram_bytes) // 8,), timed=False),
        values=MappingProxyType(values),
        settings=MappingProxyType({"ppo": MappingProxyType(PPO)}),
    )


def _outcomes(game: Game) -> tuple[Outcome, ...]:
    own = tuple(Outcome(end.outcome, end.tone) for end in game.ends)
    return (*own, Outcome("all goals", "good"), Outcome("out of time", "neutral"), Outcome("locked", "bad"))


TASKS = (TaskFamily(NAME, TITLE, build, PARAMETERS),)
