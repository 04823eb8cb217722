"""The command `pac-tui attach`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...envs import BadParameter
from ...training.runs.sessions import AmbiguousSession, ConnectedSession, FoundSession, find_session, sessions
from ..drawing.numbers import clock, known, whole
from ..terminal import NoTerminal, check_terminal
from .show import plain_table, show_json, show_table


def attach_session(name: str | None, runs_dir: Path, *, json: bool) -> int:
    """List the running sessions, or show one; return the exit code.

    Raises:
        BadParameter: No session is running, or none has the name.
        NoTerminal: There is no terminal to show it on.
    """
    live = [session for session in sessions() if session.alive]
    if json:
        return show_json({"sessions": [facts(session) for session in live]})
    if name is None:
        if not live:
            raise BadParameter(
                "no session is running; start one with `pac-tui run --headless`, or a script that calls `watch`"
            )
        found = choose(live, runs_dir) if len(live) > 1 else live[0]
    else:
        try:
            found = find_session(name, runs_dir)
        except AmbiguousSession as error:
            if not has_terminal():
                raise
            found = choose(error.sessions, runs_dir)
    check_terminal("run it in one; `pac-tui attach --json` lists the running sessions")
    from ..launch import attach_app

    return attach_app(ConnectedSession(found))


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
    """Return whether a question can be asked."""
    try:
        check_terminal()
    except NoTerminal:
        return False
    return True


def facts(session: FoundSession) -> dict[str, Any]:
    """Return the facts that the list shows of a session."""
    shown, about = session.snapshot, session.snapshot.description
    return {
        "run": about.run,
        "task": about.task,
        "trainer": about.trainer,
        "num_envs": shown.num_envs,
        "phase": shown.phase.name.lower(),
        "fps": shown.fps if known(shown.fps) else None,
        "seconds": time.time() - float(shown.state["started"]),
        "pid": session.pid,
        "viewers": int(shown.audience["viewers"]),
    }


def show_sessions(found: Sequence[FoundSession]) -> None:
    """Print one line per session, with a number for the answer."""
    table = plain_table("", "run", "state", "task", "trainer", "N", "fps", "age", "process", "viewers")
    for number, session in enumerate(found, start=1):
        row = facts(session)
        fps, age = whole(row["fps"]), clock(row["seconds"])
        table.add_row(
            str(number),
            row["run"],
            row["phase"],
            row["task"],
            row["trainer"],
            f"{row['num_envs']:,}",
            fps,
            age,
            str(row["pid"]),
            str(row["viewers"]),
        )
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
