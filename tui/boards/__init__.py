"""Draws boards: the renderers of a task's panels, and the one widget that shows any number of boards."""

from .layout import GridLayout, Notes
from .renderers import renderer_for
from .scale import Renderer, Scale
from .values import ThresholdRenderer, heading, named
from .widget import BoardBorder, BoardGrid

__all__ = [
    "BoardBorder",
    "BoardGrid",
    "GridLayout",
    "Notes",
    "Renderer",
    "Scale",
    "ThresholdRenderer",
    "heading",
    "named",
    "renderer_for",
]
