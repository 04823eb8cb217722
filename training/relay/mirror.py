"""A copy of a remote session's telemetry in this machine's shared memory, which the app reads like any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...envs import PacError
from ...envs.files import parse_json
from ..telemetry.records import Phase
from ..telemetry.segment_layout import MALFORMED, MappedSegment, blocks_of, create_segment, read_description
from .frames import BadRelay, Bytes, apply_changes

MOST_BYTES = 256 << 20
"""Maximum bytes of telemetry of a remote session. 10,000 environments have about 60 MB."""
MOST_LOG = 4 << 20
MOST_RANKS = 64
"""Maximum number of processes of one training that are shown per machine."""
LOG = "session.log"


class Mirror:
    """The copy of a session's telemetry and log.

    Data from the other side only becomes numbers and text in blocks of known size. Paths in it are not used.

    Args:
        directory: The directory for the telemetry.
        folder: The folder for the log, in place of the run's folder.
    """

    def __init__(self, directory: Path, folder: Path) -> None:
        self.directory, self._folder = directory, folder
        self._mapped: MappedSegment | None = None
        self._bytes: list[Bytes] = []
        self._names: list[str] = []
        self._generation = 0

    def open(self, data: bytes) -> None:
        """Begin a new segment with the header that was sent.

        Raises:
            BadRelay: It is not a header, or the telemetry is too large.
        """
        try:
            about, num_envs = read_description(parse_json(data, finite=False))
            if sum(block.nbytes for block in blocks_of(about, num_envs)) > MOST_BYTES:
                raise ValueError(f"its blocks have more than {MOST_BYTES >> 20} MiB")
            self._generation += 1  # its own: a reconnection begins a new segment, too
            about = replace(about, folder=str(self._folder))
            mapped = create_segment(about, num_envs, self._generation, self.directory)
        except (PacError, *MALFORMED) as error:
            raise BadRelay(f"the telemetry of the other side cannot be used: {error}") from error
        before, self._mapped = self._mapped, mapped
        self._names = [*mapped.arrays]
        self._bytes = [array.reshape(-1).view("u1") for array in mapped.arrays.values()]
        if before is not None:
            before.hand_over(self._generation)

    def apply(self, data: bytes) -> None:
        """Write what has changed.

        Raises:
            BadRelay: It does not fit the header.
        """
        if self._mapped is None:
            raise BadRelay("changes came before a header")
        with self._mapped.write(*self._names):  # a change of one block belongs to those of others
            apply_changes(data, self._bytes)

    def log(self, data: bytes) -> None:
        """Append to the log, up to a limit."""
        path = self._folder / LOG
        if not path.exists() or path.stat().st_size < MOST_LOG:
            with path.open("ab") as file:
                file.write(data)

    def say(self, phase: Phase, message: str) -> None:
        """Show a message instead of the session's."""
        if self._mapped is not None:
            with self._mapped.write("state") as state:
                state["phase"], state["message"] = phase, message.encode()[:100]
                state["now"] += 1e-3


def hello_of(data: bytes, own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the versions and the session that the other side names.

    Raises:
        BadRelay: Its version differs, or the data is something else.
    """
    wrong = BadRelay("the other side is not a relay of pac-tui")
    try:
        found = dict(parse_json(data))
    except MALFORMED as error:
        raise wrong from error
    if "protocol" not in found:
        raise wrong
    if any(found.get(key) != own[key] for key in ("protocol", "telemetry")):
        raise BadRelay(
            f"pac-tui there has version {str(found.get('version'))[:40]}, and here {own['version']}: install the same "
            "version on both sides"
        )
    try:
        name, pid = str(found["run"]), int(found["pid"])
        ranks = [(int(rank), int(each)) for rank, each in found["ranks"]][:MOST_RANKS]
    except MALFORMED as error:
        raise wrong from error
    return {**found, "run": name, "pid": pid, "ranks": ranks}
