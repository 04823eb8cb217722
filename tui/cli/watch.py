"""The command `pac-tui watch`: runs a training script and shows its environments in the app."""

from __future__ import annotations

from collections.abc import Sequence

from ...envs import BadParameter
from ...training.watching.launching import exec_script, find_interpreter
from ..terminal.modes import check_terminal


def watch_script(
    arguments: Sequence[str], *, module: str | None, python: str | None, headless: bool, leaves: bool, keep: bool
) -> int:
    """Run a script and watch its environments; return its exit code.

    Raises:
        BadParameter: There is no script, or the interpreter cannot run it.
        NoTerminal: There is no terminal for the app.
    """
    if module is None and not arguments:
        raise BadParameter("watch expects a script: pac-tui watch train.py, or pac-tui watch -m package.train")
    interpreter = find_interpreter(python)
    command = [*(["-m", module] if module is not None else []), *arguments]
    if headless:
        return exec_script(interpreter, command, keep=keep)
    check_terminal("use --headless, and run `pac-tui attach` in a terminal")
    from ..starting.script_app import run_script_app

    return run_script_app(interpreter, command, leaves=leaves, keep=keep)
