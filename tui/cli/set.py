"""The command `pac-tui set`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ...envs import BadParameter
from ...training.exits import DONE
from ...training.runs.sessions import find_session
from ...training.session.control import SessionClient
from ..connections.connection import viewer_name


def change_settings(name: str, settings: Sequence[str], runs_dir: Path) -> int:
    """Have a running session change settings of its trainer; print what changes.

    Args:
        name: Name of the run or the beginning of it, process id, or `latest`.
        settings: Texts such as `ppo.learning_rate=1e-4`.
        runs_dir: The folder of the runs.

    Raises:
        BadParameter: No such session is running, it is a script, or a text is not of this form.
        CommandRefused: The session refuses a value.
    """
    parts = [text.partition("=") for text in settings]
    if not parts or not all(equals for _, equals, _ in parts):
        raise BadParameter("set expects a run and settings such as ppo.learning_rate=1e-4")
    found = find_session(name, runs_dir)
    if not found.alive:
        raise BadParameter(f"{found.name} is not running any more: change settings when you resume it")
    if found.snapshot.description.watched:
        raise BadParameter(f"{found.name} is a watched script: its settings are its own, and cannot be changed here")
    with closing(SessionClient(found.directory)) as client:
        client.call("join", name=viewer_name())
        client.call("control")
        for setting, _, value in parts:
            answer = client.call("set", name=setting, text=value)
            print(f"{answer['name']}: {answer['before']} -> {answer['after']}, from the end of this iteration on")
    return DONE
