"""Files from elsewhere are data or an error with a sentence: nothing waits, and nothing raises something else."""

import os
import socket
import sys
from pathlib import Path

import pytest

from pac.envs.entries import open_regular
from pac.envs.files import (
    KIB,
    UnreadableFile,
    append_line,
    read_bytes,
    read_json,
    read_text,
    read_toml,
    read_yaml,
    write_whole,
)

DEEP = 100_000


def bind(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


SPECIAL = {
    "fifo": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "socket": bind,
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_only_regular_files_are_read(tmp_path, monkeypatch, kind):
    """Whatever else has a name is refused at once."""
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    path = tmp_path / "x"
    SPECIAL[kind](path.relative_to(tmp_path))
    with pytest.raises(UnreadableFile, match="a regular file was expected") as caught:
        read_bytes(path, KIB)
    assert not caught.value.missing


def test_a_missing_file_is_known_as_missing(tmp_path):
    """Some readers have something to say about that."""
    for path in (tmp_path / "x", tmp_path / "x" / "y"):
        with pytest.raises(UnreadableFile, match="No such file") as caught:
            read_bytes(path, KIB)
        assert caught.value.missing


def test_a_file_has_a_largest_size(tmp_path):
    """One byte more is refused."""
    (tmp_path / "x").write_bytes(bytes(KIB))
    assert len(read_bytes(tmp_path / "x", KIB)) == KIB
    with pytest.raises(UnreadableFile, match="larger than 1,023 bytes"):
        read_bytes(tmp_path / "x", KIB - 1)


def test_a_file_that_only_seems_empty_is_read():
    """Those in /proc have no size."""
    if sys.platform != "linux":
        pytest.skip("there is no /proc")
    assert read_text(Path("/proc/self/stat"), 64 * KIB)


def test_a_pipe_is_read_where_that_is_wanted():
    """`--config <(make-config)`."""
    reading, writing = os.pipe()
    os.write(writing, b"seed: 3")
    os.close(writing)
    path = Path(f"/dev/fd/{reading}")
    with pytest.raises(UnreadableFile, match="FIFO"):
        read_yaml(path, KIB)
    assert read_yaml(path, KIB, pipes=True) == {"seed": 3}
    os.close(reading)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "not JSON"),
        (b"", "not JSON"),
        (b"\xff\xfe{", "UTF-8|not JSON"),
        (b"[" * DEEP + b"]" * DEEP, "nested too deeply"),
        (b"[" * 90 + b"]" * 90, "nested more than 64 deep"),
        (b'{"a": 1e999}', "NaN or infinite"),
        (b'{"a": [NaN]}', "NaN or infinite"),
        (b"9" * 400, "more than 100 digits"),
        (b"9" * 9000, "not JSON"),
    ],
)
def test_bad_json_is_named(tmp_path, text, reason):
    """The file and what is wrong with it."""
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(UnreadableFile, match=rf"x\.json cannot be read: it .*({reason})"):
        read_json(tmp_path / "x.json", 256 * KIB)


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        pytest.param("a: " + "[" * 5_000, marks=pytest.mark.thorough),  # PyYAML takes 2 s
        "a: 2001-99-99",
        "a: !!bool maybe",
        "a: !!int ''",
        "a: !!float x",
        "a: !!python/object/apply:os.system [true]",
        f"a: {'9' * 9000}",
        "? [a]\n: b",
        "*a",
    ],
    ids=range(10),
)
def test_bad_yaml_is_named(tmp_path, text):
    """What PyYAML raises is an error that names the file."""
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(UnreadableFile, match=r"x\.yaml cannot be read: it is (not valid YAML|nested too deeply)"):
        read_yaml(tmp_path / "x.yaml", 256 * KIB)


@pytest.mark.parametrize("text", ["a =", "a = " + "[" * DEEP, "a = 2001-99-99", f"a = {'9' * 9000}"])
def test_bad_toml_is_named(tmp_path, text):
    """The file and what is wrong with it."""
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(UnreadableFile, match=r"x\.toml cannot be read: it is (not valid TOML|nested too deeply)"):
        read_toml(tmp_path / "x.toml", 256 * KIB)


@pytest.mark.parametrize("kind", SPECIAL)
def test_only_regular_files_are_appended_to(tmp_path, monkeypatch, kind):
    """Nothing waits for a reader, and nothing is written through a link."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x"
    SPECIAL[kind](path.relative_to(tmp_path))
    with pytest.raises(OSError, match=r"regular file was expected|directory"):
        append_line(path, b"x")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OSError, match="it is a link"):
        append_line(tmp_path / "link", b"x")
    assert not (tmp_path / "target").exists()


def test_a_file_is_written_whole_and_not_through_a_link(tmp_path):
    """What was left beside it is not followed; a link in its place is replaced."""
    (tmp_path / "precious").write_text("mine")
    for name in ("x", ".x"):
        (tmp_path / name).symlink_to("precious")
    write_whole(tmp_path / "x", "new")
    assert (tmp_path / "x").read_text() == "new"
    assert (tmp_path / "precious").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "x"]


def test_a_descriptor_is_not_handed_to_children(tmp_path):
    """Workers do not keep files open."""
    (tmp_path / "x").touch()
    descriptor = open_regular(tmp_path / "x")
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
