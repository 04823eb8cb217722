"""The board of a Gymnasium environment: what `render` returns, reduced in size, or else its observation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..fields import Array, Field
from ..panels import Glyph, Panel
from ..spaces.drawing import (
    MOST_BARS,
    as_picture,
    drawing,
    picture_in,
    pixels,
    written,
)
from ..spaces.names import labels_of
from ..spaces.pictures import GROUND, SeenPicture, seen
from ..task import Task
from .spaces import ObservationWriter

TITLE = "Observation"


def board_of(drawn: Any, writer: ObservationWriter) -> tuple[Panel, Field]:
    """Return the panel and the field for what `render` returned, or for the observation if that is None.

    Raises:
        TypeError: `drawn` is neither a picture nor text.
    """
    if drawn is not None:
        return drawing(drawn)
    if (found := _seen(writer.item)) is not None:
        name = next((name for name, (lo, _) in writer.slices.items() if found[0] and lo == found[0].start), TITLE)
        panel, field = pixels(name, "seen", (found[1].height, found[1].width))
        glyphs = tuple(Glyph("██", "█", color, GROUND, name) for name, color in found[1].legend)
        return replace(panel, glyphs=glyphs), field
    return _bars(writer)


def draw(task: Task, render: Callable[[], Any], observation: Array, board: Array, large: Array | None = None) -> None:
    """Draw one environment onto its board.

    Args:
        render: Returns the environment's own drawing.
        observation: The observation of its first seat, as stored.
        board: The output.
        large: Where what is rendered is drawn besides, in more pixels.
    """
    panel = task.panels[0]
    field = panel.field
    if field == "seen":
        found = _seen(task.observation)
        assert found is not None
        part = observation if found[0] is None else observation[found[0]]
        board[...] = picture_in(found[1].picture(part), board.shape[:2])
    elif field == "bars":
        board[...] = task.observation.decode(observation).reshape(-1)[: len(board)]
    elif field == "screen":
        board[...] = written(str(render()), panel, board.shape)
    else:
        picture = as_picture(render())
        board[...] = picture_in(picture, board.shape[:2])
        if large is not None:
            large[...] = picture_in(picture, large.shape[:2])


def _seen(item: Field) -> tuple[slice | None, SeenPicture] | None:
    """Return how an observation is drawn as a picture, and which part of it if it has several; None if it is none."""
    if item.encoding != "raw":
        return None
    for first, shape in item.images:
        if (found := seen(shape, "float32", 0, 1)) is not None:
            return slice(first, first + math.prod(shape)), found
    found = seen(item.shape, item.dtype, item.low, item.high)
    return (None, found) if found is not None else None


def _bars(writer: ObservationWriter) -> tuple[Panel, Field]:
    count = min(MOST_BARS, math.prod(writer.item.shape))
    panel = Panel("bars", TITLE, "bars", tuple(labels_of(writer.slices, count)), main=True)
    return panel, Field("bars", "float32", (count,), timed=False)
