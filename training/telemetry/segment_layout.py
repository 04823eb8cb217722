"""How a telemetry segment is laid out: a control block, a JSON header, and the blocks that follow from the header."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import prod
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.system.futex import fence
from ...backends.system.segment import Segment
from ...envs import Field, PacError, Task
from ...envs.fields import Array
from ...envs.files import parse_json
from ...envs.schema import checked
from . import records
from .declared import Range, Record
from .description import Description
from .moments import moment_record, saliency_record, terms_width

MAGIC = 0x50414354
VERSION = 14
CONTROL = struct.Struct("<5I I 3Q")
CONTROL_BYTES = 64
ALIGN = 64
MAX_METRICS = 512 + 64 + 144
"""What a watched script logs, numbered names beside others, and the figures of its session."""
MAX_HISTORY = 1024
MAX_EVENTS = 256
MAX_PROCESSES = 256
MAX_SCALING, MAX_CHANGES = 64, 64
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
    record: Record | None = None

    @classmethod
    def of(cls, name: str, record: Record, *shape: int) -> TelemetryBlock:
        """Return a block of records."""
        return cls(name, record.dtype, shape, record)

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return int(np.dtype(self.dtype).itemsize) * prod(self.shape)


FIXED_BLOCKS = (
    TelemetryBlock.of("state", records.STATE),
    TelemetryBlock.of("times", records.TIMES),
    TelemetryBlock.of("system", records.SYSTEM),
    TelemetryBlock("metric_names", f"S{records.METRIC_NAME_BYTES}", (MAX_METRICS,)),
    TelemetryBlock("metric_count", "u4", ()),
    TelemetryBlock("metrics", "f8", (MAX_METRICS,)),
    TelemetryBlock("history", "f4", (3 + MAX_METRICS, MAX_HISTORY)),
    TelemetryBlock.of("policy", records.POLICY),
    TelemetryBlock.of("line", records.LINE),
    TelemetryBlock.of("processes", records.PROCESS, MAX_PROCESSES),
    TelemetryBlock.of("timeline", records.LANE, records.MAX_LANES),
    TelemetryBlock.of("spans", records.SPAN, records.MAX_SPANS),
    TelemetryBlock.of("waits", records.WAIT, records.MAX_WAITS),
    TelemetryBlock.of("slow", records.SLOW, records.MAX_SLOW),
    TelemetryBlock.of("audience", records.AUDIENCE),
    TelemetryBlock.of("events", records.EVENT, MAX_EVENTS),
    TelemetryBlock.of("episodes", records.EPISODE, records.MAX_EPISODES),
    TelemetryBlock.of("breakpoints", records.BREAKPOINT, records.MAX_BREAKPOINTS),
    TelemetryBlock.of("scaling", records.SCALING, MAX_SCALING),
    TelemetryBlock.of("findings", records.FINDING, records.MAX_FINDINGS),
    TelemetryBlock.of("changes", records.CHANGE, MAX_CHANGES),
)
"""The blocks that are the same for every task and every N."""


def blocks_of(about: Description, num_envs: int) -> list[TelemetryBlock]:
    """Return the blocks of a session with `num_envs` environments."""
    terms, moment = terms_width(about), moment_record(about, about.action, len(about.info))
    numbers = min(records.MAX_ACTION_NUMBERS, prod(about.action.shape))
    return [
        *FIXED_BLOCKS,
        TelemetryBlock.of("environments", records.ENVIRONMENT, num_envs),
        TelemetryBlock("actions", "f4", (num_envs, numbers)),
        TelemetryBlock("info", "f4", (num_envs, max(1, len(about.info)))),
        TelemetryBlock("terms", "f4", (num_envs, terms)),
        TelemetryBlock("last_terms", "f4", (num_envs, about.players, terms)),
        TelemetryBlock("last_returns", "f4", (num_envs, about.players)),
        TelemetryBlock.of("detail", moment),
        TelemetryBlock.of("moment", moment),
        TelemetryBlock.of("saliency", saliency_record(about, about.action)),
        TelemetryBlock("action_counts", "i8", (2, counted_actions(about))),
        TelemetryBlock.of("action_spreads", records.SPREAD, 2, spread_numbers(about.action)),
        TelemetryBlock.of("seen_spreads", records.SPREAD, spread_numbers(about.observation)),
        TelemetryBlock("outcomes", "u8", (1 + len(about.outcomes),)),
        *(TelemetryBlock(f"board:{item.name}", item.dtype, (num_envs, *item.stored_shape)) for item in about.boards),
        TelemetryBlock("large_of", "u4", ()),
        *([TelemetryBlock("large", about.large.dtype, about.large.shape)] if about.large else []),
    ]


def limits_by_block(about: Description) -> dict[str, dict[str, Range]]:
    """Return the limits of the fields of records, by block."""
    records = {block.name: block.record for block in blocks_of(about, 1)}
    return {name: record.limits(len(about.outcomes)) for name, record in records.items() if record is not None}


def counted_actions(about: Task | Description) -> int:
    """Return the number of actions that can be counted: 0 where an action is not one of a few."""
    action = about.action
    return about.num_actions if not action.shape and np.dtype(action.dtype).kind in "iu" else 0


def spread_numbers(item: Field) -> int:
    """Return how many numbers of a field have a histogram: those of a vector that is neither packed nor an image."""
    vector = len(item.shape) == 1 and np.dtype(item.dtype).kind == "f" and item.encoding == "raw" and not item.images
    return min(records.MAX_SPREADS, item.shape[0]) if vector else 0


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

    @contextmanager
    def write(self, *names: str) -> Iterator[Array]:
        """Yield the first of some blocks, which are written until the `with` ends; readers retry until then."""
        sequences = [self.sequences[name] for name in names]
        for sequence in sequences:
            sequence[0] += 1
        fence()
        try:
            yield self.arrays[names[0]]
        finally:
            fence()
            for sequence in sequences:
                sequence[0] += 1

    def hand_over(self, generation: int) -> None:
        """Redirect readers to the segment of `generation` and remove this one's name."""
        struct.pack_into("<Q", self.segment.map, CONTROL.size - 8, generation)
        self.segment.unlink()


