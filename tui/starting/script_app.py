"""Runs a script and shows its environments: its output until the first step of an environment, and then the app."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...backends.system.segment import owner_of, runtime_directory
from ...envs import PacError
from ...envs.signals import handling
from ...training.exits import FAILED, INTERRUPTED
from ...training.runs.sessions import open_telemetry
from ...training.telemetry.blocks import TelemetryReader
from ...training.telemetry.records import Phase
from ..connections.connection import SessionConnection
from ..preferences import preferences
from .launch import AppExit, open_next_run, show_app
from .script_process import ScriptProcess

PERIOD, FOLLOW_PERIOD = 0.02, 0.25
"""Seconds between two looks for a session, before and after the app has opened."""
KILL_LIMIT = 1.0  # s that a script may need to end which the user has killed
IDLE = 3.0
"""Seconds without a step after which another training of the script that is stepped is shown."""
READS_TERMINAL = "the script reads from the terminal, which the app needs: run it with pac-tui watch --headless"
REPLACED = (
    "no environment was recognized: the script has executed another program in its place; watch that program instead, "
    "with pac-tui watch or watch(envs) in it"
)


class ScriptConnection(SessionConnection):
    """The connection to a script that this program runs: to one of its sessions, and after that to the next.

    Args:
        reader: Reads the session that is shown first.
        leaves: Whether the app leaves when the script has ended.
    """

    def __init__(self, script: ScriptProcess, reader: TelemetryReader, *, leaves: bool) -> None:
        super().__init__(lambda: script, "script")
        self.script = script
        self.leaves_at_end = leaves
        self._reader: TelemetryReader = reader
        self._wanted: str | None = None
        self._due = 0.0

    def exit_code(self) -> int | None:
        """Return None: the end of a session says nothing about the script."""
        return None

    def script_end(self) -> str:
        return self.script.describe_end()

    def advice(self) -> str:
        return READS_TERMINAL if self.script.reads_terminal else ""

    def turn_to(self, pid: int | None, name: str) -> bool:
        if pid == self.script.pid:
            self._wanted, self._due = name, 0.0
        return pid == self.script.pid

    def follow(self) -> None:
        if (now := time.monotonic()) < self._due:
            return
        self._due = now + FOLLOW_PERIOD
        self.script.notice()
        found = find_session(self.script.pid, self._reader, self._wanted)
        if found is None:
            return
        with self._joining:
            client, self._client = self._client, None
            self._reader, self._last = found, None
            self.selected += 1
        if client is not None:
            client.close()

    def terminate(self) -> None:
        """Interrupt the script, also if it is paused; returns at once."""
        threading.Thread(target=self._interrupt, daemon=True).start()

    def _interrupt(self) -> None:
        with suppress(PacError):
            self.call("resume")
        self.script.terminate()


def find_session(pid: int, shown: TelemetryReader | None, wanted: str | None = None) -> TelemetryReader | None:
    """Return the session of a process that is to be shown instead of `shown`; None to stay there.

    Trainings go before evaluations. A training stays as long as it is stepped, and also if no other one is stepped.

    Args:
        pid: The process.
        wanted: The name of the session that the user has chosen.
    """
    over = shown is None or _is_over(shown)
    name = "" if over or shown is None else shown.description.run
    since = 0.0
    if shown is not None and not over:
        state = shown.read("state")
        paused, since = Phase(int(state["phase"])) is Phase.PAUSED, float(state["now"]) + IDLE
        if name == wanted or (wanted is None and (paused or (not _evaluates(name) and time.time() < since))):
            return None
    ours = [path for path in runtime_directory().glob(f"{pid}-*") if owner_of(path) == pid]
    others = [path for path in ours if shown is None or path != shown.directory]
    found = [reader for path in others if (reader := open_telemetry(path)) is not None and not _is_over(reader)]
    if chosen := [reader for reader in found if reader.description.run == wanted]:
        return chosen[0]
    if name:
        found = [reader for reader in found if not _evaluates(reader.description.run)]
    if name and not _evaluates(name):
        found = [reader for reader in found if float(reader.read("state")["now"]) > since]
    return min(found, key=lambda one: (_evaluates(one.description.run), len(one.description.run)), default=None)


def _evaluates(name: str) -> bool:
    return "-eval" in name


def _is_over(reader: TelemetryReader) -> bool:
    return not reader.directory.exists() or Phase(int(reader.read("state")["phase"])).over


def run_script_app(interpreter: str, arguments: list[str], *, leaves: bool, keep: bool = True) -> int:
    """Run a script and show its environments; return its exit code.

    Args:
        arguments: The script and its arguments, or `-m`, a module and its arguments.
        leaves: Whether the app leaves when the script has ended, instead of at a key.
        keep: Whether a run of it is kept.
    """
    preferences()  # an error in them is reported before anything is started
    script = ScriptProcess(interpreter, arguments, keep=keep)
    importing = threading.Thread(target=_import_app, daemon=True)
    importing.start()
    with _forwarded_signals(script):
        reader = _wait_for_session(script, importing)
    if reader is not None and (code := _show(ScriptConnection(script, reader, leaves=leaves))) is not None:
        return code
    with _forwarded_signals(script):
        while not script.wait(PERIOD):
            script.copy_output()
            script.notice()
    script.copy_output()
    script.notice()
    if script.reads_terminal:
        script.tell(READS_TERMINAL)
    if script.replaced and reader is None:
        script.tell(REPLACED)
    script.close()
    return script.exit_code


def _import_app() -> None:
    from ..app import app  # noqa: F401 - while the script starts


def _wait_for_session(script: ScriptProcess, importing: threading.Thread) -> TelemetryReader | None:
    """Print the output of the script until an environment is stepped and the app can open; None if it ends before."""
    while not script.wait(PERIOD):
        script.copy_output()
        script.notice()
        found = None if importing.is_alive() else find_session(script.pid, None)
        if found is not None:
            return found
    return None


def _show(connection: ScriptConnection) -> int | None:
    """Show the app until it ends; return the exit code, or None if the script is to be followed to its end."""
    script = connection.script
    try:
        left = show_app(connection)
    except KeyboardInterrupt:
        script.terminate()
        script.copy_shortened()
        return None
    except Exception as error:
        left = AppExit(FAILED, "", None, f"{type(error).__name__}: {error}")
    script.copy_shortened()
    ended = script.wait(0 if left.reason or left.code != FAILED else KILL_LIMIT)
    if left.reason:
        now = "has ended" if ended else "continues, and its output follows"
        script.tell(f"the app has failed: {left.reason}; the script {now}")
    if left.next_run is not None and (ended or connection.detached):
        return open_next_run(left)
    if ended:
        return None
    if connection.detached:
        print(f"{left.name} continues: pac-tui attach {shlex.quote(left.name)}")  # noqa: T201 - the app has left the terminal
        return left.code
    if left.code == INTERRUPTED:
        script.tell(f"ended by a signal; the script continues: pac-tui attach {script.pid}")
        return left.code
    with suppress(PacError):
        connection.call("resume")
    return None


@contextmanager
def _forwarded_signals(script: ScriptProcess) -> Iterator[None]:
    """Pass the terminal's signals on to the script. A signal that ends this program leaves the script running."""

    def end(number: int, _frame: object) -> None:
        with suppress(OSError):
            script.tell(f"ended by a signal; the script continues as process {script.pid}")
        sys.exit(128 + number)

    def forward(number: int, _frame: object) -> None:
        script.signal(number)

    handlers = {signal.SIGINT: forward, signal.SIGQUIT: forward, signal.SIGTERM: end, signal.SIGHUP: end}
    with handling(handlers):
        yield
