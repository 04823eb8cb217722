"""The command `pac-tui stop`."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from pathlib import Path

from ...backends.system.segment import is_owned
from ...envs import BadParameter, PacError
from ...training.exits import DONE
from ...training.runs.sessions import find_session
from ...training.session.control import SessionClient, SessionGone
from ...training.telemetry.blocks import TelemetryReader
from ...training.telemetry.snapshot import ViewRequest, take_snapshot
from ..connections.connection import viewer_name
from ..session_text import end_text
from .run import REFRESH_PERIOD, ProgressLine


def stop_session(name: str, runs_dir: Path) -> int:
    """Have a session save and end, as `q` `s` in its app; wait for its end, and print how to continue it.

    Raises:
        BadParameter: No such session is running, or it is a script, which only its user ends.
    """
    found = find_session(name, runs_dir)
    if not found.alive:
        raise BadParameter(f"{found.name} is not running any more")
    if found.snapshot.description.watched:
        raise BadParameter(
            f"{found.name} is a watched script: press Ctrl-C where it runs, or use `kill -INT {found.pid}`"
        )
    reader = TelemetryReader(found.directory)
    with suppress(SessionGone), closing(SessionClient(found.directory)) as client:  # it may be ending already
        client.call("join", name=viewer_name())
        client.call("control")
        client.call("stop")
    line = ProgressLine()
    while is_owned(found.directory):
        with suppress(PacError):
            reader.follow()
        snapshot = take_snapshot(reader, ViewRequest(count=0))
        line.say(f"{found.name}: {snapshot.message or snapshot.phase.name.lower()}")
        time.sleep(REFRESH_PERIOD)
    line.end()
    print(end_text(take_snapshot(reader, ViewRequest(count=0))))
    return DONE
