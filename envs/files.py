"""Opens and reads files that another program or another person may have written.

Only regular files are opened, so no FIFO and no device can block a process. No more is read than a file of its kind can
have. Whatever a file contains, the result is data or an `UnreadableFile`. Nothing is ever unpickled.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import tomllib
from collections.abc import Mapping
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any

from .errors import PacError

KIB, MIB = 2**10, 2**20
MAX_DEPTH = 64
"""How deep lists and objects may be nested."""
MAX_INTEGER = 10**100
"""Integers are smaller: a random generator's state has up to 39 digits."""
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
REFUSALS = {errno.ENXIO: "it is a FIFO, a socket or a device", errno.ELOOP: "it is a link"}
"""What the system means when it refuses to open something with the flags used here."""
CONTAINERS = frozenset({dict, list, tuple, set})
YAML_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What PyYAML raises besides its own errors: for a bad date, an unknown truth value, or too long an integer."""


class UnreadableFile(PacError):
    """A file cannot be read as what it should be.

    Attributes:
        path: The file.
        reason: What is wrong with it, as a part of a sentence.
        missing: Whether there is no such file.
    """

    title = "Unreadable file"

    def __init__(self, path: Path, reason: str, *, missing: bool = False) -> None:
        super().__init__(f"{path} cannot be read: {reason}")
        self.path, self.reason, self.missing = path, reason, missing


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o644) -> int:
    """Open a regular file without ever waiting for it; return the descriptor.

    Args:
        path: The file; links are followed unless `flags` has `O_NOFOLLOW`.
        flags: As for `os.open`.
        mode: The permissions of a file that is created.

    Raises:
        OSError: It cannot be opened, or is not a regular file; `strerror` says why.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, mode)
    except OSError as error:
        if error.errno in REFUSALS:
            raise OSError(
                error.errno, f"{REFUSALS[error.errno]}, and a regular file was expected", str(path)
            ) from error
        raise
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is {KINDS.get(kind, 'no file')}, and a regular file was expected", str(path))
    return descriptor


def open_binary(path: Path, *, pipes: bool = False) -> BufferedReader:
    """Open a regular file to read its bytes.

    Args:
        path: The file.
        pipes: Whether a pipe is read, too, and waited for: `--config <(make-config)`.

    Raises:
        OSError: As of `open_regular`.
    """
    if pipes and path.is_fifo():
        return path.open("rb")
    return os.fdopen(open_regular(path), "rb")


def append_bytes(path: Path, data: bytes) -> None:
    """Append to a regular file, which is made if it is missing; a link is not followed.

    Raises:
        OSError: It cannot be written to, or is not a regular file.
    """
    descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: beside its place first, and there only into a file made for it.

    Raises:
        OSError: It cannot be written.
    """
    beside = path.with_name(f".{path.name}")
    beside.unlink(missing_ok=True)
    with beside.open("x", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk.

    Raises:
        OSError: The disk refuses.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bytes(path: Path, limit: int, *, pipes: bool = False) -> bytes:
    """Return what a file contains, at most `limit` bytes.

    Raises:
        UnreadableFile: It cannot be read, is not a regular file, or is larger.
    """
    try:
        with open_binary(path, pipes=pipes) as file:
            data = file.read(limit + 1)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        raise UnreadableFile(path, error.strerror or str(error), missing=missing) from error
    if len(data) > limit:
        raise UnreadableFile(path, f"it is larger than {limit:,} bytes, the most that is read of such a file")
    return data


def read_text(path: Path, limit: int, *, pipes: bool = False) -> str:
    """Return the text of a file in UTF-8, at most `limit` bytes.

    Raises:
        UnreadableFile: As of `read_bytes`, or it is not UTF-8.
    """
    try:
        return read_bytes(path, limit, pipes=pipes).decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(path, f"it is not text in UTF-8 (byte {error.start:,})") from error


def read_json(path: Path, limit: int, *, finite: bool = True) -> Any:
    """Return what a JSON file contains, at most `limit` bytes.

    Raises:
        UnreadableFile: As of `read_bytes`, or of what `parse_json` refuses.
    """
    data = read_bytes(path, limit)
    try:
        return parse_json(data, finite=finite)
    except ValueError as error:
        raise UnreadableFile(path, str(error)) from error


def parse_json(data: bytes, *, finite: bool = True) -> Any:
    """Return what JSON says.

    Args:
        data: JSON in UTF-8.
        finite: Whether NaN and infinite numbers are refused.

    Raises:
        ValueError: It is not JSON, is nested too deeply, or has a number that is too large; the text says which.
    """
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not JSON: it is not text in UTF-8") from None
    except ValueError as error:  # also an integer of more than 4,300 digits
        raise ValueError(f"it is not JSON: {error}") from None
    _refuse_extremes(found, finite=finite)
    return found


def read_yaml(path: Path, limit: int, *, pipes: bool = False) -> Any:
    """Return what a YAML file contains, at most `limit` bytes; None if that is nothing.

    Raises:
        UnreadableFile: As of `read_text`, or it is not valid YAML.
    """
    import yaml

    class UniqueKeys(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys: set[str] = set()
            for key, _ in node.value:
                if key.value in keys:
                    raise yaml.MarkedYAMLError(problem=f"the key {key.value} occurs twice", problem_mark=key.start_mark)
                if isinstance(key, yaml.ScalarNode):
                    keys.add(key.value)
            return super().construct_mapping(node, deep)

    text = read_text(path, limit, pipes=pipes)
    try:
        found = yaml.load(text, UniqueKeys)  # noqa: S506 - a SafeLoader
        _refuse_extremes(found)
    except RecursionError:
        raise UnreadableFile(path, "it is nested too deeply") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise UnreadableFile(path, f"it is not valid YAML{where}: {problem}") from None
    except YAML_ERRORS as error:
        raise UnreadableFile(path, f"it is not valid YAML: {error}") from None
    return found


def read_toml(path: Path, limit: int) -> Mapping[str, Any]:
    """Return what a TOML file contains, at most `limit` bytes.

    Raises:
        UnreadableFile: As of `read_text`, or it is not valid TOML.
    """
    text = read_text(path, limit)
    try:
        found = tomllib.loads(text)
        _refuse_extremes(found)
    except RecursionError:
        raise UnreadableFile(path, "it is nested too deeply") from None
    except ValueError as error:
        raise UnreadableFile(path, f"it is not valid TOML: {error}") from None
    return found


def _refuse_extremes(found: Any, *, finite: bool = False) -> None:
    """Raise ValueError if data is nested deeper, or has larger numbers, than any code here has to expect.

    Each container is visited once on every level: YAML's aliases can repeat one a billion times.
    """
    level = [found]
    for _ in range(MAX_DEPTH):
        kinds = set(map(type, level))
        if finite and float in kinds and not all(math.isfinite(one) for one in level if type(one) is float):
            raise ValueError("it has a number that is NaN or infinite")
        if int in kinds and any(abs(one) >= MAX_INTEGER for one in level if type(one) is int):
            raise ValueError("it has an integer of more than 100 digits")
        if kinds.isdisjoint(CONTAINERS):
            return
        containers: list[Any] = list({id(one): one for one in level if type(one) in CONTAINERS}.values())
        level = list(chain.from_iterable(containers))  # of a mapping, its keys
        level += chain.from_iterable(one.values() for one in containers if type(one) is dict)
    raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
