"""How a telemetry segment is laid out: a control block, a JSON header, and the blocks that it lists."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from ...backends.system.segment import Segment
from ...envs import PacError, Task
from ...envs.fields import Array
from ...envs.files import parse_json
from . import records
from .description import Description, rebuilt
from .moments import RECENT_STEPS, counted_actions, moment_dtype, terms_width

MAGIC = 0x50414354
VERSION = 8
CONTROL = struct.Struct("<5I I 3Q")
CONTROL_BYTES = 64
ALIGN = 64
MAX_METRICS = 512 + 64 + 144
"""What a watched script logs, numbered names beside others, and the figures of its session."""
MAX_HISTORY = 1024
MAX_EVENTS = 256
MAX_PROCESSES = 256
MAX_SCALING = 64
MALFORMED = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError, struct.error)
"""The errors that reading a damaged segment may raise."""


class NotTelemetry(PacError):
    """A file is not a telemetry segment of this version."""

    title = "Not a session"


class OtherVersion(NotTelemetry):
    """A file is a telemetry segment of another version."""

    title = "Another version"


@dataclass(frozen=True)
class TelemetryBlock:
    """One array of the segment."""

    name: str
    dtype: Any
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))


FIXED_BLOCKS = tuple(
    TelemetryBlock(name, np.dtype(dtype), shape)
    for name, dtype, shape in (
        ("state", records.STATE, ()),
        ("times", records.TIMES, ()),
        ("system", records.SYSTEM, ()),
        ("metric_names", f"S{records.METRIC_NAME_BYTES}", (MAX_METRICS,)),
        ("metric_count", "u4", ()),
        ("metrics", "f8", (MAX_METRICS,)),
        ("history", "f4", (3 + MAX_METRICS, MAX_HISTORY)),
        ("policy", records.POLICY, ()),
        ("line", RECENT_STEPS, ()),
        ("processes", records.PROCESS, (MAX_PROCESSES,)),
        ("timeline", records.LANE, (records.MAX_LANES,)),
        ("audience", records.AUDIENCE, ()),
        ("events", records.EVENT, (MAX_EVENTS,)),
        ("episodes", records.EPISODE, (records.MAX_EPISODES,)),
        ("breakpoints", records.BREAKPOINT, (records.MAX_BREAKPOINTS,)),
        ("scaling", records.SCALING, (MAX_SCALING,)),
    )
)
"""The blocks that are the same for every task and every N."""
TASK_BLOCKS = frozenset(
    (
        *("environments", "actions", "info", "terms", "last_terms", "last_returns"),
        *("detail", "moment", "action_counts", "outcomes"),
    )
)
"""The other blocks that every session has."""


def blocks_of(task: Task, num_envs: int) -> list[TelemetryBlock]:
    """Return the blocks of a session on `task` with `num_envs` environments."""
    boards = [TelemetryBlock(f"board:{item.name}", item.dtype, (num_envs, *item.stored_shape)) for item in task.boards]
    terms = terms_width(task)
    return [
        *FIXED_BLOCKS,
        TelemetryBlock("environments", records.ENVIRONMENT, (num_envs,)),
        TelemetryBlock("actions", "f4", (num_envs, min(records.MAX_ACTION_NUMBERS, prod(task.action.shape)))),
        TelemetryBlock("info", "f4", (num_envs, max(1, len(task.info)))),
        TelemetryBlock("terms", "f4", (num_envs, terms)),
        TelemetryBlock("last_terms", "f4", (num_envs, task.players, terms)),
        TelemetryBlock("last_returns", "f4", (num_envs, task.players)),
        TelemetryBlock("detail", moment_dtype(task), ()),
        TelemetryBlock("moment", moment_dtype(task), ()),
        TelemetryBlock("action_counts", "i8", (2, counted_actions(task))),
        TelemetryBlock("outcomes", "u8", (1 + len(task.outcomes),)),
        *boards,
    ]


def segment_path(directory: Path, generation: int) -> Path:
    """Return the path of a generation's segment."""
    return directory / f"telemetry.{generation}"


