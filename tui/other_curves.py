"""Curves of other runs, of groups of them, and of logs of other programs: as rows of a list, and as overlays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..envs.files import UnreadableFile
from ..training.foreign import logs
from ..training.foreign.logs import find_logs, read_log
from ..training.foreign.series import Log
from ..training.runs import metrics
from ..training.runs.folder import is_run
from ..training.runs.metrics import read_curves
from ..training.runs.overview import RunOverview
from ..training.runs.statistics import Reals, band
from ..training.telemetry.snapshot import Curve
from ..training.units import RETURN, Figure
from .curve_options import Overlay

LOG = "log"
"""The state of a log of another program in a list of runs."""
MOST_KEPT = 400


@dataclass(frozen=True)
class LogOverview(RunOverview):
    """A log of another program as a row; its curve is known once it was read.

    Attributes:
        kept: What was read of logs, by their paths.
    """

    kept: Mapping[Path, Log | str] | None = None

    @property
    def read(self) -> Log | None:
        """What was read; None if nothing was."""
        found = self.kept.get(self.folder) if self.kept is not None and self.folder is not None else None
        return found if isinstance(found, Log) else None

    @property
    def error(self) -> str:
        """Why it cannot be read; empty if it can, or was not tried."""
        found = self.kept.get(self.folder) if self.kept is not None and self.folder is not None else None
        return found if isinstance(found, str) else ""

    @property
    def goal(self) -> Figure:
        """Its return, or else its first curve."""
        curves = self.read.curves if self.read is not None else {}
        name = RETURN.name if RETURN.name in curves else next(iter(curves), RETURN.name)
        return RETURN if name == RETURN.name else Figure(name, name, better="neither")

    def points(self, over: str) -> list[tuple[float, float]]:
        """Return the curve of its goal; over steps if it does not say when they were."""
        curve = self.read.curves.get(self.goal.name) if self.read is not None else None
        if curve is None:
            return []
        x, y = getattr(curve, over), curve.values
        x = x if np.isfinite(x).any() else curve.steps
        known = np.isfinite(x) & np.isfinite(y)
        return list(zip(x[known].tolist(), y[known].tolist(), strict=True))


class LogReader:
    """Finds logs of other programs, and reads their curves one after the other, in a thread of a list of runs."""

    def __init__(self) -> None:
        self._kept: dict[Path, Log | str] = {}
        self._versions: dict[Path, tuple[int, int, int]] = {}

    def find(self, folder: Path) -> list[RunOverview]:
        """Return the logs below a folder, the newest first. Folders of runs are not looked into."""
        return [
            LogOverview(log.name, log.path, {"trainer": log.kind}, LOG, log.when, log.version, kept=self._kept)
            for log in find_logs(folder, is_run)
        ]

    def read(self, found: Sequence[RunOverview], stopped: Callable[[], bool], told: Callable[[], object]) -> None:
        """Read the curves of the first logs, and tell after each.

        Args:
            found: What `find` returned.
            stopped: Whether the rest is no longer needed.
            told: Called after one was read.
        """
        for run in found[:MOST_KEPT]:
            if stopped():
                return
            if run.folder is None or self._versions.get(run.folder) == run.version:
                continue
            try:
                self._kept[run.folder] = _main_curve(read_log(run.folder))
            except UnreadableFile as error:
                self._kept[run.folder] = str(error)
            self._versions[run.folder] = run.version
            told()


def _main_curve(log: Log) -> Log:
    """Return a log with the curve that a list shows, so that many fit into the memory."""
    name = RETURN.name if RETURN.name in log.curves else next(iter(log.curves), "")
    return log._replace(curves={name: log.curves[name]} if name else {})


def version_of(overlay: Overlay) -> tuple[int, int, int]:
    """Return numbers that change with the files of an overlay."""
    paths = overlay.members or (overlay.folder,)
    found = [metrics.version(path) if is_run(path) else logs.version(path) for path in paths]
    return max(time for time, _, _ in found), sum(size for _, size, _ in found), sum(file for _, _, file in found)


def read(overlay: Overlay) -> Overlay:
    """Return an overlay with its curves.

    Raises:
        RunFolderError: The metrics of a run cannot be read.
        UnreadableFile: A log cannot be read.
    """
    if not overlay.members:
        return replace(overlay, curves=_curves(overlay.folder))
    every = [_curves(path) for path in overlay.members]
    means: dict[str, Curve] = {}
    edges: dict[str, tuple[Curve, Curve]] = {}
    for name in dict.fromkeys(name for curves in every for name in curves):
        found = _mean_of([curves[name] for curves in every if name in curves])
        if found is not None:
            means[name], edges[name] = found
    return replace(overlay, curves=means, edges=edges)


def _curves(path: Path) -> dict[str, Curve]:
    return read_curves(path) if is_run(path) else read_log(path).curves


def _mean_of(curves: Sequence[Curve]) -> tuple[Curve, tuple[Curve, Curve]] | None:
    """Return the mean of curves, and that with one standard deviation less and more; None without two points."""
    parts = [_finite(curve) for curve in curves]
    x, mean, deviation = band([np.array([part.steps, part.values], float) for part in parts])
    if len(x) < 2:
        return None
    others = {
        axis: band([np.array([part.steps, getattr(part, axis)], float) for part in parts])[1].astype("f4")
        for axis in ("seconds", "frames")
    }
    first = curves[0]

    def curve(values: Reals) -> Curve:
        return Curve(first.name, first.learner, steps=x.astype("f4"), **others, values=values.astype("f4"))

    return curve(mean), (curve(mean - deviation), curve(mean + deviation))


def _finite(curve: Curve) -> Curve:
    known = np.isfinite(curve.steps) & np.isfinite(curve.values)
    if known.all():
        return curve
    points = {axis: getattr(curve, axis)[known] for axis in ("steps", "seconds", "frames", "values")}
    return Curve(curve.name, curve.learner, **points)
