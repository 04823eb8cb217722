"""A module that runs in a process of its own and writes shared memory at full speed, until its stdin is closed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ..waiting import until


@contextmanager
def writing(module: ModuleType, folder: Path) -> Iterator[str]:
    """Start `module` with the path of a file in `folder`; yield what it writes there once its memory is set up."""
    file = folder / "written"
    root = Path(__file__).parents[len(__name__.split(".")) - 1]
    with subprocess.Popen(
        [sys.executable, "-m", module.__name__, str(file)], stdin=subprocess.PIPE, cwd=root
    ) as process:
        until(lambda: process.poll() is not None or (file.exists() and file.read_text()), "the shared memory")
        yield file.read_text()
        process.communicate()
