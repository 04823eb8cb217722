"""What the user does with the curves: cursor, zoom, smoothing, scales, and the runs behind them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.files import KIB, UnreadableFile, read_json, write_whole
from ...envs.schema import InvalidValue, Length, checked
from ...training.runs.metadata import RunFolderError
from ...training.telemetry.snapshot import MAX_CURVES, Name
from .. import other_curves
from ..curve_options import CurveOptions, Extent, Overlay, OverlayKey, Reals, nearest, next_point
from ..preferences import path
from .state import AppState, Host

FILE = "curves.json"
LIMIT = 5 * MAX_CURVES * KIB


Names: TypeAlias = Annotated[tuple[Name, ...], Length(most=MAX_CURVES)]


@dataclass(frozen=True)
class CurveChoice:
    """The contents of the file: names of curves."""

    hidden: Names = ()
    order: Names = ()
    log: Names = ()
    pinned: Names = ()


def curves_file() -> Path:
    """Return the path of the file, which may not exist."""
    return path().with_name(FILE)


def load_curves(options: CurveOptions) -> CurveOptions:
    """Return options with the user's choice, if there is one.

    Raises:
        UnreadableFile: The file cannot be read, or is not such a file.
    """
    try:
        found = checked(read_json(curves_file(), LIMIT), CurveChoice)
    except UnreadableFile as error:
        if error.missing:
            return options
        raise
    except InvalidValue as error:
        raise UnreadableFile(curves_file(), f"{error}; remove it") from None
    return options.chosen(found.hidden, found.order, found.log, found.pinned)


def save_curves(options: CurveOptions) -> None:
    """Keep the user's choice.

    Raises:
        OSError: It cannot be written.
    """
    chosen = {
        "hidden": sorted(options.hidden),
        "order": options.order,
        "log": sorted(options.exceptions),
        "pinned": options.pinned,
    }
    limited = {name: values[:MAX_CURVES] for name, values in chosen.items()}
    curves_file().parent.mkdir(parents=True, exist_ok=True)
    write_whole(curves_file(), json.dumps(limited, indent=2) + "\n")


ZOOM = 0.5
"""Factor by which one key zooms in."""
MOST_OVERLAYS = 4


class CurvesView(Protocol):
    """What the commands need of the view."""

    @property
    def extent(self) -> Extent | None:
        """The range of all curves, if there is one."""

    def points(self) -> tuple[Reals, NDArray[np.int64]] | None:
        """Return the x values that the cursor can have, rising, and the columns in which they are drawn."""

    def turn_to(self, name: str, *, large: bool) -> None:
        """Show the page with a curve, or with the one that was clicked last or is the first, if the name is empty."""


class CurveCommands:
    """Changes what the user has selected of the curves.

    Args:
        state: What the app shows.
        host: The app.
    """

    def __init__(self, state: AppState, view: CurvesView, host: Host) -> None:
        self._state, self._view, self._host = state, view, host

    def change(self, options: CurveOptions) -> None:
        """Show the curves with other options."""
        self._state.curves = options
        self._host.refresh_now()

    def move_cursor(self, by: int) -> None:
        """Move the cursor by columns. Without a cursor, one column makes it appear at the newest value shown."""
        options, extent, points = self._state.curves, self._view.extent, self._view.points()
        if extent is None or points is None:
            return
        x, columns = points
        if options.cursor is None:
            shown = x <= options.span(extent)[1]
            x, columns = (x[shown], columns[shown]) if shown.any() else (x, columns)
        self.change(options.pointed(next_point(x, columns, options.cursor, by), extent))

    def point(self, place: float) -> None:
        """Move the cursor to the point that is nearest to a place."""
        extent, points = self._view.extent, self._view.points()
        if extent is not None and points is not None:
            x = points[0]
            self.change(self._state.curves.pointed(float(x[nearest(x, place)]), extent))

    def zoom(self, factor: float, around: float | None = None) -> None:
        """Show a range that is wider by a factor, around a place, the cursor or the newest value."""
        if self._view.extent is not None:
            self.change(self._state.curves.zoomed(self._view.extent, factor, around))

    def zoom_in(self, times: int) -> None:
        """Zoom in by one key, or out if `times` is negative."""
        self.zoom(ZOOM**times)

    def reset(self) -> bool:
        """Remove the cursor; without one, show the whole range. Return whether there was anything to do."""
        options = self._state.curves
        if options == options.reset():
            return False
        if options.cursor is None and options.window is None:
            self._view.turn_to("", large=False)
        self.change(options.reset())
        return True

    def enlarge(self, name: str = "") -> None:
        """Show one curve on the whole screen: a given one, or the one that was clicked last; without a name, also end.

        The next page has the next curve.
        """
        large = bool(name) or not self._state.curves.large
        self._view.turn_to(name, large=large)
        self.change(replace(self._state.curves, large=large))

    def smooth(self) -> None:
        """Draw averages of more values, or the values themselves again."""
        self.change(self._state.curves.smoother())

    def toggle_log(self) -> None:
        """Switch all y axes between linear and logarithmic."""
        self.change(replace(self._state.curves, log=not self._state.curves.log, exceptions=frozenset()))

    def next_axis(self) -> None:
        """Draw curves over time, or over another count."""
        snapshot = self._state.snapshot
        curves = snapshot.curves.values() if snapshot is not None else ()
        known = max(curves, key=lambda curve: len(curve.steps), default=None)
        self.change(self._state.curves.with_next_axis(self._state.units, known))

    def toggle_run(self, name: str, folder: Path, members: tuple[Path, ...] = ()) -> str:
        """Draw another run behind the curves, or no longer; return why that is impossible, or an empty text.

        Args:
            name: Its name.
            folder: Its folder, or a log of another program.
            members: The folders of several runs, whose mean is drawn.
        """
        options, added = self._state.curves, Overlay(name, folder, members)
        others = tuple(run for run in options.overlays if run.key != added.key)
        if len(others) == len(options.overlays):
            if len(others) == MOST_OVERLAYS:
                return f"at most {MOST_OVERLAYS} runs"
            others = (*others, added)
        self.change(replace(options, overlays=others))
        return ""

    def update_runs(self, runs: tuple[Overlay, ...]) -> None:
        """Show what was read of other runs."""
        read = {run.key: run for run in runs}
        options = self._state.curves
        self.change(replace(options, overlays=tuple(read.get(run.key, run) for run in options.overlays)))

    def drop_run(self, key: OverlayKey) -> None:
        """No longer draw a run."""
        kept = tuple(run for run in self._state.curves.overlays if run.key != key)
        self.change(replace(self._state.curves, overlays=kept))


def reread(runs: Sequence[Overlay]) -> tuple[tuple[Overlay, ...], tuple[tuple[Overlay, str], ...]]:
    """Return the runs whose metrics have changed, with their curves, and those that cannot be read, with reasons."""
    read, failed = [], []
    for run in runs:
        version = other_curves.version_of(run)
        if version == run.version:
            continue
        try:
            read.append(replace(other_curves.read(run), version=version))
        except (RunFolderError, UnreadableFile) as error:
            failed.append((run, str(error)))
    return tuple(read), tuple(failed)
