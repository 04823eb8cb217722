"""Draws boards: what a task's panels look like in a terminal, and the one widget that shows any number of them."""

from .drawing import Drawing, drawing_of
from .scale import Scale
from .widget import Boards, Frame

__all__ = ["Boards", "Drawing", "Frame", "Scale", "drawing_of"]
