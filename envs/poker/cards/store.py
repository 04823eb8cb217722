"""Keeps arrays that took long to compute in one file, which all processes map into their memory and none can change.

The file is in the safetensors format. Its metadata tell a version, what was computed, and a checksum of every array.
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
    """What was computed cannot be written."""

    title = "The cache cannot be written"


class UnusableFile(Exception):
    """A file is damaged, older, or not ours; the text says which."""


def cache_folder() -> Path:
    """Return the folder for what can be computed again: of the user, or the one that `PAC_CACHE_DIR` names."""
    return Path(os.environ.get(FOLDER_VARIABLE) or user_cache_path("pac-tui"))


def cached_arrays(path: Path, facts: Mapping[str, str], make: Callable[[], dict[str, Array]]) -> dict[str, Array]:
    """Return the arrays of a file after verifying all of it; make and write them where there is none that fits.

    A file that does not verify is named in the log and put aside. Processes that make the same one at once each write
    their own, and the last stays.

    Args:
        path: The file.
        facts: What the arrays are, which the file must tell likewise.
        make: Computes them.

    Raises:
        NotKept: The file cannot be written.
    """
    try:
        return _verified(path, facts)
    except FileNotFoundError:
        pass
    except UnusableFile as error:
        aside = path.with_name(f"{path.name}.unfit")
        log.warning("%s is made anew, and the old one put aside as %s: %s", path, aside.name, error)
        with suppress(FileNotFoundError):  # another process was first
            path.replace(aside)
    arrays = make()
    try:
        _write(path, facts, arrays)
    except (OSError, safetensors.SafetensorError) as error:
        size = sum(array.nbytes for array in arrays.values()) >> 20
        raise CacheNotWritable(
            f"{path} of {size:,} MiB could not be written ({error}); make room there, or let {FOLDER_VARIABLE} name "
            "another folder"
        ) from error
    return _verified(path, facts)


def opened(path: Path) -> dict[str, Array]:
    """Return the arrays of a file that somebody has verified, as read-only views of its pages.

    Raises:
        FileNotFoundError: There is no file.
        Unfit: It is damaged so that it cannot be read.
    """
    return _mapped(path)[0]


def checksum_of(path: Path) -> str:
    """Return a checksum of all that a file holds, by what it tells itself.

    Raises:
        FileNotFoundError: There is no file.
        Unfit: It is damaged so that it cannot be read.
    """
    return sha256(json.dumps(_mapped(path)[1]["sha256"], sort_keys=True).encode()).hexdigest()


def _verified(path: Path, facts: Mapping[str, str]) -> dict[str, Array]:
    """Return the arrays of a file after reading all of it."""
    arrays, told = _mapped(path)
    sums = told.pop("sha256", {})
    if told != facts:
        raise UnusableFile(f"it tells {told}, and {dict(facts)} is wanted")
    for name, array in arrays.items():
        if sums.get(name) != _checksum(array):
            raise UnusableFile(f"its {name} is not what was written (another checksum)")
    return arrays


def _mapped(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays and the metadata of a file."""
    size = path.lstat().st_size
    try:
        with open_binary(path) as file:
            arrays, metadata = map_tensors(file)
        return arrays, {**metadata, "sha256": dict(parse_json(metadata["sha256"].encode()))}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UnusableFile(f"it is damaged, or no cache of pac-tui's ({size:,} bytes)") from error


def _checksum(array: Array) -> str:
    summed = sha256(f"{array.dtype} {array.shape} ".encode())
    summed.update(np.ascontiguousarray(array).data)
    return summed.hexdigest()


def _write(path: Path, facts: Mapping[str, str], arrays: Mapping[str, Array]) -> None:
    """Write beside, flush to the disk, rename into place."""
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
    """Remove what processes that are dead now had begun to write."""
    for other in path.parent.glob(f"{path.name}.*{PARTIAL}"):
        owner = other.name[len(path.name) + 1 : -len(PARTIAL)]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            other.unlink(missing_ok=True)
