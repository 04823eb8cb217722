"""Fixtures for tests of sessions and telemetry."""

import tempfile
from pathlib import Path

import pytest

from .watched import Watched


@pytest.fixture
def folder(runtime_directory):
    """Return a folder with a path short enough for a socket."""
    with tempfile.TemporaryDirectory(dir=runtime_directory) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def kept_sessions():
    """Keep sessions by their options, until the last test of the file has ended."""
    kept: dict[str, Watched] = {}
    yield kept
    for watched in kept.values():
        watched.kill()


@pytest.fixture
def live(kept_sessions, tmp_path_factory):
    """Return a function that returns a running session with some options, which is paused after the test.

    The tests of a file share it. It begins each with four environments, without breakpoints and limits of speed.
    """

    def get(**options):
        watched = kept_sessions.get(key := repr(options))
        if watched is None or watched.process.poll() is not None:
            watched = kept_sessions[key] = Watched(runs_dir=tmp_path_factory.mktemp("runs"), **options)
        watched.begin_anew()
        return watched

    yield get
    for watched in kept_sessions.values():
        if watched.process.poll() is None:
            watched.call("pause")
