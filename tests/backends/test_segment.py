"""The directories of processes: whose they are, and which of them are removed."""

import fcntl
import os
from pathlib import Path

import pytest

from pac.backends.system.segment import (
    UnsafeDirectory,
    human_bytes,
    is_owned,
    new_directory,
    owner_of,
    remove_directory,
    remove_stale,
    runtime_directory,
)

from ..programs import talking
from ..waiting import until

UNSEEN = 2**31 - 1  # no process has this number


def refused(tmp_path, monkeypatch):
    """Return what is said of a runtime directory below `tmp_path`."""
    monkeypatch.setenv("PAC_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(UnsafeDirectory) as caught:
        runtime_directory()
    return str(caught.value)


def test_a_runtime_directory_of_another_user_is_refused(tmp_path, monkeypatch):
    """The sentence names its owner, and the variable that leads elsewhere."""
    path = tmp_path / f"pac-{os.getuid()}"
    path.mkdir(0o700)
    if os.getuid():
        pytest.skip("only root can give a directory away")
    os.chown(path, 12345, -1)
    message = refused(tmp_path, monkeypatch)
    assert "belongs to user 12345: set PAC_RUNTIME_DIR" in message
    assert "remove" not in message


def test_a_runtime_directory_that_others_may_enter_is_refused(tmp_path, monkeypatch):
    """Its own user can remove it, or choose another."""
    (tmp_path / f"pac-{os.getuid()}").mkdir(0o755)
    message = refused(tmp_path, monkeypatch)
    assert "mode 0700: remove it, or set PAC_RUNTIME_DIR" in message


@pytest.fixture
def elsewhere():
    """A directory of a process that is not visible here."""
    path = runtime_directory() / f"{UNSEEN}-7-0123456789abcdef"
    path.mkdir(mode=0o700)
    return path


@pytest.mark.parametrize(
    ("count", "text"), [(1023, "1023 B"), (1536, "1.5 KiB"), (2**30, "1.0 GiB"), (2**51, "2048.0 TiB")]
)
def test_bytes_have_binary_units(count, text):
    """The largest that is not above the number; beyond the last one the number grows."""
    assert human_bytes(count) == text


def test_every_process_has_its_own_directory():
    """It is known by process and start, and goes when it is removed."""
    path = new_directory()
    assert owner_of(path) == os.getpid()
    assert is_owned(path)
    remove_directory(path)
    assert not path.exists()


def test_a_directory_of_a_dead_process_is_removed(elsewhere):
    """There is no process of that number, and no lock."""
    assert not is_owned(elsewhere)
    assert elsewhere in remove_stale()
    assert not elsewhere.exists()


def test_telemetry_of_a_dead_process_is_kept(elsewhere):
    """A second session's restart must not take the last state of one that was killed just now."""
    telemetry = elsewhere / "telemetry.1"
    telemetry.touch()
    assert elsewhere not in remove_stale()
    telemetry.unlink()
    assert elsewhere in remove_stale()


@pytest.mark.session
def test_a_zombie_owns_no_directory():
    """A killed process keeps its number until its parent asks how it ended."""
    code = "from pac.backends.system.segment import new_directory; print(new_directory(), flush=True); input()"
    with talking("-c", code) as process:
        assert process.stdout
        path = Path(process.stdout.readline().strip())
        assert owner_of(path) == process.pid
        process.kill()
        until(lambda: not is_owned(path), "the end")
        assert process.returncode is None
    assert path in remove_stale()


def test_a_locked_directory_is_kept(elsewhere):
    """A process of another container cannot be seen, and lives all the same."""
    descriptor = os.open(elsewhere, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert owner_of(elsewhere) is None
        assert is_owned(elsewhere)
        assert elsewhere not in remove_stale()
        assert elsewhere.exists()
    finally:
        os.close(descriptor)
    remove_stale()
