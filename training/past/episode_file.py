"""Episodes as files of JSON lines: a header, the first state, a line per step, and a last line with a checksum.

A file contains boards only if a replay of the episode differs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...envs import BadParameter, Field, Names, PacError, Task, find
from ...envs.entries import Place
from ...envs.fields import Array
from ...envs.files import MIB, UnreadableFile, parse_json, read_bytes, write_whole
from ...envs.trust import Vouch, check_trusted, refuse
from ...envs.unknown import UNKNOWN
from ..limits import MAX_ENVS
from ..telemetry.moments import drawn_fields, field_named
from .episode import Episode, RecordedStep

FORMAT, VERSION = "pac-episode", 1
SUFFIX = ".jsonl"
CHECKSUM = "sha256"
MAX_BYTES = 256 * MIB
"""Bytes of a file: the recorder keeps up to 64 MiB of boards."""
MAX_LINE = 16 * MIB
HOW_TO_RECORD = "`r` and `E` in the app and --record write episodes into runs/NAME/episodes"
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, zlib.error)
"""Errors that reading a file may raise if it is not an episode."""


class BadEpisode(BadParameter):
    """A file is not an episode of this version."""

    title = "Not an episode"


def write(path: Place, episode: Episode) -> None:
    """Write an episode, whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "task": episode.task.spec,
        "task_version": episode.task.version,
        "seed": episode.seed,
        "env": episode.env,
        "episode": episode.number,
        "run": episode.run,
        "replays": episode.replays,
        "steps": episode.length,
    }
    if episode.state is not None:
        header["state"] = _as_text(episode.state)
    text = "".join(json.dumps(line) + "\n" for line in (header, *map(_as_line, episode.steps)))
    end = {"trajectory": episode.trajectory, CHECKSUM: _checksum(text.encode())}
    write_whole(path, f"{text}{json.dumps(end)}\n")


def _as_line(step: RecordedStep) -> dict[str, Any]:
    line: dict[str, Any] = {"prints": step.prints}
    if step.action is not None:
        known = {"value": step.value} if math.isfinite(step.value) else {}
        line = {"action": step.action.tolist(), "reward": step.reward, **known, **line}
    if step.boards:
        line["boards"] = {name: _as_text(board) for name, board in step.boards.items()}
    return line


def _as_text(array: Array) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(path: Place, vouch: Vouch = refuse, *, own: bool = False) -> Episode:
    """Read an episode.

    Args:
        path: The file.
        vouch: Asked whether to trust a task that may run code.
        own: Whether a session of this user has just written it. Only then is the state of a compiled game read, which
            would compute with whatever a file says.

    Raises:
        NotTrusted: `vouch` refused the task.
        BadEpisode: The file cannot be read, is not an episode, is incomplete, or was changed.
        BadParameter: Its task is not known here, or cannot be made.
    """
    try:
        data = read_bytes(path, MAX_BYTES)
    except UnreadableFile as error:
        raise BadEpisode(f"{error}; {HOW_TO_RECORD}") from error
    try:
        episode, end = _parsed(path, data, vouch, own=own)
    except PacError:  # it says what is wrong: another version, or a task that is not trusted, known or installed
        raise
    except MALFORMED as error:
        raise BadEpisode(f"{path} is not an episode that pac-tui recorded; {HOW_TO_RECORD}") from error
    if end != episode.trajectory:
        raise BadEpisode(f"{path} was cut short or changed: its trajectory differs from the one in its last line")
    return episode


def _parsed(path: Place, data: bytes, vouch: Vouch, *, own: bool) -> tuple[Episode, Any]:
    first, *lines, last = data.splitlines()
    header, end = _line(first), _line(last)
    if (header["format"], header["version"]) != (FORMAT, VERSION):
        raise BadEpisode(f"{path} is {header['format']} {header['version']}, {FORMAT} {VERSION} was expected")
    whole = data[: data.rstrip().rfind(b"\n") + 1]
    if len(lines) != header["steps"] + 1 or end.get(CHECKSUM, _checksum(whole)) != _checksum(whole):
        raise BadEpisode(f"{path} was cut short or changed: its checksum or length is wrong")
    check_trusted("task", header["task"], Names.TASK, str(path), vouch)
    task = find(header["task"])
    if (recorded := header.get("task_version", 1)) != task.version:
        raise BadEpisode(
            f"{path} was recorded with version {recorded} of {task.name}, and this is version {task.version}: its "
            "observations or actions meant something else; replay it with the pac-tui that recorded it"
        )
    if lines[1:] and (seats := len(_line(lines[1])["action"])) != task.players:
        raise BadEpisode(
            f"{path} was recorded with {seats} seats, and {task.spec} has {task.players}: replay it with the pac-tui "
            "that recorded it"
        )
    known = task.saves or own
    episode = Episode(
        task=task,
        seed=_number(header["seed"], 2**64),
        env=_number(header["env"], MAX_ENVS),
        number=_number(header["episode"], 2**62),
        run=str(header["run"]),
        replays=bool(header["replays"]),
        steps=tuple(_step(task, _line(line), begun=index > 0) for index, line in enumerate(lines)),
        state=_from_text(header["state"], task.state) if task.state and known and "state" in header else None,
    )
    return episode, end["trajectory"]


def _line(text: bytes) -> dict[str, Any]:
    if len(text) > MAX_LINE:
        raise ValueError(f"a line has more than {MAX_LINE:,} bytes")
    line = parse_json(text, finite=False)
    if not isinstance(line, dict):
        raise TypeError("a line is not a JSON object")
    return line


def _number(value: Any, limit: int) -> int:
    """Return a whole number from 0 to below a limit, such as that of the environments, which need memory."""
    if not isinstance(value, int) or not 0 <= value < limit:
        raise ValueError(f"a whole number from 0 to {limit - 1:,} was expected, got {value}")
    return value


def _step(task: Task, line: Mapping[str, Any], *, begun: bool) -> RecordedStep:
    """Return a step; of the first state, before the episode has `begun`, only the fingerprints and boards."""
    action, reward, value = None, 0.0, UNKNOWN
    if begun:
        item = field_named(task, "action")
        action = np.array(line["action"], item.dtype).reshape(task.players, *item.shape)
        reward, value = float(line["reward"]), float(line.get("value", UNKNOWN))
    boards = {}
    for item in drawn_fields(task):
        if item.name in line.get("boards", {}):
            boards[item.name] = _from_text(line["boards"][item.name], item)
    return RecordedStep(action, reward, {name: str(text) for name, text in line["prints"].items()}, boards, value)


def _from_text(text: str, item: Field) -> Array:
    """Decompress one row of a field, and at most that."""
    data = zlib.decompressobj().decompress(base64.b64decode(text), item.row_bytes)
    return np.frombuffer(data, item.dtype).reshape(item.stored_shape)
