"""Processes of the program have titles."""

import os
import sys

import pytest

from ..programs import program

SHOW = """
import sys
{before}
from pathlib import Path
from pac.envs.titles import Titled, set_title

Titled.run = "a\\x1brun"
set_title("worker 2")
shown = {{name: Path("/proc/self", name).read_text().rstrip("\\0") for name in ("cmdline", "environ")}}
here = "VARIABLE=kept" in shown["environ"], "SPT_NOENV" in __import__("os").environ
print(shown["cmdline"].replace("\\0", " "), *here)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("missing", [False, True])
def test_a_process_has_a_title_and_its_environment_stays_readable(missing):
    """Without the library, it keeps its command line."""
    code = SHOW.format(before="sys.modules['setproctitle'] = None" if missing else "")
    shown = program(sys.executable, "-c", code, "x" * 80, check=True, env={**os.environ, "VARIABLE": "kept"}).stdout
    assert shown.endswith(" True False\n")
    assert shown.startswith(sys.executable if missing else "pac-tui: worker 2 of a\\x1brun")
