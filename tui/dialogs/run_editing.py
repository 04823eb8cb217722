"""What the user changes about a run in a list: its tags, its note, its name; and removing it. Each asks a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ...backends.system.segment import human_bytes
from ...envs import BadParameter
from ...training.runs import notes, removal
from ...training.runs.overview import RunOverview
from ...training.runs.renaming import rename
from ..other_curves import LogOverview
from ..run_table import GroupOverview

REMOVING = "remove"


class Edit(NamedTuple):
    """A question about a run, and what the answer does.

    Attributes:
        question: Returns the question.
        value: Returns the answer that is suggested.
        act: Does it.
    """

    question: Callable[[RunOverview], str]
    value: Callable[[RunOverview], str]
    act: Callable[[RunOverview, str], None]


def folder_of(run: RunOverview) -> Path:
    """Return the folder of a run that can be changed.

    Raises:
        BadParameter: There is none.
    """
    if isinstance(run, GroupOverview):
        raise BadParameter("these are several runs: Ctrl+G lists them one by one")
    if run.folder is None or isinstance(run, LogOverview):
        raise BadParameter("it has no folder of a run")
    return run.folder


def _tag(run: RunOverview, answer: str) -> None:
    folder = folder_of(run)
    words = tuple(answer.replace(",", " ").split())
    notes.write(folder, notes.tagged(replace(notes.read(folder), tags=()), words))


def _note(run: RunOverview, answer: str) -> None:
    folder = folder_of(run)
    notes.write(folder, replace(notes.read(folder), note=answer.strip()))


def _rename(run: RunOverview, answer: str) -> None:
    folder = folder_of(run)
    if answer.strip() != folder.name:
        rename(folder.parent, folder.name, answer.strip())


def _what_is_removed(run: RunOverview) -> str:
    folder = folder_of(run)
    found = removal.check_removal(folder.parent, folder.name)
    plural = "" if found.checkpoints == 1 else "s"
    size = human_bytes(found.size)
    return f"remove {run.name} ({size}, {found.checkpoints} checkpoint{plural})? y removes it:"


def _remove(run: RunOverview, answer: str) -> None:
    if answer.strip().lower() not in {"y", "yes"}:
        return
    folder = folder_of(run)
    found = removal.check_removal(folder.parent, folder.name).run
    found.claim()
    try:
        removal.remove(found)
    finally:
        found.release()


EDITS = {
    "tag": Edit(lambda run: f"tags of {run.name}:", lambda run: " ".join(run.notes.tags), _tag),
    "note": Edit(lambda run: f"note on {run.name}:", lambda run: run.notes.note, _note),
    "rename": Edit(lambda run: f"new name of {run.name}:", lambda run: run.name, _rename),
    REMOVING: Edit(_what_is_removed, lambda _: "", _remove),
}
