"""The task's headline below each board of the summary: its main scalars, in one or two lines."""

from __future__ import annotations

from collections.abc import Sequence

from ...training.telemetry.description import Description
from ...training.telemetry.snapshot import Snapshot
from ..boards import BoardFrame, GridLayout, Notes, ThresholdRenderer
from ..drawing.numbers import figure, short, spoken
from ..drawing.styles import FAINT, SOFT, TEXT, Row, styled

VALUE = 6  # columns that a number takes in short, `123.4k`


class Headline:
    """One line of scalars, and a line for each panel of bars with thresholds, the highest bars first.

    Attributes:
        notes: The number of lines, and the columns that the first one needs.
    """

    def __init__(self, description: Description) -> None:
        wanted = description.headline
        self._scalars = [(spoken(name), description.info.index(name)) for name in wanted if name in description.info]
        bars = [panel for panel in description.panels if panel.field in wanted and panel.steps]
        self._bars = [(panel.field, ThresholdRenderer(panel)) for panel in bars]
        least = len(self._scalars[0][0]) + 1 + VALUE if self._scalars else 0
        self.notes = Notes(bool(self._scalars) + len(self._bars), least)

    def added(self, frames: Sequence[BoardFrame], snapshot: Snapshot, grid: GridLayout | None) -> Sequence[BoardFrame]:
        """Return the frames with as many of these lines as the grid has room for."""
        if grid is None or not grid.notes:
            return frames
        width, first = grid.scale.columns, snapshot.first
        return [
            frame._replace(notes=self._rows(snapshot, first, index, width)[: grid.notes])
            for index, frame in enumerate(frames)
        ]

    def _rows(self, snapshot: Snapshot, first: int, index: int, width: int) -> tuple[Row, ...]:
        scalars = self._scalar_row(snapshot.info[first + index].tolist(), width)
        return (
            *((scalars,) if self._scalars else ()),
            *(bars.strongest(snapshot.boards[field][index], width) for field, bars in self._bars),
        )

    def _scalar_row(self, values: Sequence[float], width: int) -> Row:
        """Names and values, as many as fit."""
        row: list[Row] = []
        used = 0
        for name, index in self._scalars:
            text = figure(values[index])
            if not row and len(name) + 1 + len(text) > width:
                text = short(values[index])
            used += len(name) + len(text) + 2
            if used > width + 1:
                break
            row.append((styled(f"{name} ", FAINT if row else SOFT), styled(f"{text} ", TEXT)))
        return tuple(segment for pair in row for segment in pair)
