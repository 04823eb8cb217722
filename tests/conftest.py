"""What all tests share: a runtime directory of their own, so that nothing of a user's is touched or counted."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def runtime_directory():
    """Point the runtime directory at a new folder, whose path is short enough for a socket's."""
    parent = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = tempfile.mkdtemp(prefix="pact-", dir=parent)
    os.environ["PAC_RUNTIME_DIR"] = folder
    yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
