"""The tasks of the bottle game: by placements (`drmario`) and by frames (`drmario-frames`)."""

from __future__ import annotations

from typing import Any

from ..family import Parameter, TaskFamily
from ..fields import Field
from ..panels import Glyph, Panel
from ..task import Outcome, Task
from .layout import ACTIONS, BUTTONS, COLUMNS, LEVELS, ROWS, SPEEDS, WORDS

COLOR_NAMES = ("amber", "rose", "sky")
BRIGHT = ("#e3b55b", "#e0708f", "#67a5ea")
DIM = ("#3b2f17", "#3d1f2b", "#1b2d44")
INK = ("#7a5a1a", "#7d2a44", "#22588f")
EYES = ("oo", "><", "^^")
GLASS = "#13151d"

# Pills are filled cells with their outline drawn in: half-block glyphs leave seams in many fonts.
SHAPES = ("()", "( ", " )", "/\\", "\\/")

EMPTY = Glyph(wide="  ", narrow=" ", color=GLASS, ground=GLASS)
HALVES = tuple(
    Glyph(wide=shape, narrow=name[0], color=ink, ground=bright)
    for shape in SHAPES
    for name, ink, bright in zip(COLOR_NAMES, INK, BRIGHT, strict=True)
)
VIRUSES = tuple(
    Glyph(wide=eyes, narrow=name[0].upper(), color=bright, ground=dim)
    for name, eyes, bright, dim in zip(COLOR_NAMES, EYES, BRIGHT, DIM, strict=True)
)
GLYPHS = (EMPTY, *HALVES, *VIRUSES)
"""Nothing, then amber, rose and sky of: single half, left, right, top, bottom, virus."""


TITLE = "Capsule Bottle"
FRAME_TITLE = "Capsule Bottle, frame by frame"
FRAME_RATE = 60.098813897
PLACEMENT_PLANES = 20
FRAME_PLANES = 23

PARAMETERS = (
    Parameter("level", 0, low=0, high=LEVELS, help="4 * (level + 1) viruses, placed higher from level 15 on"),
    Parameter("speed", "low", choices=SPEEDS, help="initial frames per row: low 40, med 20, hi 14"),
)
PLANES = (*COLOR_NAMES, "virus", "left", "right", "top", "bottom")
SLICES = {
    **{name: (plane, plane + 1) for plane, name in enumerate(PLANES)},
    "hand_first": (8, 11),
    "hand_second": (11, 14),
    "next_first": (14, 17),
    "next_second": (17, 20),
}
INFO = (
    Field("viruses", "int32", low=0, high=4 * (LEVELS + 1)),
    Field("cleared", "int32", low=0, high=4 * (LEVELS + 1)),
    Field("pills", "int32", low=0),
    Field("score", "int32", low=0),
    Field("speed_ups", "int32", low=0, high=49),
    Field("level", "int32", low=0, high=LEVELS),
)
BOARDS = (
    Field("bottle", "uint8", (ROWS, COLUMNS), timed=False, low=0, high=len(GLYPHS) - 1),
    Field("preview", "uint8", (1, 2), timed=False, low=0, high=len(GLYPHS) - 1),
)
PANELS = (
    Panel("cells", "Bottle", "bottle", glyphs=GLYPHS, main=True),
    Panel("cells", "Next", "preview", glyphs=GLYPHS),
)
OUTCOMES = (Outcome("cleared", "good"), Outcome("topped out", "bad"), Outcome("out of time", "neutral"))
PPO = {
    "learning_rate": 2e-3,
    "gamma": 0.97,
    "gae_lambda": 0.95,
    "clip": 0.2,
    "value_coefficient": 0.5,
    "entropy_coefficient": 0.01,
    "max_grad_norm": 0.5,
    "batch": 1024,
    "epochs": 2,
    "minibatch": 128,
    "huber_value_loss": True,
}
ACTION_NAMES = tuple(
    " ".join(part for part in (arrows, press) if part) or "nothing"
    for arrows in ("", "left", "right", "down", "down left", "down right")
    for press in ("", "A", "B")
)

SIDES = ("right", "below", "left", "above")


def by_placement(spec: str, level: int, speed: str) -> Task:
    """One step is a placement of the pill in hand, until the next pill is under control.

    Action: orientation * 128 + row * 8 + column of the pill's first half. The orientation is the side on which the
    second half is, an index into `SIDES`.
    """
    return Task(
        name="drmario",
        title=TITLE,
        observation=_observation(PLACEMENT_PLANES),
        num_actions=ACTIONS,
        action_shape=(len(SIDES), ROWS, COLUMNS),
        action_planes=SIDES,
        masked=True,
        slices=SLICES,
        **_common(spec, level, speed),
    )


def by_frame(spec: str, level: int, speed: str) -> Task:
    """One step is a frame, in which one of 18 combinations of buttons is held."""
    return Task(
        name="drmario-frames",
        title=FRAME_TITLE,
        observation=_observation(FRAME_PLANES),
        num_actions=len(BUTTONS),
        action_names=ACTION_NAMES,
        slices={**SLICES, "falling": (PLACEMENT_PLANES, FRAME_PLANES)},
        **_common(spec, level, speed),
    )


def _observation(planes: int) -> Field:
    hand_and_next = (len(PLANES), PLACEMENT_PLANES)
    shape = (planes, ROWS, COLUMNS)
    return Field("observation", "uint8", shape, "bits", per="seat", low=0, high=1, uniform=hand_and_next)


def _common(spec: str, level: int, speed: str) -> dict[str, Any]:
    return {
        "spec": spec,
        "factory": f"{__package__}.driver:GAME",
        "native": True,
        "kernels": f"{__package__}.driver:GAME.compile_all",
        "frame_rate": FRAME_RATE,
        "reward_terms": ("virus_clear", "clear", "topout"),
        "outcomes": OUTCOMES,
        "info": INFO,
        "panels": PANELS,
        "boards": BOARDS,
        "state": Field("state", "uint64", (WORDS,), timed=False, low=0),
        "values": {"level": level, "speed": speed},
        "settings": {"ppo": PPO},
    }


TASKS = (
    TaskFamily("drmario", TITLE, by_placement, PARAMETERS),
    TaskFamily("drmario-frames", FRAME_TITLE, by_frame, PARAMETERS),
)
