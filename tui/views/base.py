"""What every view is."""

from __future__ import annotations

from dataclasses import dataclass

from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ...training.units import RETURN
from ..drawing.plain import PlainContainer


@dataclass(frozen=True)
class ViewUpdate:
    """A snapshot on its way to a view.

    Attributes:
        snapshot: What is known of the session.
        now: Seconds since the epoch.
        env: The environment that is looked at or selected, from 0.
        figures: Whether figures and curves are due too, not only boards.
        by_time: Whether curves run over wall time instead of steps.
        inspecting: Whether all that is known of the environment is shown.
        details: Whether what is known of the environment is due too.
    """

    snapshot: Snapshot
    now: float
    env: int
    figures: bool
    by_time: bool = False
    inspecting: bool = False
    details: bool = False


class View(PlainContainer):
    """One side of a session, filling the screen between head and foot.

    Attributes:
        curves: Names of the metrics that tell how good what is learned is.
    """

    curves: tuple[str, ...] = (RETURN.name,)
    _page, _pages = 0, 1

    def look(self, env: int) -> ViewRequest:  # noqa: ARG002 - most views look at no environment
        """Return what this view wants to see; `env` is the environment that is looked at."""
        return ViewRequest(count=0)

    def show(self, shot: ViewUpdate) -> None:
        """Draw what changed."""
        raise NotImplementedError

    @property
    def pages(self) -> tuple[int, int]:
        """The page that is shown, from 1, and how many there are."""
        return self._page + 1, self._pages

    def turn_page(self, by: int) -> None:
        """Go some pages on, where there are pages."""
        self._page = min(self._pages - 1, max(0, self._page + by))
