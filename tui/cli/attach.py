"""The command `pac-tui attach`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...envs import BadParameter
from ...training.runs.sessions import (
    AmbiguousSession,
    ConnectedSession,
    FoundSession,
    find_session,
    ranks_of,
    sessions,
)
from ..drawing.numbers import clock, known, whole
from ..terminal.modes import NoTerminal, check_terminal
from .show import plain_table, show_json, show_table

if TYPE_CHECKING:
    from ..connections.session_group import GroupMember

NEEDS_TERMINAL = "run `pac-tui attach` in a terminal; with --json, it lists the running sessions"


def attach_session(name: str | None, runs_dir: Path, *, json: bool, together: bool = False) -> int:
    """Show a session, or print the list of running sessions; return the exit code.

    All ranks of a training in several processes are shown together.

    Raises:
        BadParameter: No session is running, or none has the name.
        NoTerminal: There is no terminal to show it on.
    """
    live = running()
    if json:
        return show_json({"sessions": [facts(session) for session in live]})
    if name is None:
        if not live:
            raise BadParameter(
                "no session is running; start one with `pac-tui run --headless`, or a script that calls `watch`"
            )
        same = len({session.group for session in live}) == 1
        if together and len(live) > 1:
            return show_together(live, find=None if same else running)
        found = live[0] if len(live) == 1 or (same and len(live) == len(ranks_of(live[0]))) else choose(live, runs_dir)
    else:
        try:
            found = find_session(name, runs_dir)
        except AmbiguousSession as error:
            if not has_terminal():
                raise
            found = choose(error.sessions, runs_dir)
    ranks = ranks_of(found)
    if len(ranks) > 1 and name not in {str(found.pid), found.name if found.rank else None}:
        return show_together(ranks)
    check_terminal(NEEDS_TERMINAL)
    from ..starting.launch import attach_app

    return attach_app(ConnectedSession(found))


def running() -> list[FoundSession]:
    """Return the sessions that are running now."""
    return [session for session in sessions() if session.alive]


def show_together(found: Sequence[FoundSession], *, find: Callable[[], list[FoundSession]] | None = None) -> int:
    """Show several sessions on one screen.

    Args:
        found: The sessions.
        find: Returns the sessions that run later, to add those that have started meanwhile.

    Raises:
        NoTerminal: There is no terminal to show them on.
    """
    check_terminal(NEEDS_TERMINAL)
    from ..connections.session_group import SessionGroup
    from ..starting.launch import show_group

    several = len({session.group for session in found}) > 1 or find is not None

    def members(of: Iterable[FoundSession]) -> list[GroupMember]:
        return [member_of(one, one.name if several else f"rank {one.rank}") for one in of]

    group = SessionGroup(members(found), find=(lambda: members(find())) if find is not None else list)
    name = "--all" if several else found[0].training
    return show_group(group, name)


def member_of(found: FoundSession, label: str) -> GroupMember:
    """Return a running session as a member of a group."""
    from ..connections.session_group import GroupMember

    return GroupMember(found.directory, label, lambda: ConnectedSession(found))


def choose(found: Sequence[FoundSession], runs_dir: Path) -> FoundSession:
    """List sessions and ask for one of them.

    Raises:
        BadParameter: There is no terminal, no answer, or no such session.
    """
    show_sessions(found)
    answer = ask()
    if answer.isdecimal() and 1 <= int(answer) <= len(found):
        return found[int(answer) - 1]
    return find_session(answer, runs_dir)


def has_terminal() -> bool:
    """Return whether the user can be asked."""
    try:
        check_terminal()
    except NoTerminal:
        return False
    return True


def facts(session: FoundSession) -> dict[str, Any]:
    """Return what the list contains about a session."""
    snapshot, about = session.snapshot, session.snapshot.description
    return {
        "run": about.run,
        "task": about.task,
        "trainer": about.trainer,
        "num_envs": snapshot.num_envs,
        "phase": snapshot.phase.name.lower(),
        "fps": snapshot.fps if known(snapshot.fps) else None,
        "seconds": time.time() - float(snapshot.state["started"]),
        "pid": session.pid,
        "viewers": int(snapshot.audience["viewers"]),
    }


def show_sessions(found: Sequence[FoundSession]) -> None:
    """Print one line per session, with a number for the answer."""
    table = plain_table("", "run", "state", "task", "trainer", "N", "fps", "age", "process", "viewers")
    for number, session in enumerate(found, start=1):
        row = facts(session)
        names = (row[key] for key in ("run", "phase", "task", "trainer"))
        numbers = (
            f"{row['num_envs']:,}",
            whole(row["fps"]),
            clock(row["seconds"]),
            str(row["pid"]),
            str(row["viewers"]),
        )
        table.add_row(str(number), *names, *numbers)
    show_table(table)


def ask() -> str:
    """Ask for the session to show.

    Raises:
        BadParameter: There is no terminal, or no answer.
    """
    try:
        check_terminal()
        answer = input("attach to (number, run or process): ").strip()
    except (NoTerminal, EOFError):
        answer = ""
    if not answer:
        raise BadParameter(
            "several sessions are running; give a name, the beginning of a name, a process id, or `latest`"
        )
    return answer
