"""What tests leave behind that are killed is gone with the next ones."""

from pathlib import Path

import pytest

from .folders import runtime, sweep
from .programs import python

KILLED = (
    "import os; from tests.folders import runtime; where = runtime(); print(where.__enter__(), flush=True); os._exit(9)"
)


@pytest.mark.thorough
def test_the_folders_of_the_dead_are_swept():
    """Those of the living stay."""
    root = Path(__file__).parents[1]
    done = python("-c", KILLED, cwd=root)
    assert done.returncode == 9, done.stderr
    dead = Path(done.stdout.strip())
    with runtime() as mine:
        sweep()
        assert mine.is_dir()
    assert not dead.exists()
    assert not mine.exists()
