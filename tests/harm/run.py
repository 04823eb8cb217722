"""Runs scripts plainly and under `pac-tui watch`, and prints what differs.

python -m tests.harm [--cases FOLDER] [--only TEXT] [--ways headless,app] [--python PYTHON] [--jobs N]

Each run has a new folder to work in, and a home and a folder for temporary files of its own. Compared are stdout,
stderr without the lines that pac-tui may add, the exit code, and all files. With the app, the script has a terminal,
and what is on it at the end is compared with a plain run on a terminal. A script may begin with such lines:

    # arguments: --seed 1
    # environment: PYTHONOPTIMIZE=1
    # module: train          is run as `python -m train`
    # needs: torch pettingzoo
    # ends: abruptly         may leave its session's folder, as one that is killed, without an app that could remove it
"""

from __future__ import annotations

import argparse
import ast
import difflib
import fcntl
import functools
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import psutil

from pac.backends.system.segment import SHM

Beside: TypeAlias = Callable[[int, threading.Event], None]
CASES = Path(__file__).parent / "cases"
LIMIT = 60.0  # s
APP = (sys.executable, "-m", "pac.tui")
CONTROLLED = (sys.executable, "-ISc", "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])")
"""Starts a program as a shell does: in a session whose controlling terminal is its stdin."""
WAYS = {"plain": "p", "again": "b", "headless": "h", "terminal": "t", "app": "a"}
"""The ways to run a script, and the names of their folders, of equal length.

`again` is plain once more, and `terminal` is plain on a terminal.
"""
REFERENCE = {"again": "plain", "headless": "plain", "app": "terminal"}
"""With what each way is compared."""
KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
FIXED = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "TERM": "xterm-256color", "CUDA_VISIBLE_DEVICES": ""}
OURS = re.compile(rb"^(pac-tui: |watching ).*\n?", re.MULTILINE)
"""The lines that may be printed beside those of the script."""
APP_BEGINS, APP_ENDS = b"\x1b[?1049h", b"\x1b[?1049l"
APP_SCREEN = re.compile(re.escape(APP_BEGINS) + rb".*?(" + re.escape(APP_ENDS) + rb"|\Z)", re.DOTALL)
TEXTLESS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[=>78]")
SIZE = (40, 120)
LARGE = re.compile(r"(?<![\w.])\d[\d_]*(?![\w.])")
WORDS = re.compile(r"\b\w+(?: ?\| ?\w+)+")
NUMBERS = (
    (re.compile(rb"0x[0-9a-f]{6,}"), b"0x"),
    (re.compile(rb"(?i)((?:seconds?|took|time|fps|sps)\W{0,9})\d+(\.\d+)?"), rb"\1#"),
    (re.compile(rb"\d+(\.\d+)?( ?m?s\b| seconds?)"), rb"#\2"),
    (re.compile(rb"/tmp/\w+"), b"/tmp/#"),
)
"""What differs from one plain run to the next in scripts that were not written for this purpose."""


