"""The commands `pac-tui relay` and `pac-tui attach HOST:RUN`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread

from ...envs import BadParameter
from ...training.exits import DONE
from ...training.relay.remote_session import RemoteSession, relay_command
from ...training.relay.sender import Relay
from ...training.runs.sessions import find_session
from ..terminal.modes import check_terminal

NICE = 10
"""Added to the niceness of a relay, so that it does not slow down the training."""


def run_relay(name: str, runs_dir: Path) -> int:
    """Send the telemetry of a session to stdout, and read commands from stdin, until one of them is closed.

    Raises:
        UnknownName: There is no such session.
    """
    relay = Relay(find_session(name, runs_dir), sys.stdout.buffer)
    os.nice(NICE)
    Thread(target=relay.answer_commands, args=(sys.stdin.buffer,), daemon=True).start()
    with suppress(BrokenPipeError):
        relay.hello()
        relay.run()
    return DONE


def attach_remote(names: Sequence[str], *, rsh: str, command: str) -> int:
    """Show sessions of other machines in the app, all of them on one screen; return the exit code.

    Raises:
        BadParameter: A name is not HOST:RUN.
        NoTerminal: There is no terminal to show them on.
        PacError: A connection failed, or there is no such session.
    """
    if wrong := [name for name in names if not is_remote(name)]:
        raise BadParameter(
            f"several sessions are given as HOST:RUN, got {wrong[0]!r}; --all shows all sessions of this machine"
        )
    check_terminal("run `pac-tui attach` in a terminal")
    with ExitStack() as open_sessions:

        def start(host: str, run: str) -> RemoteSession:
            session = RemoteSession(host, relay_command(host, run, rsh=rsh, command=command))
            session.start()
            open_sessions.callback(session.close)
            return session

        found = {name: start(*name.split(":", 1)) for name in names}
        ranks = [(first, *one) for name, first in found.items() for one in _ranks_of(first, name)]
        if len(ranks) > 1:
            return _show_together(ranks, start, " ".join(names))
        return _show_alone(found[names[0]], names[0])


def is_remote(name: str) -> bool:
    """Return whether a name is HOST:RUN."""
    host, _, run = name.partition(":")
    return bool(host and run)


def _ranks_of(first: RemoteSession, name: str) -> list[tuple[int, int]]:
    """Return rank and process id of each session that a name stands for; a process id stands for one session only."""
    alone = name.endswith(f":{first.pid}")
    return [one for one in first.ranks if not alone or one[1] == first.pid] or [(0, first.pid)]


def _show_alone(session: RemoteSession, name: str) -> int:
    from ..connections.connection import SessionConnection
    from ..starting.launch import show_app

    left = show_app(SessionConnection(lambda: session, "elsewhere"))
    state = "has ended" if session.poll() is not None else f"continues: pac-tui attach {shlex.quote(name)}"
    print(f"{left.name} {state}")
    return left.code


def _show_together(
    ranks: Sequence[tuple[RemoteSession, int, int]], start: Callable[[str, str], RemoteSession], name: str
) -> int:
    """Show sessions on one screen, each through its own relay.

    Args:
        ranks: For each session: the session of its training that is already connected, its rank and its process id.
        start: Connects to a session, given its host and process id.
        name: The arguments of `pac-tui attach` that show all of them.
    """
    from ..connections.session_group import GroupMember, SessionGroup
    from ..starting.launch import show_group

    same = len({first.name.partition(".rank")[0] for first, _, _ in ranks}) == 1

    def member(first: RemoteSession, rank: int, pid: int) -> GroupMember:
        label = f"rank {rank}" if same else first.name if pid == first.pid else f"{first.name} rank {rank}"
        connect = (lambda: first) if pid == first.pid else (lambda: start(first.host, str(pid)))
        return GroupMember((first.host, pid), label, connect, first.host)

    return show_group(SessionGroup([member(*one) for one in sorted(ranks, key=lambda one: one[1])]), name)
