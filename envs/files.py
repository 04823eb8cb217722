"""Opens and reads files that another program or another person may have written.

Only regular files are opened, because a FIFO or a device could block the process. The size of what is read is limited.
Whatever a file contains, the result is data or an `UnreadableFile`. Nothing is unpickled.
"""

from __future__ import annotations

import errno
import json
import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from io import BufferedReader
from itertools import chain, count
from pathlib import Path
from typing import Any

from .entries import FolderEntry, Place, entry_at, entry_of, open_regular
from .errors import PacError

KIB, MIB = 2**10, 2**20
MAX_DEPTH = 64
"""Limit of the nesting of lists and objects."""
MAX_INTEGER = 10**100
"""Limit of integers; the state of a random generator has up to 39 digits."""
CONTAINERS = frozenset({dict, list, tuple, set})
YAML_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What PyYAML raises besides its own errors, for bad dates, unknown truth values and too long integers."""


class UnreadableFile(PacError):
    """A file cannot be read, or does not contain what it should.

    Attributes:
        reason: What is wrong, as part of a sentence.
        missing: Whether the file does not exist.
    """

    title = "Unreadable file"

    def __init__(self, path: Place, reason: str, *, missing: bool = False) -> None:
        super().__init__(f"{path} cannot be read: {reason}")
        self.path, self.reason, self.missing = Path(str(path)), reason, missing


def open_binary(path: Place, *, pipes: bool = False) -> BufferedReader:
    """Open a regular file to read its bytes.

    Args:
        path: The file; a link is followed if this is a path.
        pipes: Whether a pipe is read too, and waited for, as in `--config <(make-config)`.

    Raises:
        OSError: See `open_regular`.
    """
    if isinstance(path, FolderEntry):
        return os.fdopen(path.open(), "rb")
    if pipes and path.is_fifo():
        return path.open("rb")
    return os.fdopen(open_regular(path), "rb")


def append_line(path: Place, line: bytes) -> None:
    """Append a line to a regular file, which is created if it does not exist; a link is not followed.

    A line before it that was cut short, by a crash or a full disk, is ended first.

    Raises:
        OSError: The file cannot be written, or is not a regular file.
    """
    descriptor = entry_at(path).open(os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = b"\n" * cut + line + b"\n"
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(descriptor)


def write_new(path: Place, pieces: Iterable[bytes | memoryview], mode: int | None = None) -> None:
    """Write a file that must not exist and flush it to the disk. If that fails, there is no file.

    Args:
        path: The file.
        pieces: Its content, in pieces.
        mode: Its permissions; None for the usual ones.

    Raises:
        OSError: The file exists, or cannot be written.
    """
    entry = entry_at(path)
    with os.fdopen(entry.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        try:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            entry.unlink()
            raise


def write_whole(path: Place, content: str | bytes, mode: int | None = None) -> None:
    """Write a file atomically: into a new temporary file beside it, which then replaces it.

    Args:
        path: The file.
        mode: Its permissions; None for the usual ones.

    Raises:
        OSError: The file cannot be written; an older one is unchanged.
    """
    entry = entry_at(path)
    beside = entry.beside(f".{entry.name}")
    beside.unlink()
    write_new(beside, [content.encode() if isinstance(content, str) else content], mode)
    try:
        beside.rename(entry.name)
    except OSError:
        beside.unlink()
        raise


def create_next(folder: Place, name: str, suffix: str, data: bytes) -> Path:
    """Write a new file `NAME-1.SUFFIX`, or with the first number that is free; return its path.

    Raises:
        OSError: The file cannot be written.
    """
    for number in count(1):
        entry = entry_of(folder) / f"{name}-{number}{suffix}"
        try:
            write_new(entry, [data])
        except FileExistsError:
            continue
        return entry.path
    raise AssertionError


def sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk.

    Raises:
        OSError: The system reports an error.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bytes(path: Place, limit: int, *, pipes: bool = False) -> bytes:
    """Return the bytes of a file, at most `limit`.

    Raises:
        UnreadableFile: The file cannot be read, is not a regular file, or is larger.
    """
    try:
        with open_binary(path, pipes=pipes) as file:
            data = file.read(limit + 1)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        raise UnreadableFile(path, error.strerror or str(error), missing=missing) from error
    if len(data) > limit:
        raise UnreadableFile(path, f"it is larger than {limit:,} bytes, the limit for such a file")
    return data


def read_text(path: Place, limit: int, *, pipes: bool = False) -> str:
    """Return the text of a file in UTF-8, at most `limit` bytes.

    Raises:
        UnreadableFile: See `read_bytes`; or the file is not UTF-8.
    """
    try:
        return read_bytes(path, limit, pipes=pipes).decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(path, f"it is not text in UTF-8 (byte {error.start:,})") from error


def read_json(path: Place, limit: int, *, finite: bool = True) -> Any:
    """Return the content of a JSON file of at most `limit` bytes.

    Raises:
        UnreadableFile: See `read_bytes` and `parse_json`.
    """
    data = read_bytes(path, limit)
    try:
        return parse_json(data, finite=finite)
    except ValueError as error:
        raise UnreadableFile(path, str(error)) from error


def parse_json(data: bytes, *, finite: bool = True) -> Any:
    """Return the value of a JSON text.

    Args:
        data: JSON in UTF-8.
        finite: Whether NaN and infinite numbers are refused.

    Raises:
        ValueError: The text is not JSON, is nested too deeply, or has too large a number; the message says which.
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
    """Return the content of a YAML file of at most `limit` bytes; None if it is empty.

    Raises:
        UnreadableFile: See `read_text`; or the file is not valid YAML.
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
    """Return the content of a TOML file of at most `limit` bytes.

    Raises:
        UnreadableFile: See `read_text`; or the file is not valid TOML.
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
    """Raise ValueError if data is nested too deeply or has too large numbers.

    Each container is visited once per level, because YAML aliases can repeat one a billion times.
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