def aligned(offset: int) -> int:
    """Return the next multiple of `ALIGN`."""
    return -(-offset // ALIGN) * ALIGN


class MappedSegment:
    """A mapped segment: its arrays and their sequence numbers, by the names of the blocks."""

    def __init__(self, segment: Segment, blocks: list[TelemetryBlock], first: int) -> None:
        self.segment = segment
        self.arrays: dict[str, Array] = {}
        self.sequences: dict[str, Array] = {}
        offset = first
        for block in blocks:
            offset = aligned(offset)
            self.sequences[block.name] = np.frombuffer(segment.map, "u8", 1, offset)
            data = np.frombuffer(segment.map, "u1", block.nbytes, offset + ALIGN)
            self.arrays[block.name] = data.view(np.dtype(block.dtype)).reshape(block.shape)
            offset += ALIGN + block.nbytes

    def hand_over(self, generation: int) -> None:
        """Redirect readers to the segment of `generation` and remove this one's name."""
        struct.pack_into("<Q", self.segment.map, CONTROL.size - 8, generation)
        self.segment.unlink()


def create_segment(
    task: Task, description: Description, num_envs: int, generation: int, directory: Path
) -> MappedSegment:
    """Create the segment of a generation, and return its arrays."""
    blocks = blocks_of(task, num_envs)
    specs = [(block.name, dtype_to_descr(np.dtype(block.dtype)), block.shape) for block in blocks]
    header = {
        "description": asdict(description),
        "blocks": specs,
        "numbers": (num_envs, task.observation.row_bytes, 8 * task.players),
    }
    segment, header_bytes = write_segment(header, blocks, generation, directory)
    return MappedSegment(segment, blocks, CONTROL_BYTES + header_bytes)


def write_segment(
    contents: Mapping[str, Any], blocks: list[TelemetryBlock], generation: int, directory: Path
) -> tuple[Segment, int]:
    """Create a segment with a header and zeroed blocks; return it and the bytes of the header."""
    header = json.dumps(contents).encode()
    size = CONTROL_BYTES + aligned(len(header)) + sum(aligned(ALIGN + block.nbytes) for block in blocks)
    # It is written under another name first, so that readers never find an incomplete file.
    segment = Segment.create(f".telemetry.{generation}", size, directory=directory)
    segment.map[CONTROL_BYTES : CONTROL_BYTES + len(header)] = header
    control = (MAGIC, VERSION, *contents["numbers"], len(header), size, generation, generation)
    CONTROL.pack_into(segment.map, 0, *control)
    segment.path = segment.path.rename(segment_path(directory, generation))
    return segment, len(header)


def listed_blocks(header: Mapping[str, Any]) -> list[TelemetryBlock]:
    """Return the blocks that a header lists."""
    return [TelemetryBlock(name, descr_to_dtype(spec), tuple(shape)) for name, spec, shape in header["blocks"]]


def read_header(segment: Segment) -> Mapping[str, Any]:
    """Return the header of a segment as it was written: its blocks and the description of its session.

    Raises:
        OtherVersion: Another version wrote it.
        NotTelemetry: It is not a telemetry segment, or has another size than in its header.
        MALFORMED: It is damaged.
    """
    magic, version, *_, header_bytes, size, _, _ = CONTROL.unpack_from(segment.map, 0)
    if magic == MAGIC and version != VERSION:
        raise OtherVersion(
            f"{segment.path} is telemetry of version {version}, and this pac-tui reads version {VERSION}: use the "
            "version of pac-tui that wrote it"
        )
    if magic != MAGIC or size != len(segment.map):
        raise NotTelemetry(
            f"{segment.path} is not telemetry (magic {magic:#x}, {size} bytes in its header, {len(segment.map)} on "
            "disk): remove it"
        )
    header = parse_json(segment.map[CONTROL_BYTES : CONTROL_BYTES + header_bytes], finite=False)
    return {**header, "bytes": header_bytes}


def map_segment(segment: Segment) -> tuple[MappedSegment, Description]:
    """Return the arrays of a segment, after checking that it contains all blocks that readers use.

    Raises:
        OtherVersion: Another version wrote it.
        NotTelemetry: It is not a telemetry segment, or has another size than in its header.
        MALFORMED: It is damaged.
    """
    header = read_header(segment)
    blocks = listed_blocks(header)
    description = rebuilt(header["description"])
    if not set(FIXED_BLOCKS) <= set(blocks):
        raise ValueError("its blocks are not those of this version")
    boards = {f"board:{name}" for panel in description.panels for name in panel.fields}
    if missing := (TASK_BLOCKS | boards) - {block.name for block in blocks}:
        raise ValueError(f"it has no block {min(missing)}")
    return MappedSegment(segment, blocks, CONTROL_BYTES + header["bytes"]), description
