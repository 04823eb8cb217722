"""The directories of processes: whose they are, and which of them are removed."""

import fcntl
import os
import resource
from pathlib import Path

import pytest

from pac.backends.system.segment import (
    FilesTooSmall,
    Segment,
    UnsafeDirectory,
    directories,
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


@pytest.mark.parametrize("own", [True, False])
def test_a_runtime_directory_that_others_may_enter_is_refused(tmp_path, monkeypatch, own):
    """Its own user can remove it, or choose another; that of another user is named with its owner."""
    monkeypatch.setenv("PAC_RUNTIME_DIR", str(tmp_path))
    path = tmp_path / f"pac-{os.getuid()}"
    path.mkdir(0o755 if own else 0o700)
    if not own:
        if os.getuid():
            pytest.skip("only root can give a directory away")
        os.chown(path, 12345, -1)
    text = "mode 0700: remove it, or set PAC_RUNTIME_DIR" if own else "belongs to user 12345: set PAC_RUNTIME_DIR"
    with pytest.raises(UnsafeDirectory, match=text):
        runtime_directory()


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
    """Not with telemetry: a second session's restart must not take the last state of one that was killed just now."""
    assert not is_owned(elsewhere)
    telemetry = elsewhere / "telemetry.1"
    telemetry.touch()
    assert elsewhere not in remove_stale()
    telemetry.unlink()
    assert elsewhere in remove_stale()
    assert not elsewhere.exists()


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


def test_what_is_no_directory_in_the_runtime_directory_belongs_to_nobody(tmp_path, monkeypatch):
    """A FIFO does not block the start, and a link is not followed."""
    monkeypatch.setenv("PAC_RUNTIME_DIR", str(tmp_path))
    own = new_directory()
    os.mkfifo(runtime_directory() / "123456789-1-aa")
    (runtime_directory() / "123456789-1-bb").symlink_to(own)
    (runtime_directory() / "123456789-1-cc").touch()
    assert [path for path, _, alive in directories() if alive] == [own]
    remove_stale()
    assert own.is_dir()
    remove_directory(own)


def test_a_limit_of_the_size_of_files_is_named(tmp_path):
    """It is not the shared memory that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        with pytest.raises(FilesTooSmall, match=r"64\.0 KiB .* are needed, .* 8\.0 KiB here \(ulimit -f\)"):
            Segment.create("x", 65536, directory=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "x").exists()


def test_a_segment_has_no_descriptor(tmp_path):
    """A program that closes all descriptors would give its number to a file of its own, which we would close."""
    before = set(Path("/proc/self/fd").iterdir())
    segment = Segment.create("segment", 5000, directory=tmp_path)
    assert set(Path("/proc/self/fd").iterdir()) == before
    segment.map[4999] = 7
    assert segment.path.read_bytes()[4999] == 7
    segment.map.close()