@dataclass(frozen=True)
class Case:
    """A script and how it is run.

    Attributes:
        name: Its name.
        folder: What is copied into the working directory; None for only the script.
        script: The script.
        word: An argument, for a script that shows several habits.
        foreign: Whether it may print times and addresses.
    """

    name: str
    script: Path
    folder: Path | None = None
    word: str = ""
    foreign: bool = False

    @functools.cached_property
    def text(self) -> str:
        """The script."""
        return self.script.read_text()

    def directive(self, name: str) -> list[str]:
        """Return what a line at the beginning of the script says about `name`."""
        found = re.search(rf"^# {name}: (.*)", "\n".join(self.text.splitlines()[:8]), re.MULTILINE)
        return shlex.split(found[1]) if found else []

    @property
    def command(self) -> list[str]:
        """The arguments of Python."""
        module = self.directive("module")
        what = ["-m", *module] if module else ["train.py"]
        return [*what, *self.directive("arguments"), *filter(None, [self.word])]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it is run with."""
        return dict(text.split("=", 1) for text in self.directive("environment"))

    def write(self, folder: Path, scale: float) -> None:
        """Copy it into a folder; divide its large numbers, which are steps, by `scale`."""
        if self.folder is not None:
            shutil.copytree(self.folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        text = self.text if scale == 1 else LARGE.sub(lambda number: _scaled(number[0], scale), self.text)
        (folder / "train.py").write_text(text)
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)


def _scaled(number: str, scale: float) -> str:
    value = int(number.replace("_", ""))
    return number if value < 5_000 else str(max(1_000, round(value / scale)))


def own_cases(folder: Path = CASES) -> list[Case]:
    """Return the cases in a folder of ours."""
    return [Case(path.stem, path) for path in sorted(folder.glob("*.py"))]


def foreign_cases(folder: Path) -> list[Case]:
    """Return the scripts in a folder, `NAME/train.py` and other files; once for each word that its docstring offers."""
    found = [Case(path.parent.name, path, path.parent, foreign=True) for path in sorted(folder.glob("*/train.py"))]
    files = [path for path in sorted((*folder.glob("*.py"), *folder.glob("*/*.py"))) if path.name != "train.py"]
    found += [Case(str(path.relative_to(folder).with_suffix("")), path, foreign=True) for path in files]
    return [replace(case, name=f"{case.name} {word}".strip(), word=word) for case in found for word in _words(case)]


def _words(case: Case) -> list[str]:
    with suppress(SyntaxError):
        if (words := WORDS.search(ast.get_docstring(ast.parse(case.text)) or "")) and "sys.argv" in case.text:
            return [word.strip() for word in words[0].split("|")]
    return [""]


@dataclass(frozen=True)
class Outcome:
    """How a script has run in one of the ways. `left` is what remained in the runtime directory."""

    code: int | str
    stdout: bytes
    stderr: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """The folders of a run, which are short because of the sockets in one of them."""

    root: Path

    @property
    def work(self) -> Path:
        """The working directory."""
        return self.root / "work"

    @property
    def shared(self) -> Path:
        """The runtime directory."""
        return self.root / "run"

    def environment(self, case: Case) -> dict[str, str]:
        """Return the variables that the script is run with."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        own = {"HOME": "home", "TMPDIR": "tmp", "PAC_RUNTIME_DIR": "run", "PAC_WATCHED_RUNS": "kept"}
        return {**kept, **FIXED, **{name: str(self.root / folder) for name, folder in own.items()}, **case.environment}

    def files(self) -> dict[str, bytes]:
        """Return all files but those of the runtime directory and compiled modules."""
        folders = [self.root / name for name in ("work", "home", "tmp")]
        paths = [path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
        return {str(path.relative_to(self.root)): _content(path) for path in paths}

    def left(self) -> tuple[str, ...]:
        """Return what is in the runtime directory."""
        return tuple(str(path.relative_to(self.shared)) for path in self.shared.glob("pac-*/*"))

    def same(self, data: bytes) -> bytes:
        """Replace the path of the folders."""
        return data.replace(os.fsencode(self.root), b"/place")


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return b"link to " + os.fsencode(path.readlink())
    return path.read_bytes() if path.is_file() else b"folder" if path.is_dir() else b"special"


@contextmanager
def places() -> Iterator[dict[str, Place]]:
    """Yield folders for all ways of a case."""
    with tempfile.TemporaryDirectory(prefix="harm-", dir=SHM if SHM.is_dir() else None) as folder:
        found = {way: Place(Path(folder, letter)) for way, letter in WAYS.items()}
        for place in found.values():
            for name in ("work", "home", "tmp", "run"):
                (place.root / name).mkdir(parents=True)
        yield found


def run(
    case: Case, way: str, place: Place, *, python: str = sys.executable, scale: float = 1, limit: float = LIMIT
) -> Outcome:
    """Run a script in one of the ways; return its outcome."""
    case.write(place.work, scale)
    watch = [*APP, "watch", "--python", python]
    command = {"headless": [*watch, "--headless"], "app": [*watch, *exit_option()]}.get(way, [python])
    begin = _run_on_terminal if way in {"terminal", "app"} else run_on_files
    found = outcome(case, place, *begin([*command, *case.command], place, place.environment(case), limit))
    killed = isinstance(found.code, str) or found.code > 128
    excused = way == "headless" and (killed or case.directive("ends"))
    return replace(found, left=()) if excused else found


def outcome(case: Case, place: Place, code: int | str, stdout: bytes, stderr: bytes) -> Outcome:
    """Return how a script has run, without what differs from run to run."""
    stdout, stderr = (OURS.sub(b"", place.same(data)) for data in (stdout, stderr))
    if case.foreign:
        stdout, stderr = (
            functools.reduce(lambda text, sub: sub[0].sub(sub[1], text), NUMBERS, data) for data in (stdout, stderr)
        )
    files = {name: place.same(data) for name, data in place.files().items()}
    return Outcome(code, stdout, stderr, files, place.left())


def run_on_files(
    command: list[str], place: Place, environment: dict[str, str], limit: float, beside: Beside | None = None
) -> tuple[int | str, bytes, bytes]:
    """Run a command to its end, and meanwhile a function that gets its process id and an event that is set at its end.

    Returns:
        Its exit code or what is wrong, and what it has written to stdout and stderr.
    """
    out, err = place.root / "stdout", place.root / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            cwd=place.work,
            start_new_session=True,
        )
        ended = threading.Event()
        thread = threading.Thread(target=beside or (lambda *_: None), args=(process.pid, ended))
        thread.start()
        try:
            code: int | str = _as_shell(process.wait(limit))
        except subprocess.TimeoutExpired:
            code = f"not within {limit:.0f} s"
        ended.set()
        thread.join()
        _kill_group(process.pid)
        process.wait()
    return code, out.read_bytes(), err.read_bytes()


