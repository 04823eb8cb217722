"""The telemetry of a session: one shared-memory segment, which the session writes and viewers read.

The segment has a control block, a JSON header and a sequence of blocks. Each block has a sequence number that is odd
while it is written, so a reader never returns half a record and never blocks the writer. Only a block that a dead
writer left half written is read as it is. Fences keep the changes of number and data in order on processors that would
otherwise reorder them, such as ARM's. Only one thread writes each block. A segment's `next_generation` differs from its
own generation once the session has opened another segment, for example at a restart with another N. Readers then attach
to `telemetry.<next_generation>` in the same directory.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...backends.system.futex import fence
from ...backends.system.segment import Segment, is_owned
from ...envs import PacError
from ...envs.fields import Array
from .declared import check_record
from .description import Description
from .segment_layout import (
    CONTROL,
    MALFORMED,
    NotTelemetry,
    create_segment,
    limits_by_block,
    map_segment,
    read_header,
    segment_path,
)

POLL_SECONDS = 1e-4
MAX_POLL_SECONDS = 0.02  # s that a reader waits for a writer before it checks whether the writer's process has ended
READ_TIMEOUT = 60.0  # s that it waits for a running writer, which may be without a core for seconds on a busy machine


class TornRead(PacError):
    """A block was being written at every attempt to read it."""

    title = "Session stopped while writing"


class TelemetryWriter:
    """Creates a segment and writes its blocks.

    Attributes:
        generation: Number of this segment within its session, from 1.
    """

    def __init__(self, description: Description, num_envs: int, generation: int, directory: Path) -> None:
        self.generation = generation
        self._mapped = create_segment(description, num_envs, generation, directory)
        for name in ("policy", "saliency"):
            self._mapped.arrays[name]["env"] = -1

    @property
    def segment(self) -> Segment:
        """The segment."""
        return self._mapped.segment

    def array(self, name: str) -> Array:
        """Return the block for reading by its writer."""
        return self._mapped.arrays[name]

    def write(self, name: str) -> AbstractContextManager[Array]:
        """Yield a block for writing; readers retry until the `with` ends."""
        return self._mapped.write(name)

    def put(self, name: str, values: ArrayLike) -> None:
        """Write a whole block."""
        with self.write(name) as block:
            block[...] = values

    def copy(self, other: TelemetryWriter) -> None:
        """Copy the blocks of another segment that have the same dtype and shape in this one."""
        for name, array in other._mapped.arrays.items():
            block = self._mapped.arrays.get(name)
            if block is not None and (block.dtype, block.shape) == (array.dtype, array.shape):
                block[...] = array

    def hand_over(self, generation: int) -> None:
        """Redirect readers to the segment of `generation` and remove this one's name."""
        self._mapped.hand_over(generation)

    def unlink(self) -> None:
        """Remove the segment's name; attached readers keep its memory."""
        self._mapped.segment.unlink()


class TelemetryReader:
    """Reads the telemetry of the session in `directory`.

    Attributes:
        description: The description in the header of the attached segment.
        generation: The generation of this segment.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        if not self._attach_to_newest():
            raise NotTelemetry(f"{directory} contains no telemetry: the session has ended or has not started")

    def _attach_to_newest(self, after: int = -1) -> bool:
        """Attach to the newest segment whose generation is `after` another one; return whether there is any."""
        while (found := max(map(_generation, self.directory.glob("telemetry.*")), default=-1)) > after:
            with suppress(FileNotFoundError):  # the session has just opened its next segment
                self._attach(found)
                return True
        return False

    def _attach(self, generation: int) -> None:
        path = segment_path(self.directory, generation)
        try:
            self._mapped, self.description = map_segment(Segment.attach(path))
            self._limits = limits_by_block(self.description)
        except FileNotFoundError:
            raise
        except MALFORMED as error:
            reason = str(error).partition("\n")[0]
            raise NotTelemetry(f"{path} is damaged ({type(error).__name__}: {reason}): remove it") from error
        self.generation = generation

    @property
    def header(self) -> Mapping[str, Any]:
        """The header of the attached segment, as its session wrote it."""
        return read_header(self._mapped.segment)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the segment's blocks, in order."""
        return tuple(self._mapped.arrays)

    def version(self, name: str) -> int:
        """Return a number that changes with every change of a block."""
        return int(self._mapped.sequences[name][0])

    def follow(self) -> bool:
        """Attach to the newest segment if the session has opened another one; return whether it had."""
        begun = self.generation
        if CONTROL.unpack_from(self._mapped.segment.map, 0)[-1] > begun:
            self._attach_to_newest(begun)  # the one that followed may have been replaced, too
        return self.generation != begun

    def read(self, name: str, at: Any = ...) -> Array:
        """Return a consistent copy of `block[at]`, as `copy` does.

        Raises:
            TornRead: See `copy`.
            DamagedTelemetry: A record contains what no session writes.
        """
        found = self.copy(name, at)
        check_record(name, found, self._limits.get(name, {}))
        return found

    def copy(self, name: str, at: Any = ...) -> Array:
        """Return a consistent copy of `block[at]`; a possibly inconsistent one if the writer died while writing.

        Raises:
            TornRead: The writer is running, and the block was being written for `READ_TIMEOUT`.
        """
        sequence, array = self._mapped.sequences[name], self._mapped.arrays[name]
        begun, alone = time.monotonic(), False
        while True:
            before = int(sequence[0])
            fence()
            copy = np.array(array[at])
            fence()
            if (before % 2 == 0 and int(sequence[0]) == before) or alone:
                return copy
            waited = time.monotonic() - begun
            if waited > READ_TIMEOUT:
                raise TornRead(f"the block {name!r} of {self._mapped.segment.path} stayed half written")
            # Sleeping also lets a writer in this process continue.
            time.sleep(min(MAX_POLL_SECONDS, max(POLL_SECONDS, waited)))
            alone = waited > MAX_POLL_SECONDS and not is_owned(self.directory)


def _generation(path: Path) -> int:
    """Return the generation of a segment from its name; -1 if it is something else."""
    number = path.suffix[1:]
    return int(number) if number.isdecimal() and path.name == f"telemetry.{int(number)}" and path.is_file() else -1
