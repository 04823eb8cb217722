"""Writes the files that a task makes of a state, such as a start state of a console."""

from __future__ import annotations

from pathlib import Path

from ...envs import Task
from ...envs.files import create_next
from ...envs.task import load
from .rewinder import Rewinder


def save_state(task: Task, rewinder: Rewinder, folder: Path, env: int, back: int) -> list[Path]:
    """Write the files of the state of environment `env` `back` steps ago into new files; return them.

    Raises:
        NotReplayable: The state is not kept, or its replay takes too long.
        ReplayMismatch: Its replay differs from what was played.
        OSError: A file cannot be written.
    """
    name, state = rewinder.state(env, back)
    files = load(task.state_files)(task, state)
    folder.mkdir(parents=True, exist_ok=True)
    return [create_next(folder, name, suffix, data) for suffix, data in files.items()]
