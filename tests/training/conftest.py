"""What tests of sessions and of telemetry share."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def folder(runtime_directory):
    """A folder whose path is short enough for a socket's."""
    with tempfile.TemporaryDirectory(dir=runtime_directory) as name:
        yield Path(name)