def _run_on_terminal(
    command: list[str], place: Place, environment: dict[str, str], limit: float
) -> tuple[int | str, bytes, bytes]:
    """Run a command on a terminal; press a key when its script has ended, in case the app waits for one."""
    terminal, theirs = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = subprocess.Popen(
        [*CONTROLLED, *command], **streams, env=environment, cwd=place.work, start_new_session=True
    )
    os.close(theirs)
    drawn, end, code = bytearray(), time.monotonic() + limit, ""
    had_script, pressed, app = False, time.monotonic(), "pac.tui" in command
    while True:
        ready = select.select([terminal], [], [], 0.05)[0]
        try:
            data = os.read(terminal, 1 << 16) if ready else b""
        except OSError:
            break
        if ready and not data:
            break
        drawn += data
        now = time.monotonic()
        if now > end:
            code = f"not within {limit:.0f} s"
            break
        if app and not exit_option() and now > pressed + 0.5:
            pressed = now
            with suppress(psutil.Error, OSError):
                running = [
                    child for child in psutil.Process(process.pid).children() if child.status() != psutil.STATUS_ZOMBIE
                ]
                had_script |= bool(running)
                if had_script and not running and drawn.rfind(APP_BEGINS) > drawn.rfind(APP_ENDS):
                    os.write(terminal, b"q")
    if code:
        for child in _descendants(process.pid):
            with suppress(psutil.Error):
                child.kill()
    status = process.wait()
    os.close(terminal)
    return code or _as_shell(status), _text_on_screen(bytes(drawn)), b""


def _text_on_screen(drawn: bytes) -> bytes:
    """Return what was printed on the main screen, without colours and modes."""
    return TEXTLESS.sub(b"", APP_SCREEN.sub(b"", drawn)).replace(b"\r\n", b"\n")


