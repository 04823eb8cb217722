"""The scripts of `docs/watch.md` run as they stand, and can be attached to while they do."""

import contextlib
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

from pac.training.runs.sessions import sessions
from pac.training.session.control import SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from ...programs import talking
from ...waiting import LIMIT, until

pytestmark = pytest.mark.session

PAGE = Path(__file__).parents[3] / "docs" / "watch.md"
SCRIPTS = dict(
    re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
)


def ended(script):
    """Fail if a script has ended."""
    assert script.poll() is None, script.communicate()[1]


def test_there_are_four():
    """A loop without an environment, Gymnasium, Stable-Baselines3, and a script in one file."""
    assert len(SCRIPTS) == 4


@pytest.mark.parametrize("title", SCRIPTS)
def test_a_script_runs_and_can_be_paused(tmp_path, title):
    """It is found by its name, stands still when asked to, goes on, and ends well."""
    if "stable_baselines3" in SCRIPTS[title] and importlib.util.find_spec("stable_baselines3") is None:
        pytest.skip("Stable-Baselines3 is not installed: pip install pac-tui[peers]")
    path = tmp_path / f"documented{list(SCRIPTS).index(title)}.py"
    path.write_text(SCRIPTS[title].replace("STEPS = 3_000", "STEPS = 12_000"))  # it must not end before it is paused
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}  # more threads than free cores wait for each other
    script = talking(path, stderr=subprocess.PIPE, cwd=tmp_path, env=environ)
    try:
        (found,) = until(lambda: ended(script) or [each for each in sessions() if each.name == path.stem], "it stands")
        with contextlib.closing(SessionClient(found.directory)) as client:
            client.call("pause")
            reader = TelemetryReader(found.directory)
            until(lambda: ended(script) or take_snapshot(reader, ViewRequest()).phase is Phase.PAUSED, "paused")
            client.call("step", count=5)
            until(lambda: ended(script) or take_snapshot(reader, ViewRequest()).state["steps"] > 0, "it steps")
            client.call("resume")
        _, said = script.communicate(timeout=LIMIT)
    finally:
        script.kill()
        script.wait()
    assert script.returncode == 0, said
    assert not found.directory.exists()
