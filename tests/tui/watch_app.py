"""Runs somebody's script as a person does, on a terminal: plainly, or under the app of `pac-tui watch`."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyte

from pac.envs.apart import start_ticks

from ..waiting import LIMIT, until
from .commands import APP, SIZE, Terminal
from .recorder.sitecustomize import VARIABLE

RECORDER = Path(__file__).parent / "recorder"
UNSET = ("VIRTUAL_ENV", "PYTHONUNBUFFERED", "COLUMNS", "LINES")
HOMES = ("CONFIG", "DATA", "CACHE", "STATE")
SCREENS = re.compile(r"\x1b\[\?1049([hl])")
TEXTLESS = re.compile(r"\x1b\[(?:[0-9;:]*m|(?!\?7[hl])[<=>?][0-9;]*\$?[A-Za-z])")
"""Colours, modes and questions to the terminal: pyte is slow with some of them, and draws others."""
BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*)?\Z")
"""A sequence whose end was not read yet."""
OURS = re.compile(rf"^pac-tui: (?:.{{{SIZE[0] - 9}}}\n(?:.{{{SIZE[0]}}}\n)*)?.*\n?", re.MULTILINE)
"""The lines that may be printed beside those of the script, wrapped at the edge of the terminal."""


class Harmed(AssertionError):
    """A script under the app has not done what it does without it."""


@dataclass(frozen=True)
class Outcome:
    """How a script has run.

    Attributes:
        code: The exit code of the script, or of `pac-tui`, as a shell has it.
        stdout: What the Python processes of the script have written there.
        stderr: The same, without the lines that pac-tui may add.
        printed: The text on the terminal, with the lines above its screen, without the app and the lines of pac-tui.
        files: The files in the working directory that are new or changed, and their content; None for a deleted one.
        signals: The signals to the script's process that have not ended it at once.
    """

    code: int
    stdout: str
    stderr: str
    printed: str
    files: Mapping[str, bytes | None]
    signals: tuple[int, ...]

    def expect(self, **wanted: Any) -> None:
        """Compare some attributes.

        Raises:
            Harmed: They differ.
        """
        found = {name: getattr(self, name) for name in wanted}
        wrong = {name: value for name, value in found.items() if value != wanted[name]}
        if wrong:
            raise Harmed(f"{wrong} is not {wanted}; printed:\n{self.printed}")


class Screens:
    """The text that a terminal shows: on its main screen, and on the one that programs like the app fill.

    Attributes:
        in_app: Whether such a program has the terminal.
    """

    def __init__(self, columns: int, lines: int) -> None:
        self._main, self._other = pyte.HistoryScreen(columns, lines, history=10_000), pyte.Screen(columns, lines)
        self._streams = [pyte.Stream(screen) for screen in (self._main, self._other)]
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._text: str | None = None
        self.in_app = False

    def feed(self, data: bytes) -> None:
        """Draw what a program has written."""
        self._text = None
        text = self._rest + self._decoder.decode(data)
        begun = BEGUN.search(text)
        self._rest = begun[0] if begun else ""
        for index, piece in enumerate(SCREENS.split(text[: begun.start() if begun else None])):
            if index % 2:
                self.in_app = piece == "h"
                self._other.reset()
            else:
                self._streams[self.in_app].feed(TEXTLESS.sub("", piece))

    def resize(self, columns: int, lines: int) -> None:
        """Change the size."""
        self._text = None
        for screen in (self._main, self._other):
            screen.resize(lines, columns)

    @property
    def text(self) -> str:
        """What is shown now."""
        if self._text is None:
            self._text = "\n".join((self._other if self.in_app else self._main).display)
        return self._text

    @property
    def printed(self) -> str:
        """All that was printed on the main screen."""
        above = ["".join(line[column].data for column in range(self._main.columns)) for line in self._main.history.top]
        return "\n".join(line.rstrip() for line in (*above, *self._main.display)).strip("\n")


class ScriptTerminal(Terminal):
    """A script on a terminal of its own, plain or under the app.

    Args:
        place: A runtime directory, in which it also has its home, and a working directory.
        script: The script, or `-m` and a module; its arguments.
        options: Those of `pac-tui watch`; None to run the script without it.
        more: Variables of the environment.

    Attributes:
        cwd: The working directory.
    """

    def __init__(self, place: tuple[Path, Path], *script: str, options: tuple[str, ...] | None = (), **more: str):
        shared, self.cwd = place
        self._record = Path(mkdtemp(prefix="record-", dir=shared))
        self._before = self._files()
        self._screens, self._fed = Screens(*SIZE), 0
        homes = {name: str(shared / "home" / name) for name in ("HOME", *map("XDG_{}_HOME".format, HOMES))}
        variables = {
            **homes,
            **dict.fromkeys(UNSET, ""),
            "PYTHONPATH": str(RECORDER),
            VARIABLE: str(self._record),
            **more,
        }
        program = (sys.executable,) if options is None else (*APP, "watch", *options)
        super().__init__(script, shared, self.cwd, program=program, controlling=True, **variables)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal."""
        self._now().resize(columns, lines)
        super().resize(columns, lines)

    def _now(self) -> Screens:
        if new := self.drawn[self._fed :]:
            self._fed += len(new)
            self._screens.feed(new)
        return self._screens

    @property
    def in_app(self) -> bool:
        """Whether the app has the terminal."""
        return self._now().in_app

    @property
    def screen(self) -> str:
        """The text on the terminal."""
        return self._now().text

    def wait(self, condition: Callable[[], object], what: str, limit: float = LIMIT) -> None:
        """Wait for a condition."""
        try:
            until(condition, what, limit)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen is\n{self.screen}") from None

    def wait_for(self, text: str) -> None:
        """Wait until a text is on the screen."""
        self.wait(lambda: text in self.screen, text)

    @property
    def script(self) -> int:
        """The process of the script; 0 before it has started."""
        link = self._record / "script"
        return int(link.readlink().name) if link.is_symlink() else 0

    @property
    def ended(self) -> bool:
        """Whether the process of the script has ended."""
        return start_ticks(self.script) is None

    @property
    def signals(self) -> tuple[int, ...]:
        """The signals to the script's process until now that have a handler of Python's, as SIGINT has."""
        note = self._record / f"signals-{self.script}"
        return tuple(note.read_bytes()) if note.exists() else ()

    def _files(self) -> dict[str, bytes]:
        files = [path for path in self.cwd.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        return {str(path.relative_to(self.cwd)): path.read_bytes() for path in files}

    def _noted(self, stream: str) -> str:
        note = self._record / stream
        return note.read_bytes().decode(errors="replace") if note.exists() else ""

    def outcome(self) -> Outcome:
        """Wait for the end; return how the script has run."""
        code, before, files = self.end(), self._before, self._files()
        return Outcome(
            128 - code if code < 0 else code,
            self._noted("stdout"),
            OURS.sub("", self._noted("stderr")),
            OURS.sub("", self._now().printed).rstrip("\n"),
            {name: files.get(name) for name in before | files if before.get(name) != files.get(name)},
            self.signals,
        )


def plain(place: tuple[Path, Path], *script: str) -> Outcome:
    """Run a script without pac-tui; return how it has run."""
    with closing(ScriptTerminal(place, *script, options=None)) as terminal:
        return terminal.outcome()