def _descendants(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [*process.children(recursive=True), process]
    return []


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _as_shell(code: int) -> int:
    return 128 - code if code < 0 else code


@functools.cache
def exit_option() -> tuple[str, ...]:
    """Return the option with which the app leaves when the script has ended, if there is one."""
    said = subprocess.run([*APP, "watch", "--help"], capture_output=True, text=True, check=False).stdout
    return ("--exit",) if "--exit" in said else ()


def differences(reference: Outcome, found: Outcome) -> list[str]:
    """Return what differs, each with the first line that does."""
    texts = []
    if reference.code != found.code:
        texts.append(f"exit code: {reference.code} became {found.code}")
    for name in ("stdout", "stderr"):
        before, after = getattr(reference, name), getattr(found, name)
        if before != after:
            texts.append(f"{name}: {_first_difference(before, after)}")
    for name in sorted({*reference.files, *found.files}):
        old, new = reference.files.get(name), found.files.get(name)
        if old is None or new is None:
            texts.append(f"file {name}: {'new' if old is None else 'missing'}")
        elif old != new:
            texts.append(f"file {name}: {_first_difference(old, new)}")
    if found.left:
        texts.append(f"left in the runtime directory: {', '.join(found.left)}")
    return texts


def _first_difference(before: bytes, after: bytes) -> str:
    old, new = (data.decode(errors="backslashreplace").splitlines(keepends=True) for data in (before, after))
    changes = [
        line for line in difflib.unified_diff(old, new, n=0) if line[:3] not in {"---", "+++"} and line[0] in "+-"
    ]
    return " / ".join(repr(line.rstrip("\n"))[1:-1][:160] for line in changes[:2])


def compare(case: Case, ways: list[str], **options: Any) -> dict[str, list[str]]:
    """Run a case plainly and in some ways; return what differs in each of them."""
    with places() as found:
        outcomes: dict[str, Outcome] = {}
        for way in ways:
            for each in (REFERENCE[way], way):
                if each not in outcomes:
                    outcomes[each] = run(case, each, found[each], **options)
        return {way: differences(outcomes[REFERENCE[way]], outcomes[way]) for way in ways}


@functools.cache
def lacks(python: str, names: tuple[str, ...]) -> str:
    """Return the first of these modules that an interpreter cannot import; nothing if it has all."""
    code = "import importlib.util as u, sys; print(next((n for n in sys.argv[1:] if u.find_spec(n) is None), ''))"
    return subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Print a table; return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, help="a folder of scripts; default: the cases of this folder")
    parser.add_argument("--only", default="", help="only cases whose name matches this regular expression")
    parser.add_argument("--skip", default="^$", help="not the cases whose name matches this regular expression")
    parser.add_argument(
        "--ways",
        default="headless,app",
        help="some of headless, app and again",
    )
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the scripts")
    parser.add_argument("--jobs", type=int, default=1, help="how many cases run at the same time")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each run")
    parser.add_argument("--steps-scale", type=float, default=1, help="divide numbers from 5,000 in scripts by this")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    cases = own_cases() if options.cases is None else foreign_cases(options.cases)
    cases = [case for case in cases if re.search(options.only, case.name) and not re.search(options.skip, case.name)]
    ways, harmed = options.ways.split(","), 0
    each = {"python": options.python, "scale": options.steps_scale, "limit": options.limit}

    def measured(case: Case) -> tuple[dict[str, list[str]], float]:
        if missing := lacks(options.python, tuple(case.directive("needs"))):
            return {"": [f"skipped: {missing} is not installed"]}, 0.0
        begun = time.monotonic()
        return compare(case, ways, **each), time.monotonic() - begun

    with ThreadPoolExecutor(options.jobs) as pool:
        for case, (found, seconds) in zip(cases, pool.map(measured, cases), strict=True):
            wrong = {way: texts for way, texts in found.items() if texts}
            harmed += bool(wrong) and "" not in wrong
            print(
                f"{case.name:32} {seconds:5.1f} s  {'; '.join(wrong.get('', [])) or ('differs' if wrong else 'equal')}",
                flush=True,
            )
            for way, texts in wrong.items():
                for text in texts if way else ():
                    print(f"    {way}: {text}", flush=True)
    print(f"{len(cases)} cases, {harmed} differ")
    return int(harmed > 0)