def create_segment(about: Description, num_envs: int, generation: int, directory: Path) -> MappedSegment:
    """Create the segment of a generation, and return its arrays."""
    blocks = blocks_of(about, num_envs)
    header = json.dumps({"description": asdict(about), "num_envs": num_envs}).encode()
    size = CONTROL_BYTES + aligned(len(header)) + sum(aligned(ALIGN + block.nbytes) for block in blocks)
    # It is written under another name first, so that readers never find an incomplete file.
    segment = Segment.create(f".telemetry.{generation}", size, directory=directory)
    segment.map[CONTROL_BYTES : CONTROL_BYTES + len(header)] = header
    numbers = num_envs, about.observation.row_bytes, 8 * about.players
    CONTROL.pack_into(segment.map, 0, MAGIC, VERSION, *numbers, len(header), size, generation, generation)
    segment.path = segment.path.rename(segment_path(directory, generation))
    return MappedSegment(segment, blocks, CONTROL_BYTES + len(header))


def read_header(segment: Segment) -> Mapping[str, Any]:
    """Return the header of a segment as it was written: the description of its session, and N.

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
    """Return the arrays of a segment and the description of its session.

    Raises:
        OtherVersion: Another version wrote it.
        NotTelemetry: It is not a telemetry segment, or has another size than in its header.
        MALFORMED: It is damaged.
    """
    header = read_header(segment)
    about, num_envs = read_description(header)
    return MappedSegment(segment, blocks_of(about, num_envs), CONTROL_BYTES + header["bytes"]), about


def read_description(header: Mapping[str, Any]) -> tuple[Description, int]:
    """Return what a header describes, and the number of environments.

    Raises:
        MALFORMED: It describes no session.
    """
    about, num_envs = checked(header["description"], Description), index(header["num_envs"])
    fields = (about.action, about.observation, *about.boards, *([about.large] if about.large else []))
    for item in fields:
        if np.dtype(item.dtype).kind not in "biuf" or min(item.shape, default=0) < 0:
            raise ValueError(f"its field {item.name} does not consist of numbers")
    shapes = {item.name: item.shape for item in about.boards}
    for panel in about.panels:
        if any(shapes.get(name) != panel.shape for name in panel.fields):
            raise ValueError(f"it has no board {panel.field} as its panel draws it")
    if num_envs < 0 or about.players < 1 or about.num_actions < 0:
        raise ValueError("its numbers of environments, players and actions are not those of a session")
    return about, num_envs
