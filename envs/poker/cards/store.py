"""Caches arrays that take long to compute in a file, which all processes map read-only.

The file has the safetensors format. Its metadata have a version, the facts about the arrays, and their checksums.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import safetensors
import safetensors.numpy
from platformdirs import user_cache_path

from ...errors import PacError
from ...fields import Array
from ...files import open_binary, parse_json, sync
from ...safetensors_file import map_tensors

log = logging.getLogger(__name__)

FOLDER_VARIABLE = "PAC_CACHE_DIR"
PARTIAL = ".partial"


class CacheNotWritable(PacError):
    """The computed arrays cannot be written."""

    title = "The cache cannot be written"


class UnusableFile(Exception):
    """A file is damaged, has another version, or was written by another program; the text says which."""


def cache_folder() -> Path:
    """Return the cache folder: `PAC_CACHE_DIR`, or the user's default."""
    return Path(os.environ.get(FOLDER_VARIABLE) or user_cache_path("pac-tui"))


def cached_arrays(path: Path, facts: Mapping[str, str], make: Callable[[], dict[str, Array]]) -> dict[str, Array]:
    """Return the arrays of a file after verifying it; if there is no valid file, compute and write them.

    An invalid file is logged and renamed. Processes that compute the same arrays at once each write the file.

    Args:
        path: The file.
        facts: Facts about the arrays, which the file's metadata must match.
        make: Computes the arrays.

    Raises:
        CacheNotWritable: The file cannot be written.
    """
    try:
        return _verified(path, facts)
    except FileNotFoundError:
        pass
    except UnusableFile as error:
        aside = path.with_name(f"{path.name}.unfit")
        log.warning("rebuilding %s; the old file is now %s: %s", path, aside.name, error)
        with suppress(FileNotFoundError):  # another process was first
            path.replace(aside)
    arrays = make()
    try:
        _write(path, facts, arrays)
    except (OSError, safetensors.SafetensorError) as error:
        size = sum(array.nbytes for array in arrays.values()) >> 20
        raise CacheNotWritable(
            f"{path} of {size:,} MiB could not be written ({error}); free space there, or set {FOLDER_VARIABLE} to "
            "another folder"
        ) from error
    return _verified(path, facts)


def opened(path: Path) -> dict[str, Array]:
    """Return the arrays of a verified file, as read-only views of the mapped file.

    Raises:
        FileNotFoundError: There is no file.
        UnusableFile: The file is damaged and cannot be read.
    """
    return _mapped(path)[0]


def checksum_of(path: Path) -> str:
    """Return a checksum of a file's content, from the checksums in its metadata.

    Raises:
        FileNotFoundError: There is no file.
        UnusableFile: The file is damaged and cannot be read.
    """
    return sha256(json.dumps(_mapped(path)[1]["sha256"], sort_keys=True).encode()).hexdigest()


def _verified(path: Path, facts: Mapping[str, str]) -> dict[str, Array]:
    arrays, found = _mapped(path)
    sums = found.pop("sha256", {})
    if found != facts:
        raise UnusableFile(f"it has {found}, expected {dict(facts)}")
    for name, array in arrays.items():
        if sums.get(name) != _checksum(array):
            raise UnusableFile(f"its {name} does not match its checksum")
    return arrays


def _mapped(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    size = path.lstat().st_size
    try:
        with open_binary(path) as file:
            arrays, metadata = map_tensors(file)
        return arrays, {**metadata, "sha256": dict(parse_json(metadata["sha256"].encode()))}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UnusableFile(f"it is damaged, or not a cache of pac-tui ({size:,} bytes)") from error


def _checksum(array: Array) -> str:
    summed = sha256(f"{array.dtype} {array.shape} ".encode())
    summed.update(np.ascontiguousarray(array).data)
    return summed.hexdigest()


def _write(path: Path, facts: Mapping[str, str], arrays: Mapping[str, Array]) -> None:
    """Write a temporary file, flush it to the disk, and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_over(path)
    beside = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    sums = {name: _checksum(array) for name, array in arrays.items()}
    try:
        safetensors.numpy.save_file(dict(arrays), beside, {**facts, "sha256": json.dumps(sums)})
        sync(beside)
        beside.replace(path)
        sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def _remove_left_over(path: Path) -> None:
    for other in path.parent.glob(f"{path.name}.*{PARTIAL}"):
        owner = other.name[len(path.name) + 1 : -len(PARTIAL)]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            other.unlink(missing_ok=True)
