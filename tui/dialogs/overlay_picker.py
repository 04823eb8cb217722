"""The dialog that chooses the runs whose curves are drawn behind those of the session."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from ...training.runs.overview import RunOverview
from .run_picker import RunPicker


class OverlayPicker(RunPicker):
    """Lists the runs like the dialog of runs; Enter adds the selected one to the curves, or removes it.

    Args:
        parent: The folder of the runs.
        here: The process of the session that the app shows.
        folder: Its run's folder; empty if it has none.
        chosen: Returns the folders of the runs that are drawn.
        toggle: Draws a run of a name and a folder, or no longer; returns why that is impossible, or an empty text.
    """

    heading = "Compare with runs"

    def __init__(
        self,
        parent: Path,
        here: int,
        folder: str,
        chosen: Callable[[], Collection[Path]],
        toggle: Callable[[str, Path], str],
    ) -> None:
        super().__init__(parent, here)
        self._own, self._chosen, self._toggle = folder, chosen, toggle
        self._refused = ""

    @property
    def shown(self) -> list[RunOverview]:
        """The other runs that contain every word of the filter."""
        return [run for run in super().shown if not self._is_own(run)]

    def ticked(self, run: RunOverview) -> bool:
        """Return whether a run is drawn."""
        return run.folder in self._chosen()

    def _take(self, run: RunOverview) -> None:
        if run.folder is not None and not run.error:
            self._refused = self._toggle(run.name, run.folder)
            self.draw()

    def offer(self, run: RunOverview) -> str:
        """Return what Enter does."""
        if run.folder is None or run.error:
            return "it has no metrics"
        return "Enter removes it" if self.ticked(run) else self._refused or "Enter compares with it"

    def _is_own(self, run: RunOverview) -> bool:
        return run.pid == self.here or (
            bool(self._own) and run.folder is not None and run.folder.resolve() == Path(self._own)
        )
