"""Starts a session and the app. The session starts before Textual is imported, so this module imports little."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from ...envs import PacError
from ...envs.titles import set_title
from ...training.config import RUNS, Config
from ...training.exits import DONE, FAILED, INTERRUPTED
from ...training.imports import importing
from ...training.loading import load
from ...training.runs.sessions import ConnectedSession, find_session, running_names
from ...training.session.host import RunningSession, SessionFailed, SessionThread, Starting, launch
from ...training.telemetry.records import Phase
from ..connections.connection import STOP_LIMIT, SessionConnection
from ..preferences import preferences
from ..terminal.modes import borrowed_terminal, saving_here
from ..terminal.report_file import write_report
from ..trust import ask

if TYPE_CHECKING:
    from ...training.runs.overview import RunOverview
    from ...training.trace_recorder import TraceLater
    from ..app.app import PacApp
    from ..connections.session_group import SessionGroup
    from ..messages import EpisodeKept

NAP = 0.05


def run_app(
    config: Config, *, in_process: bool = False, report: Path | None = None, traced: TraceLater | None = None
) -> int:
    """Run a session and the app until it ends; return the exit code: 0, 1 failed, 130 interrupted.

    Args:
        in_process: Whether the session runs in a thread of this process.
        report: The file to which the session's report is written at the end, as JSON.
        traced: Records a trace of the session.

    Raises:
        PacError: The session could not start.
    """
    starting = Starting()

    def start() -> RunningSession:
        measures = config.baseline is None
        session: RunningSession = (
            SessionThread(config, measures=measures)
            if in_process
            else launch(config, measures=measures, starting=starting)
        )
        if traced is not None:
            traced.begin(session.directory)
        return session

    preferences()  # an error in them is reported before anything is started
    others = others_text()
    connection = SessionConnection(start, "thread" if in_process else "process", starting)
    left = show_app(connection, others)
    for sentence in traced.end() if traced is not None else ():
        print(sentence)  # noqa: T201 - the app has left the terminal
    code = DONE
    if connection.detached:
        print(f"{left.name} continues: pac-tui attach {quote(left.name)}")  # noqa: T201 - the app has left the terminal
    else:
        code = _report_end(connection, left, report)
    return open_next_run(left, in_process=in_process) or code


def attach_app(session: ConnectedSession) -> int:
    """Show a session that another process has started; return the exit code: 0, 130 interrupted.

    Raises:
        SessionFailed: It failed.
    """
    preferences()
    connection = SessionConnection(lambda: session, "elsewhere")
    connection.leaves_at_end = session.ended() is None  # otherwise, it is the last state of one that has ended before
    left = show_app(connection)
    over = session.ended()
    if not connection.leaves_at_end:
        return open_next_run(left)
    if over is not None and over.phase is Phase.FAILED and left.next_run is None:
        raise SessionFailed("Session failed", over.message)
    if over is None:
        print(f"{left.name} continues: pac-tui attach {quote(left.name)}")  # noqa: T201 - as above
    elif over.description.watched:
        print(f"{left.name} has ended or is no longer watched")  # noqa: T201 - as above
    else:
        from ..session_text import end_text

        print(end_text(over))  # noqa: T201 - as above
    return open_next_run(left)


def show_group(group: SessionGroup, name: str) -> int:
    """Show several sessions that other processes have started; return the exit code.

    Args:
        group: The sessions.
        name: What `pac-tui attach` calls them.
    """
    preferences()
    left = show_app(group)
    over = all(member.over for member in group.members())
    print("all sessions have ended" if over else f"the sessions continue: pac-tui attach {quote(name)}")  # noqa: T201 - as above
    return open_next_run(left)


def show_ranks(ranks: int, arguments: Sequence[str]) -> int:
    """Start the ranks of a training, and show them until they end; return the exit code.

    Args:
        arguments: Those of `pac-tui` for each rank.

    Raises:
        SessionFailed: They could not start, or one has failed.
    """
    from ..connections.session_group import SessionGroup
    from .ranks_process import RanksProcess

    preferences()
    process = RanksProcess(ranks, arguments)
    group = SessionGroup(process.members(), owner=process)
    left = show_app(group)
    if group.detached:
        print(f"{left.name} continues: pac-tui attach {quote(left.name.partition('.rank')[0])}")  # noqa: T201 - as above
    elif left.code != INTERRUPTED:
        print(process.report())  # noqa: T201 - as above
    return open_next_run(left)


class AppExit(NamedTuple):
    """How the app ended.

    Attributes:
        name: The run that it showed.
        next_run: The run to show next, if the user has chosen one.
        reason: Why it could not show the session, if so.
    """

    code: int
    name: str
    next_run: RunOverview | None
    reason: str = ""


def open_next_run(left: AppExit, *, in_process: bool = False) -> int:
    """Show the run that the user has chosen, if any; return the exit code."""
    run = left.next_run
    if run is None or left.code == INTERRUPTED:
        return left.code
    if run.checkpoint:
        config = load({"resume": str(run.folder), "checkpoint": run.checkpoint}, vouch=ask).config
        plays = config.model_copy(update={"learn": False, "greedy": True})
        return run_app(plays, in_process=in_process)
    if run.pid is not None:
        return attach_app(ConnectedSession(find_session(run.name, RUNS)))
    if not run.resumable:
        return attach_app(ConnectedSession(find_session(str(run.folder), RUNS)))
    return run_app(load({"resume": str(run.folder)}, vouch=ask).config, in_process=in_process)


def others_text() -> str:
    """Return which sessions are running already, with the command that shows them; empty if there are none."""
    names = sorted(running_names() - {""})
    if not names:
        return ""
    shown = f"is running already: pac-tui attach {quote(names[0])}"
    return f"{names[0]} {shown}" if len(names) == 1 else f"{len(names)} sessions are running already: pac-tui attach"


def show_app(connection: SessionConnection, notice: str = "") -> AppExit:
    """Run the app until it ends; `notice` is shown at its start."""
    set_title("app")
    try:
        with borrowed_terminal(lambda: _end_session(connection)):
            with importing():
                from ..app.app import PacApp
                from ..drawing.theme import match_terminal

            match_terminal()
            app = PacApp(connection)
            app.notice = notice
            app.run()
            while app.replay is not None:
                _replay(app.replay)
                app.state.lists_episodes = True
                app = PacApp(connection, app.state)
                app.run()
            if connection.detached:
                with suppress(PacError):  # of several sessions, the selected one may have ended
                    connection.call("detach")
            name = app.state.snapshot.description.run if app.state.snapshot else "the session"
            return AppExit(app.return_code or 0, name, app.ending.next_run, _failure(app))
    finally:
        connection.close()


def _failure(app: PacApp) -> str:
    """Return why the app could not show the session, if so."""
    if app.return_code == FAILED and app.return_value is None:
        return "see the error above"
    return str(app.state.lost or "")


def _replay(kept: EpisodeKept) -> None:
    """Replay an episode, in place of the app."""
    from ..replay.episode_session import EpisodeConnection, EpisodeSession
    from ..replay.replay import ReplayApp

    ReplayApp(EpisodeConnection(lambda: EpisodeSession(kept.episode, kept.path))).run()


def _report_end(connection: SessionConnection, left: AppExit, report: Path | None) -> int:
    """Print a summary and write the report; return the exit code. A session that was killed has no report."""
    from ..session_text import report_text

    try:
        answer = connection.report()
    except SessionFailed as error:
        if left.code == INTERRUPTED and (connection.exit_code() or 0) < 0:
            return DONE
        if left.next_run is None:
            raise error from None
        print(f"{error.title}: {error}", file=sys.stderr)  # noqa: T201 - as above
        return DONE
    print(report_text(answer))  # noqa: T201 - as above
    return write_report(report, answer) if report is not None else DONE


def _end_session(connection: SessionConnection) -> None:
    """Stop the session if the app has started it, and wait for its end. Kill it at a second Ctrl-C or if it hangs.

    A script goes on: only the user ends it.
    """
    if connection.origin == "script" or not connection.owned or connection.ended:
        return
    if connection.origin == "thread":
        saving_here.set()
    try:
        _wait_for_end(connection)
    except KeyboardInterrupt:
        connection.kill()
        raise


def _wait_for_end(connection: SessionConnection) -> None:
    connection.terminate()
    limit = time.monotonic() + STOP_LIMIT
    announced = False
    while connection.started and not connection.ended:
        if time.monotonic() > limit:
            connection.kill()
            break
        if not announced and time.monotonic() > limit - STOP_LIMIT + 0.5:
            announced = True
            print("saving and stopping the session...", file=sys.stderr, flush=True)  # noqa: T201 - the app is gone
        time.sleep(NAP)
