"""The task of the auto-battler, an eight-player game in which a policy plays one seat against bots, or all eight."""

from __future__ import annotations

from ..family import Parameter, TaskFamily
from ..fields import Field
from ..panels import Layer, Panel
from ..task import Outcome, Task
from . import layout as at
from .creatures import KINDS
from .looks import FIGHT_GLYPHS, GLYPHS, ITEM_COLOR, LIFE_COLOR, POWER_COLOR, SHOP_GLYPHS, STAR_COLOR

TITLE = "Eightfold Arena"
REWARD_TERMS = ("fight", "death", "place", "interest", "kinds", "kills", "life", "bench", "hoard")

PARAMETERS = (
    Parameter("players", 1, low=1, high=at.SEATS, help="seats that the policy plays, 1 or 8; bots play the others"),
    Parameter("bots", 0, low=0, high=at.SEATS - 1, help="strength of the bots, 1 to 7; 0: one bot of each strength"),
    Parameter("reward", "v1", choices=at.PRESETS, help="reward preset: v1 or v3"),
    Parameter(
        "turn_actions", at.TURN_ACTIONS, low=1, high=at.MOST_TURN_ACTIONS, help="actions after which a turn ends"
    ),
    Parameter(
        "combat",
        "inline",
        choices=("inline", "device"),
        help="fights of a round: one after the other in the game's step (inline), or side by side on a GPU (device)",
    ),
)
SLICES = {
    "player": (0, 14),
    "shop": (14, 68),
    "cells": (68, 452),
    "items": (452, 462),
    "synergies": (462, 493),
    "game": (493, 500),
    "opponents": (500, 570),
    "propositions": (570, 612),
}
INFO = (
    Field("life", "int32", per="seat", low=0, high=100),
    Field("rank", "int32", per="seat", low=1, high=at.SEATS),
    Field("stage", "int32", per="seat", low=0),
    Field("level", "int32", per="seat", low=2, high=9),
    Field("gold", "int32", per="seat", low=0),
    Field("streak", "int32", per="seat", low=-10, high=10),
    Field("xp_to_go", "int32", per="seat", low=0),
    Field("board_size", "int32", per="seat", low=0, high=9),
    Field("kinds_active", "int32", per="seat", low=0),
    Field("items_held", "int32", per="seat", low=0, high=10),
    Field("actions_taken", "int32", per="seat", low=0),
)
CELL_SHAPE = (at.CELLS // at.BENCH, at.BENCH)
FILM_SHAPE = (at.PICTURES, at.FIGHT_ROWS, at.FIGHT_COLUMNS)
STANDING = ("life", "rank")
BOARDS = (
    Field("creatures", "uint8", CELL_SHAPE, timed=False, low=0, high=len(GLYPHS) - 1),
    Field("stars", "uint8", CELL_SHAPE, timed=False, low=0, high=3),
    Field("gear", "uint8", CELL_SHAPE, timed=False, low=0, high=3),
    Field("shop", "uint8", (at.SHOP_SLOTS,), timed=False, low=0, high=len(SHOP_GLYPHS) - 1),
    Field("fight", "uint8", FILM_SHAPE, timed=False, low=0, high=len(FIGHT_GLYPHS) - 1),
    Field("fight_life", "uint8", FILM_SHAPE, timed=False, low=0, high=255),
    Field("fight_power", "uint8", FILM_SHAPE, timed=False, low=0, high=255),
    Field("kinds", "float32", (len(KINDS),), timed=False, low=0, high=10),
    Field("seats", "float32", (at.SEATS, len(STANDING)), timed=False, low=0, high=100),
)
PANELS = (
    Panel(
        "cells",
        "Board and bench",
        "creatures",
        glyphs=GLYPHS,
        main=True,
        layers=(Layer("stars", "pips", "stars", STAR_COLOR), Layer("gear", "pips", "items", ITEM_COLOR)),
    ),
    Panel("list", "Shop", "shop", glyphs=SHOP_GLYPHS),
    Panel(
        "cells",
        "Last fight",
        "fight",
        glyphs=FIGHT_GLYPHS,
        layers=(Layer("fight_life", "meter", "life", LIFE_COLOR), Layer("fight_power", "meter", "PP", POWER_COLOR)),
    ),
    Panel(
        "bars",
        "Players",
        "seats",
        labels=tuple(f"seat {seat}" for seat in range(1, at.SEATS + 1)),
        full=at.START_LIFE,
        columns=STANDING,
    ),
    Panel(
        "bars",
        "Synergies",
        "kinds",
        labels=tuple(kind.name for kind in KINDS),
        colors=tuple(kind.color for kind in KINDS),
        steps=tuple(kind.thresholds for kind in KINDS),
    ),
)
OUTCOMES = (Outcome("won", "good"), Outcome("top half", "good"), Outcome("lost", "bad"))
PPO = {
    "learning_rate": ((0, 3e-5), (32_000, 3e-4), (3_000_000, 3e-4), (10_000_000, 5e-5)),
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip": 0.2,
    "entropy_coefficient": ((0, 0.05), (5_000_000, 0.03)),
    "batch": 8192,
    "minibatch": 512,
    "epochs": 5,
    "hidden": 256,
    "layers": 2,
}
ACTION_NAMES = (
    *(f"buy {slot}" for slot in range(1, at.SHOP_SLOTS + 1)),
    "refresh",
    "buy experience",
    "lock",
    "end turn",
    *(f"move to {cell % 8 + 1},{cell // 8}" for cell in range(at.CELLS)),
    *(f"sell {cell % 8 + 1},{cell // 8}" for cell in range(at.CELLS)),
    *(f"remove {slot}" for slot in range(1, at.SHOP_SLOTS + 1)),
    *(f"pick {offer}" for offer in range(1, at.OFFERS + 1)),
    *(f"combine {number}" for number in range(1, 7)),
)


def build(spec: str, players: int, bots: int, reward: str, turn_actions: int, combat: str) -> Task:
    """One step is one action of every seat that has not ended its turn; the last END_TURN runs the fights.

    For a seat that has ended its turn, and for a dead one, only END_TURN is legal; see the field `active`.
    """
    return Task(
        spec=spec,
        name="autochess",
        title=TITLE,
        factory=f"{__package__}.driver:GAME",
        version=2,
        observation=Field("observation", "float32", (at.OBSERVATION,), per="seat", low=0, high=1),
        num_actions=at.ACTIONS,
        masked=True,
        players=players,
        native=True,
        kernels=f"{__package__}.driver:GAME.compile_all",
        reward_terms=REWARD_TERMS,
        outcomes=OUTCOMES,
        info=INFO,
        headline=("life", "rank", "stage", "kinds"),
        panels=PANELS,
        boards=BOARDS,
        state=Field("state", "int64", (at.WORDS,), timed=False),
        slices=SLICES,
        action_names=ACTION_NAMES,
        values={"players": players, "bots": bots, "reward": reward, "turn_actions": turn_actions, "combat": combat},
        gpu_only="combat=device" if combat == "device" else "",
        settings={"ppo": PPO},
    )


TASKS = (TaskFamily("autochess", TITLE, build, PARAMETERS),)
