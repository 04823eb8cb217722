"""Runs a script and shows its environments: its output until the first step of an environment, and then the app."""

from __future__ import annotations

import threading
import time
from typing import Any

from ..training.runs.sessions import FoundSession
from ..training.watching.launching import Interpreter
from .connection import SessionConnection
from .launch import open_next_run, show_app
from .preferences import preferences
from .script_process import ScriptProcess, ScriptSession

PERIOD = 0.02  # s between two looks for a session
LAST_LINES = 20
"""Lines of the script's output that are printed when the app has left."""


class ScriptConnection(SessionConnection):
    """The connection to a script that this program runs."""

    def __init__(self, session: ScriptSession) -> None:
        super().__init__(lambda: session, "script")
        self._script_session = session

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a command; `stop` interrupts the script."""
        if command == "stop":
            super().call("resume")
            self._script_session.terminate()
            return {}
        return super().call(command, **arguments)


def run_script_app(interpreter: Interpreter, arguments: list[str]) -> int:
    """Run a script and show its environments; return its exit code.

    Args:
        interpreter: What runs it.
        arguments: The script and its arguments, or `-m`, a module and its arguments.
    """
    preferences()  # an error in them is reported before anything is started
    script = ScriptProcess(interpreter, arguments)
    threading.Thread(target=_import_app, daemon=True).start()
    try:
        while (found := _wait_for_session(script)) is not None:
            script.shown.add(found.directory)
            connection = ScriptConnection(ScriptSession(found, script))
            left = show_app(connection)
            if left.next_run is not None and left.next_run.pid != script.pid:
                return open_next_run(left)
            if connection.detached:
                script.detached = True
                print(f"{found.name} continues: pac-tui attach {found.name}")  # noqa: T201 - the app has left the terminal
                return left.code
            script.skip_output(LAST_LINES)
        script.copy_output()
        return script.wait()
    except KeyboardInterrupt:
        script.terminate()
        code = script.wait()
        script.copy_output()
        return code
    finally:
        if not script.detached:
            script.kill()


def _import_app() -> None:
    from . import app  # noqa: F401 - while the script starts


def _wait_for_session(script: ScriptProcess) -> FoundSession | None:
    """Print the output of the script until an environment is stepped; None if the script ends before."""
    while True:
        ended = script.poll() is not None
        found = script.next_session()
        if found is not None or ended:
            return found
        script.copy_output()
        time.sleep(PERIOD)
