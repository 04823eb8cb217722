"""Functions for background processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pac.backends import make
from pac.backends.workers.control import Link


def count(link: Link, arguments: Mapping[str, Any]) -> None:
    """Count until the fleet asks to close, then write the count into a file."""
    link.ready()
    steps = 0
    while not link.closing:
        steps += 1
        link.beat(steps)
        time.sleep(arguments["pause"])
    Path(arguments["path"]).write_text(str(steps))


def fail(link: Link, arguments: Mapping[str, Any]) -> None:
    """Print, and raise an exception."""
    link.ready()
    print("loss is 12")  # noqa: T201
    raise ValueError(arguments["text"])


def finish(link: Link, _arguments: Mapping[str, Any]) -> None:
    """Return at once."""
    link.ready()


def hang(link: Link, arguments: Mapping[str, Any]) -> None:
    """Begin a report of a failure, and never return."""
    Path(arguments["report"]).with_suffix(".part").touch()
    link.ready()
    link.beat(1)
    while True:
        signal.pause()


def leave_daemon(link: Link, arguments: Mapping[str, Any]) -> None:
    """Start a daemon in a session of its own, whose parent ends, and write its number into a file."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            path = Path(arguments["path"])
            path.with_suffix(".part").write_text(str(os.getpid()))
            path.with_suffix(".part").rename(path)
            while True:
                signal.pause()
        os._exit(0)
    link.ready()
    link.receive()


def play(link: Link, arguments: Mapping[str, Any]) -> None:
    """Run an environment in a worker, until the fleet asks to close."""
    with closing(make(arguments["task"], 1, "shm", workers=1)) as envs:
        envs.start()
        link.ready()
        link.receive()
