"""Reads the curves of other runs, which are drawn behind those of the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...training.runs import metrics
from ...training.runs.errors import RunFolderError
from ...training.runs.run_curves import read_curves
from ..curve_options import Overlay


def reread(runs: Sequence[Overlay]) -> tuple[tuple[Overlay, ...], tuple[tuple[Overlay, str], ...]]:
    """Return the runs whose metrics have changed, with their curves, and those that cannot be read, with reasons."""
    read, failed = [], []
    for run in runs:
        version = metrics.version(run.folder)
        if version == run.version:
            continue
        try:
            read.append(replace(run, curves=read_curves(run.folder), version=version))
        except RunFolderError as error:
            failed.append((run, str(error)))
    return tuple(read), tuple(failed)
