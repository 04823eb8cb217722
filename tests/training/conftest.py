"""Fixtures for tests of sessions and telemetry."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def folder(runtime_directory):
    """Return a folder with a path short enough for a socket."""
    with tempfile.TemporaryDirectory(dir=runtime_directory) as name:
        yield Path(name)
