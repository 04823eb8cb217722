"""The board of a Gymnasium environment: what `render` returns, reduced in size, or else its observation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import Array, Field
from ..panels import Panel
from ..spaces.drawing import (
    MOST_BARS,
    as_picture,
    drawing,
    in_color,
    is_picture,
    picture_in,
    picture_shape,
    pixels,
    written,
)
from ..spaces.names import labels_of
from ..task import Task
from .spaces import ObservationWriter


def board_of(drawn: Any, writer: ObservationWriter) -> tuple[Panel, Field]:
    """Return the panel and the field for what `render` returned, or for the observation if that is None.

    Raises:
        TypeError: `drawn` is neither a picture nor text.
    """
    if drawn is not None:
        return drawing(drawn)
    shape = writer.item.shape
    if writer.item.dtype == "uint8" and len(shape) == 3 and shape[2] == 3:
        return pixels("Observation", "seen", shape)
    if (part := _image_part(writer.item)) is not None:
        name = next((name for name, (lo, _) in writer.slices.items() if lo == part[0]), "Observation")
        return pixels(name, "seen", picture_shape(part[1]) or ())
    return _bars(writer)


def draw(task: Task, render: Callable[[], Any], observation: Array, board: Array) -> None:
    """Draw one environment onto its board.

    Args:
        render: Returns the environment's own drawing.
        observation: The observation of its first seat, as stored.
        board: The output.
    """
    panel = task.panels[0]
    field = panel.field
    if field == "seen":
        board[...] = picture_in(_seen(task.observation, observation), board.shape[:2])
    elif field == "bars":
        board[...] = task.observation.decode(observation).reshape(-1)[: len(board)]
    elif field == "screen":
        board[...] = written(str(render()), panel, board.shape)
    else:
        board[...] = picture_in(as_picture(render()), board.shape[:2])


def _image_part(item: Field) -> tuple[int, tuple[int, ...]] | None:
    """Return index and shape of the first picture among the parts of an observation."""
    return next((part for part in item.images if is_picture(part[1])), None)


def _seen(item: Field, observation: Array) -> NDArray[np.uint8]:
    if (part := _image_part(item)) is None:
        return observation
    first, shape = part
    numbers = observation[first : first + math.prod(shape)].reshape(shape)
    return in_color((255 * numbers).astype(np.uint8))


def _bars(writer: ObservationWriter) -> tuple[Panel, Field]:
    count = min(MOST_BARS, math.prod(writer.item.shape))
    panel = Panel("bars", "Observation", "bars", tuple(labels_of(writer.slices, count)), main=True)
    return panel, Field("bars", "float32", (count,), timed=False)
