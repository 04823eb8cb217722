"""The base of all views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult

from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ...training.units import RETURN
from ..connections.session_group import SeenSession
from ..curve_options import CurveOptions
from ..drawing.plain import PlainContainer
from ..drawing.widgets import TextLines


@dataclass(frozen=True)
class ViewUpdate:
    """What a view draws, and which parts of it are due.

    Attributes:
        snapshot: The session.
        now: Seconds since the epoch.
        env: The selected environment, from 0.
        numbers: Whether numbers and curves are due, not only boards.
        curves: What the user has selected of the curves.
        inspecting: Whether everything known of the environment is shown.
        details: Whether the details of the environment are due.
        members: All sessions, if several are shown.
        selected: The index of the session among them.
        age: Seconds since what is shown of the inspected environment was known, if its last step is not known yet.
    """

    snapshot: Snapshot
    now: float
    env: int
    numbers: bool
    curves: CurveOptions = CurveOptions()  # noqa: RUF009 - it is frozen
    inspecting: bool = False
    details: bool = False
    members: tuple[SeenSession, ...] = ()
    selected: int = 0
    age: float = 0.0


class BaseView(PlainContainer):
    """A view, which fills the screen between header and footer.

    Attributes:
        curves: Names of the metrics whose curves it draws.
    """

    curves: tuple[str, ...] = (RETURN.name,)
    _page, _pages = 0, 1

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - most views show no single environment
        """Return what this view needs of the session; `env` is the selected environment, from 0."""
        return ViewRequest(count=0)

    def show(self, update: ViewUpdate) -> None:
        """Draw what is due."""
        raise NotImplementedError

    def restyle(self, *, colors: bool) -> None:
        """Forget what was drawn in another theme.

        Args:
            colors: Whether colors alone distinguish pieces.
        """

    @property
    def pages(self) -> tuple[int, int]:
        """The page that is shown, from 1, and the number of pages."""
        return self._page + 1, self._pages

    def turn_page(self, by: int) -> None:
        """Show the page that is `by` further."""
        self._page = min(self._pages - 1, max(0, self._page + by))


class LinesView(BaseView):
    """A view whose panels are drawn as lines of one widget.

    Attributes:
        ID: Its name in the style sheet.
    """

    ID: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(id=self.ID)
        self._lines = TextLines()

    def compose(self) -> ComposeResult:
        """One widget."""
        yield self._lines
