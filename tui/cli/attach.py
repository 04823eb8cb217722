"""The command `pac-tui attach`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ...envs import BadParameter
from ...training.runs.sessions import ConnectedSession, FoundSession, find_session, sessions
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
        if len(live) > 1:
            show_sessions(live)
            name = ask()
        else:
            name = str(live[0].pid)
    found = find_session(name, runs_dir)
    check_terminal("run it in one; `pac-tui attach --json` lists the running sessions")
    from ..launch import attach_app

    return attach_app(ConnectedSession(found))


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


def show_sessions(found: list[FoundSession]) -> None:
    """Print one line per session."""
    table = plain_table("run", "task", "trainer", "N", "fps", "age", "process", "viewers", "")
    for session in found:
        row = facts(session)
        fps, age = whole(row["fps"]), clock(row["seconds"])
        table.add_row(
            row["run"],
            row["task"],
            row["trainer"],
            f"{row['num_envs']:,}",
            fps,
            age,
            str(row["pid"]),
            str(row["viewers"]),
            row["phase"],
        )
    show_table(table)


def ask() -> str:
    """Ask for the session to show.

    Raises:
        BadParameter: There is no terminal, or no answer.
    """
    try:
        check_terminal()
        answer = input("attach to: ").strip()
    except (NoTerminal, EOFError):
        answer = ""
    if not answer:
        raise BadParameter("several sessions are running; give a name, the beginning of a name, or a process id")
    return answer
