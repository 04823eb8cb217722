"""The task `gameboy`: a game of the first Game Boy, from one of this package's cartridges or from a user's file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..family import Parameter, TaskFamily
from ..fields import Field
from ..naming import Names
from ..panels import Panel
from ..task import Outcome, Task
from .cartridge import cartridge_for
from .games import OWN_GAMES, Game, find_game
from .layout import block_bytes
from .looks import CODE_LINES, COLUMNS, MEMORY_COLUMNS, MEMORY_LINES, REGISTER_LINES, SPRITE_LINES

NAME, TITLE = "gameboy", "Game Boy"
HEIGHT, WIDTH = 72, 80
FRAME_RATE = 4_194_304 / 70_224
SHADES = ("#dfe6b9", "#8fae72", "#46705c", "#16262c")
"""The colors of the shades from 0, which is the lightest."""
TEXTS = {
    "registers": (REGISTER_LINES, COLUMNS),
    "code": (CODE_LINES, COLUMNS),
    "sprites": (SPRITE_LINES, COLUMNS),
    "memory": (MEMORY_LINES, MEMORY_COLUMNS),
    "memory_end": (MEMORY_LINES, MEMORY_COLUMNS),
}
PARAMETERS = (
    Parameter(
        "rom", "", help="file of a cartridge; without one, game is catch or walk, which are built in", names=Names.FILE
    ),
    Parameter(
        "game",
        "",
        help="what is to be done: NAME.yaml beside the ROM, or one of the built-in files",
        names=Names.FILE,
        own=OWN_GAMES,
    ),
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
    rom, name = values["rom"], values["game"]
    given = cartridge_for(rom, name) if rom else None  # a bad file is reported before a missing game
    game = find_game(name, rom)
    cartridge = given or cartridge_for(rom, name)
    if game.files:
        from .snapshots import check_files  # imports Numba

        check_files(game, cartridge)
    picture = Field("frame", "uint8", (HEIGHT, WIDTH), "2bpp", timed=False, low=0, high=3)
    names = tuple(value.name for value in game.values)
    return Task(
        spec=spec,
        name=NAME,
        title=f"{TITLE}: {game.title}",
        factory=f"{__package__}.driver:GAME",
        observation=replace(picture, name="observation", per="seat", timed=True),
        num_actions=len(game.actions),
        action_names=game.names,
        native=True,
        kernels=f"{__package__}.driver:GAME.compile_all",
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
            Panel("shades", "Screen", "frame", main=True, colors=SHADES),
            *(_goal_panels() if game.goals else ()),
            *((Panel("table", "Memory values", "values", labels=names),) if names else ()),
            Panel("text", "Registers", "registers", close=True, detail=True),
            Panel("text", "Code", "code", close=True, detail=True),
            Panel("text", "Memory", "memory", close=True, detail=True),
            Panel("text", "Memory, second half of the page", "memory_end", close=True, detail=True),
            Panel("text", "Sprites: x, y, tile, flags", "sprites", close=True, detail=True),
        ),
        boards=(
            picture,
            replace(picture, name="goal"),
            Field("progress", "float32", (2, 2), timed=False),
            Field("values", "float32", (max(1, len(names)),), timed=False),
            *(Field(name, "uint8", shape, timed=False) for name, shape in TEXTS.items()),
        ),
        state=Field("state", "int64", (block_bytes(cartridge.ram_bytes) // 8,), timed=False),
        trace=f"{__package__}.handheld:trace_step",
        state_files=f"{__package__}.snapshots:state_files",
        values=values,
        settings={"ppo": PPO},
    )


def _goal_panels() -> tuple[Panel, ...]:
    return (
        Panel("shades", "Goal", "goal", colors=SHADES),
        Panel("bars", "Progress", "progress", labels=("distance", "stage"), columns=("share", "value"), full=1.0),
    )


def _outcomes(game: Game) -> tuple[Outcome, ...]:
    own = tuple(Outcome(end.outcome, end.tone) for end in game.ends)
    return (*own, Outcome("all goals", "good"), Outcome("out of time", "neutral"), Outcome("locked", "bad"))


TASKS = (TaskFamily(NAME, TITLE, build, PARAMETERS),)
