"""Learning curves: every metric over steps or wall time."""

from __future__ import annotations

from itertools import groupby

from textual.app import ComposeResult

from ...training.telemetry.snapshot import ViewRequest
from ..drawing.panels import columns, shares
from ..drawing.styles import Row
from ..drawing.widgets import TextLines
from .base import BaseView, ViewUpdate
from .curves import Curves, all_curves
from .figures import hint

MOST = 12
CHART = (36, 9)


class LearningView(BaseView):
    """As many charts as are legible, in pages."""

    def __init__(self) -> None:
        super().__init__(id="learning")
        self._names: list[str] = []
        self._wide: list[str] = []
        self._lines, self._curves = TextLines(), Curves()

    def compose(self) -> ComposeResult:
        """A grid of charts."""
        yield self._lines

    @property
    def shape(self) -> tuple[int, int]:
        """Charts side by side and on top of each other."""
        across = min(4, max(1, self.size.width // CHART[0]))
        down = max(1, self.size.height // CHART[1])
        return across, min(down, MOST // across)

    @property
    def _layout(self) -> list[list[list[str]]]:
        """The names on each page, by line. Charts with logarithmic axes have twice the height and the full width."""
        across, down = self.shape
        wide, names = [name for name in self._names if name in self._wide], self._names
        lines = [[name] for name in wide for _ in range(min(2, max(1, down - 1)))]
        rest = [name for name in names if name not in wide]
        lines += [rest[start : start + across] for start in range(0, len(rest), across)]
        return [lines[start : start + down] for start in range(0, len(lines), down)]

    @property
    def page(self) -> list[list[str]]:
        """The names on this page, by line."""
        found = self._layout
        return found[min(self._page, len(found) - 1)] if found else []

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - curves are not of one environment
        """Request the curves of this page."""
        return ViewRequest(count=0, curves=tuple(dict.fromkeys(name for line in self.page for name in line)))

    def show(self, update: ViewUpdate) -> None:
        """Draw the curves."""
        if not update.figures:
            return
        self._names = all_curves(update.snapshot)
        self._wide = [figure.name for figure in update.snapshot.description.figures if figure.log]
        self._pages = max(1, len(self._layout))
        self._page = min(self._page, self._pages - 1)
        width, height = self._lines.size
        lines = self.page
        if not lines:
            self._lines.show(hint("waiting for the first iteration", width))
            return
        heights = dict(zip(range(len(lines)), shares(height, len(lines)), strict=True))
        rows: list[Row] = []
        for _, run in groupby(heights, key=lambda index: lines[index]):
            indices = list(run)
            rows += self._line(lines[indices[0]], update, width, sum(heights[index] for index in indices))
        self._lines.show(rows)

    def _line(self, names: list[str], update: ViewUpdate, width: int, height: int) -> list[Row]:
        """Charts side by side; one with logarithmic axes alone."""
        across = 1 if names[0] in self._wide else self.shape[0]
        charts = [[self._curves.section(update, name)] for name in names]
        return columns(charts, shares(width, across)[: len(names)], height)
