"""Draws boards: what a task's panels look like in a terminal, and the one widget that shows any number of them."""

from .cells import mixed
from .drawing import drawing_of
from .fitting import Fitting, Notes
from .scale import Drawing, Scale
from .values import Steps, heading, named
from .widget import Boards, Frame

__all__ = [
    "Boards",
    "Drawing",
    "Fitting",
    "Frame",
    "Notes",
    "Scale",
    "Steps",
    "drawing_of",
    "heading",
    "mixed",
    "named",
]
