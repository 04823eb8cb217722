"""Writes the files of a state, such as a start state of a Game Boy, see `Task.state_files`."""

from __future__ import annotations

from pathlib import Path

from ...envs import Task
from ...envs.entries import Place, entry_at
from ...envs.files import create_next
from ...envs.task import load
from .rewinder import Rewinder


def save_state(task: Task, rewinder: Rewinder, folder: Place, env: int, back: int) -> list[Path]:
    """Write the files of the state of environment `env` `back` steps ago into new files; return them.

    Raises:
        NotReplayable: The steps are no longer kept, or the replay takes too long.
        ReplayMismatch: The replay differs from the original steps.
        OSError: A file cannot be written.
    """
    name, state = rewinder.state(env, back)
    files = load(task.state_files)(task, state)
    into = entry_at(folder)
    into.mkdir()
    return [create_next(into, name, suffix, data) for suffix, data in files.items()]
