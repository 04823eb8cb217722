"""The client of the HTTP protocol, and server processes with it: one request with JSON per environment and step.

It sends the requests of all environments, then decodes the answers one by one. It is a baseline.
"""

from __future__ import annotations

import http.client
import json
import math
import secrets
import select
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from ...envs import BadParameter, Field, Task
from ...envs.errors import brief
from ...envs.fields import Array
from ...envs.files import MIB, parse_json
from ...envs.packed import pack_pixels
from ...envs.task import LAST, LAST_DRAWN, LOOKED_AT
from ...envs.unknown import UNKNOWN
from ..core.errors import BackendBroken
from ..core.layout import Buffer
from ..servers.exchange import Connections
from ..servers.served import ServedBackend
from ..workers.control import NUMBER
from ..workers.fleet import Member
from ..workers.supervised import LOOK

HOME = "127.0.0.1"
OK, BUSY = 200, 500
"""Statuses of answers; from `BUSY` on the server failed."""
SEAT_NUMBERS = {"reward": float, "terminated": int, "truncated": int, "active": int, "episode_return": float}
LONGEST_NUMBER = 32
"""The largest number of JSON characters per byte in the buffer."""


class HttpConnections(Connections):
    """One connection per environment of a buffer, kept open, with one request at a time.

    Args:
        buffer: Where answers are decoded to.
        token: The token of the servers.
    """

    def __init__(self, task: Task, buffer: Buffer, token: str) -> None:
        super().__init__(task, buffer)
        num_envs = self._count
        slot_bytes = sum(buffer[item.name][0].nbytes for item in task.fields)
        self._limit = MIB + LONGEST_NUMBER * slot_bytes // num_envs
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._polls = [select.poll() for _ in range(num_envs)]
        self._answers: list[Mapping[str, Any]] = [{}] * num_envs
        self._first: dict[int, dict[str, int]] = {}
        self._looked = bytes(num_envs)
        self._path, self._key = ("/step", "action") if task.players == 1 else ("/step-multi", "actions")
        self._outcomes = [None, *(outcome.name for outcome in task.outcomes)].index
        self._fields = {item.name: item for item in task.fields}

    def connect(self, env: int, port: int, seed: int, timeout: float) -> None:
        """Connect an environment to the server on `port`, which continues after its last episode.

        Raises:
            OSError: There is no such server, or it closed the connection.
        """
        self.drop(env)
        connection = http.client.HTTPConnection(HOME, port, timeout=timeout)
        connection.connect()
        self._wires[env] = connection
        self._polls[env] = select.poll()
        self._polls[env].register(connection.sock, select.POLLIN)
        self._first[env] = {"seed": seed, "episode": int(self._buffer["episode"][0, env]) + 1}

    def greet(self, env: int, seed: int, timeout: float) -> None:  # noqa: ARG002
        """Make an environment again with another seed at its next reset."""
        self._first[env] = {"seed": seed}

    def send_reset(self, envs: list[int]) -> None:
        for env in envs:
            self._ask(env, "/reset", self._first.pop(env, {}))

    def send_step(self, envs: list[int], slot: int) -> None:
        players, actions = self._task.players, self._buffer["action"][slot].tolist()
        for env in envs:
            mine = actions[env] if players == 1 else actions[env * players : (env + 1) * players]
            self._ask(env, self._path, {self._key: mine})

    def send_board_requests(self) -> None:
        if LOOKED_AT in self._buffer:
            self._looked = self._buffer.boards_requested()

    def receive(self, env: int) -> bool:
        if not self._polls[env].poll(1000 * LOOK):
            return False
        try:
            response = self._wire(env).getresponse()
            data = response.read(self._limit + 1)
        except http.client.HTTPException as error:
            raise ConnectionResetError(str(error)) from error
        if response.status >= BUSY:
            raise ConnectionResetError
        answer = self._parsed(env, data)
        if response.status != OK:
            raise BadParameter(str(answer.get("error", f"it answered with status {response.status}")))
        self._answers[env] = answer
        return True

    def answered(self, env: int) -> bool:
        return self.connected(env) and bool(self._polls[env].poll(0))

    def decode(self, slot: int, envs: NDArray[np.intp] | None = None) -> None:
        for env in range(self._count) if envs is None else envs.tolist():
            with self._decoding(env):
                self._decode(env, slot)

    def decode_final(self, slot: int, envs: NDArray[np.intp]) -> None:
        for env in envs.tolist():
            with self._decoding(env):
                self._decode_last(env, slot)

    def decode_first(self, slot: int, envs: NDArray[np.intp]) -> None:
        for env in envs.tolist():
            with self._decoding(env):
                self._see(env, slot)
                for name, text in self._boards(env).items():
                    self._write_field(name, env, text)

    def _parsed(self, env: int, data: bytes) -> dict[str, Any]:
        """Return the JSON object that an environment's server sent."""
        with self._decoding(env):
            if len(data) > self._limit:
                raise ValueError(f"it is larger than {self._limit:,} bytes")
            answer = parse_json(data)
            if not isinstance(answer, dict):
                raise TypeError(f"it is not a JSON object but {brief(answer)}")
            return answer

    @contextmanager
    def _decoding(self, env: int) -> Iterator[None]:
        """Report a malformed answer: something is missing, or has another type, length or size.

        Raises:
            BackendBroken: The answer is malformed.
        """
        try:
            yield
        except KeyError as error:
            raise _malformed(env, f"it lacks {error}") from error
        except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise _malformed(env, str(error)) from error

    def _ask(self, env: int, path: str, body: Mapping[str, Any]) -> None:
        """Send a request; if the server is gone, `receive` will notice."""
        asked = {**body, "env": env, "fields": True, "look": bool(self._looked[env])}
        with suppress(OSError):
            self._wire(env).request("POST", path, json.dumps(asked), self._headers)

    def _seats(self, env: int) -> Iterable[tuple[int, Mapping[str, Any]]]:
        answer, players = self._answers[env], self._task.players
        seats = [answer] if players == 1 else answer["results"]
        if len(seats) != players:
            raise ValueError(f"expected {players} results, got {len(seats)}")
        return enumerate(seats, env * players)

    def _see(self, env: int, slot: int) -> None:
        for row, answer in self._seats(env):
            self._write("observation", slot, row, answer["observation"])
            if self._task.masked:
                self._write("action_mask", slot, row, answer["action_mask"])

    def _decode(self, env: int, slot: int) -> None:
        answer, buffer = self._answers[env], self._buffer
        self._see(env, slot)
        for row, seat in self._seats(env):
            for name, kind in SEAT_NUMBERS.items():
                buffer[name][slot, row] = kind(seat[name])
            if self._task.reward_terms:
                self._write("reward_terms", slot, row, list(seat["reward_terms"].values()))
        for item in self._task.info:
            self._write_info(item, slot, env, answer["info"][item.name])
        for name in ("frames", "episode_length"):
            buffer[name][slot, env] = int(answer[name])
        buffer["outcome"][slot, env] = self._outcomes(answer["outcome"])
        for name, text in answer["fields"].items():
            self._write_field(name, env, text)
        if LOOKED_AT in buffer and self._boards(env):
            buffer[LOOKED_AT][0, env] = 0
        self.ended[env], self.took[env] = bool(answer["ended"]), int(answer["nanoseconds"])

    def _decode_last(self, env: int, slot: int) -> None:
        for row, answer in self._seats(env):
            self._write("final_observation", slot, row, answer["observation"])
        last_drawn = self._buffer[LAST_DRAWN][0] if LAST_DRAWN in self._buffer else None
        if last_drawn is not None and last_drawn[env] and (boards := self._boards(env)):
            for name, text in boards.items():
                self._write_field(LAST + name, env, text)
            last_drawn[env] = self._buffer["episode"][0, env]

    def _boards(self, env: int) -> dict[str, str]:
        fields = self._answers[env]["fields"]
        return {item.name: fields[item.name] for item in self._task.boards if item.name in fields}

    def _write_field(self, name: str, env: int, text: str) -> None:
        item = self._fields.get(name)
        if item is None or item.timed:
            raise ValueError(f"{name!r:.80} is not an untimed field")
        row = self._buffer[name][0, env]
        self._buffer[name][0, env] = np.frombuffer(b64decode(text), row.dtype).reshape(row.shape)

    def _write(self, name: str, slot: int, row: int, values: list[Any]) -> None:
        """Write a field of a seat as the buffer stores it."""
        item, into = self._fields[name], self._buffer[name]
        if item.encoding == "bits":
            into[slot, row] = np.packbits(_numbers(name, values, np.uint8, item.shape).ravel(), bitorder="little")
        elif item.encoding == "2bpp":
            into[slot, row] = pack_pixels(_numbers(name, values, np.uint8, item.shape))
        else:
            into[slot, row] = _numbers(name, values, into.dtype, item.shape)

    def _write_info(self, item: Field, slot: int, env: int, values: Any) -> None:
        into = self._buffer.rows_of(item.name, slot, env, env + 1)
        given = values if isinstance(values, list) else [values]
        known = [UNKNOWN if value is None else value for value in given]
        into[...] = _numbers(item.name, known, into.dtype, into.shape)


def _numbers(name: str, values: Any, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Array:
    """Return the numbers of a field in an answer.

    Raises:
        ValueError: They are not as many numbers as the field has.
    """
    try:
        found: Array = np.array(values, dtype).reshape(shape)
    except (ValueError, TypeError, OverflowError):
        found = np.array(math.nan)
    if found.shape != shape or (isinstance(values, list) and None in values):  # None would be NaN
        raise ValueError(f"{name} must be {math.prod(shape):,} numbers of type {np.dtype(dtype)}, got {brief(values)}")
    return found


def _malformed(env: int, reason: str) -> BackendBroken:
    return BackendBroken(f"the server of environment {env + 1} sent a malformed answer: {reason}")


class HttpBackend(ServedBackend):
    """Servers on ports of 127.0.0.1, with a token."""

    name: ClassVar[str] = "http"
    _connections: HttpConnections

    def _open(self) -> None:
        token = secrets.token_urlsafe(24)
        connections = HttpConnections(self.task, self.buffer, token)
        self._open_connections("pac.backends.http_backend.server:work", connections, token=token)

    def _connect(self, member: Member) -> None:
        port = member.block.quads[NUMBER]
        for env in range(*member.span):
            self._connections.connect(env, port, member.arguments["seed"], self.timeout)
