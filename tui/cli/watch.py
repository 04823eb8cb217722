"""The command `pac-tui watch`: runs a script, with the app in front of its environments."""

from __future__ import annotations

from collections.abc import Sequence

from ...envs import BadParameter
from ...training.watching.launching import exec_script, find_interpreter
from ..terminal import check_terminal


def watch_script(arguments: Sequence[str], *, module: str | None, python: str | None, headless: bool) -> int:
    """Run a script so that it is watched; return its exit code.

    Args:
        arguments: The script and its arguments, or the arguments of the module.
        module: The module that is run as `python -m` does.
        python: The interpreter.
        headless: Whether the script gets the terminal, and the app is attached from another one.

    Raises:
        BadParameter: There is no script, or it cannot be run so.
    """
    if module is None and not arguments:
        raise BadParameter("watch expects a script: pac-tui watch train.py, or pac-tui watch -m package.train")
    interpreter = find_interpreter(python)
    command = [*(["-m", module] if module is not None else []), *arguments]
    if headless:
        return exec_script(interpreter, command)
    check_terminal("use --headless, and `pac-tui attach` in a terminal")
    from ..script_app import run_script_app

    return run_script_app(interpreter, command)
