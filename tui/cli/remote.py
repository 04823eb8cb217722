"""The commands `pac-tui relay` and `pac-tui attach HOST:RUN`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread

from ...training.exits import DONE
from ...training.relay.remote_session import RemoteSession, relay_command
from ...training.relay.sender import Relay
from ...training.runs.sessions import find_session
from ...training.session.host import RunningSession
from ..terminal import check_terminal


def run_relay(name: str, runs_dir: Path) -> int:
    """Send the telemetry of a session to stdout and get commands on stdin, until one of them is closed.

    Raises:
        UnknownName: There is no such session.
    """
    relay = Relay(find_session(name, runs_dir), sys.stdout.buffer)
    Thread(target=relay.answer_commands, args=(sys.stdin.buffer,), daemon=True).start()
    with suppress(BrokenPipeError):
        relay.hello()
        relay.run()
    return DONE


def attach_remote(host: str, run: str, *, rsh: str, command: str) -> int:
    """Show a session of another machine in the app; return the exit code.

    Raises:
        NoTerminal: There is no terminal to show it on.
        PacError: There is no connection, or no such session.
    """
    check_terminal("run it in one")
    session = RemoteSession(host, relay_command(host, run, rsh=rsh, command=command))
    session.start()
    if len(session.ranks) > 1 and run != str(session.pid):
        return _attach_ranks(session, f"{host}:{run}", partial(relay_command, host, rsh=rsh, command=command))
    from ..connection import SessionConnection
    from ..launch import show_app

    try:
        left = show_app(SessionConnection(lambda: session, "elsewhere"))
    finally:
        session.close()
    state = "has ended" if session.poll() is not None else f"continues: pac-tui attach {host}:{run}"
    print(f"{left.name} {state}")
    return left.code


def _attach_ranks(first: RemoteSession, name: str, relay_of: Callable[[str], list[str]]) -> int:
    """Show all ranks of a training on another machine, each through a relay of its own; return the exit code."""
    from ..launch import show_group
    from ..session_group import GroupMember, SessionGroup

    sessions = [first]

    def start(pid: int) -> RunningSession:
        if pid == first.pid:
            return first
        session = RemoteSession(first.host, relay_of(str(pid)))
        session.start()
        sessions.append(session)
        return session

    members = [GroupMember(pid, f"rank {rank}", partial(start, pid), first.host) for rank, pid in first.ranks]
    try:
        return show_group(SessionGroup(members), name)
    finally:
        for session in sessions:
            session.close()
