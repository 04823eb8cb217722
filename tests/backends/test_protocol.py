"""The binary protocol: golden frames both ways, and a decoder that takes anything."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from pac.backends import ProtocolError
from pac.backends.core.layout import Layout
from pac.backends.servers.hosting import HostedEnvironment
from pac.backends.socket_backend.client import SocketConnections
from pac.backends.socket_backend.protocol import (
    ANY,
    ERROR,
    HEADER,
    HELLO_REQ,
    HELLO_RESP,
    LONGEST_TEXT,
    NUMBERS,
    TAIL,
    VERSION,
    Code,
    FrameKind,
    FrameSizes,
    SocketFrame,
    error_frame,
    error_of,
    frame,
    greeting,
    parse,
    spaces,
)
from pac.backends.socket_backend.responses import Responses
from pac.envs import Field, Task, find
from pac.envs.autochess.bag import player
from pac.envs.autochess.layout import GOLD, LEVEL, LIFE, RANK

IDENT = 0x01020304
VALUES = {"rank": 3, "life": 77, "gold": 300, "stage": 45, "board_size": 9, "level": 8}
VALUES |= {"kinds_active": 5, "items_held": 10, "actions_taken": 11}
SECOND = {"rank": 8, "life": 1, "gold": 50, "stage": 45, "board_size": 2, "level": 3}
SECOND |= {"kinds_active": 0, "items_held": 1, "actions_taken": 4}
TASK = find("autochess")
TWO = find("autochess:players=2")
SIZES = FrameSizes(TASK)


def golden() -> dict[str, bytes]:
    """Read the frames that were written by hand."""
    frames: dict[str, bytes] = {}
    name = ""
    for line in (Path(__file__).parent / "golden" / "frames.txt").read_text().splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            name = text.strip("[]")
            frames[name] = b""
        elif text:
            data, _, times = text.partition("x")
            frames[name] += bytes.fromhex(data) * int(times or 1)
    return frames


FRAMES = golden()


def golden_host(task: Task) -> HostedEnvironment:
    """Return an environment whose rows are as the golden frames say, every seat's those of the first."""
    host = HostedEnvironment(replace(task, factory="faulty:Still"))
    host.begun = True
    for name in ("observation", "final_observation"):
        host.rows[name][:] = [0, 1, 0.5] + [0.25] * 609
    mask = np.zeros(92, np.bool_)
    mask[[0, 91]] = True
    host.rows["action_mask"][:] = np.packbits(mask, bitorder="little")
    host.rows["reward"][:] = -1.5
    for name, value in VALUES.items():
        host.rows[name][...] = value
    return host


@pytest.fixture
def host() -> HostedEnvironment:
    """An environment of one seat whose rows are as the golden frames say."""
    return golden_host(TASK)


def sent(host: HostedEnvironment, kind: FrameKind = FrameKind.STEP_RESP, took: int = 0, *, more: bool = False) -> bytes:
    """Return the frame of a result, on request with those of a record and a board."""
    answers = Responses(host, FrameSizes(host.task))
    return b"".join(answers.results(kind, IDENT, took, record=more, board=more))


def test_the_sizes_of_the_specification():
    """A result of auto-chess has 2,557 bytes, eight have 20,456; a greeting has those of later frames."""
    eight = FrameSizes(find("autochess:players=8"))
    assert (HEADER.size, SIZES.result) == (9, 2557)
    assert eight.answers[FrameKind.STEP_MULTI_RESP] == (20456, 20456)
    found = HELLO_RESP.unpack(greeting(TASK, SIZES, 3, 5))
    assert found == (VERSION, 3, 5, 1, 2448, SIZES.record, SIZES.board, SIZES.checksum)


@pytest.mark.parametrize("spec", ["autochess:players=8", "drmario", "autochess:turn_actions=15"])
def test_the_checksum_depends_on_the_task(spec):
    """A server of another game, or of one with other rules, is refused, though its fields may be the same."""
    assert FrameSizes(find("autochess:turn_actions=11")).checksum == SIZES.checksum
    assert FrameSizes(find(spec)).checksum != SIZES.checksum


@pytest.mark.parametrize(
    ("name", "end"),
    [("STEP_RESP", ""), ("STEP_RESP at the end", "terminated"), ("STEP_RESP at a truncation", "truncated")],
)
def test_a_result(host, name, end):
    """It is encoded as the bytes written by hand, in the middle of an episode and at both kinds of ends."""
    if end:
        host.ended = True
        host.rows[end][0] = 1
    assert sent(host) == FRAMES[name]


def test_results_of_two_seats():
    """Each carries its own seat's numbers, as the bytes written by hand."""
    host = golden_host(TWO)
    for name, value in SECOND.items():
        host.rows[name][1] = value
    assert sent(host, FrameKind.STEP_MULTI_RESP) == FRAMES["STEP_MULTI_RESP of two seats"]


@pytest.mark.thorough
def test_eight_results_carry_each_seats_own_numbers():
    """Rank, life, gold and level are those of the game's state, and at the end each rank occurs once."""
    task = find("autochess:players=8")
    host, choose, words = HostedEnvironment(task, 0, 3), np.random.default_rng(3), (RANK, LIFE, GOLD, LEVEL)
    differed = [False] * len(words)
    host.reset()
    while not host.ended:
        host.step([int(choose.choice(np.flatnonzero(mask))) for mask in host.mask()])
        data = sent(host, FrameKind.STEP_MULTI_RESP)[HEADER.size :]
        ends = range(SIZES.result, len(data) + 1, SIZES.result)
        tails = [TAIL.unpack(data[end - TAIL.size : end]) for end in ends]
        for index, (at, word) in enumerate(zip((2, 3, 4, 7), words, strict=True)):
            numbers = [tail[at] for tail in tails]
            assert host.ended or numbers == [host.rows["state"][player(seat) + word] for seat in range(8)]
            differed[index] |= len(set(numbers)) > 1
    assert all(differed)
    assert sorted(tail[2] for tail in tails) == list(range(1, 9))


def test_a_number_of_the_environment_is_sent_to_every_seat():
    """A task may have a number once for all seats."""
    task = replace(TWO, info=(Field("life", "int32"),))
    host = HostedEnvironment(replace(task, factory="faulty:Still"))
    host.rows["life"][...] = 7
    data = sent(host, FrameKind.STEP_MULTI_RESP)
    first, second = data[HEADER.size : -SIZES.result][-TAIL.size :], data[-TAIL.size :]
    assert TAIL.unpack(first) == TAIL.unpack(second) == (0, 0, 0, 7, *[0] * 7)


def test_a_result_is_decoded(host):
    """What a client reads from the bytes written by hand is what they say; a RECORD carries the rest."""
    buffer = Layout(TASK, 1, 1).map()
    lines = SocketConnections(TASK, buffer)
    host.rows["episode_return"][0] = 4.5
    lines._rows[0][:] = FRAMES["STEP_RESP"] + sent(host, took=1234, more=True)[len(FRAMES["STEP_RESP"]) :]
    lines.decode(0)
    assert buffer["observation"][0, 0, :4].tolist() == [0, 1, 0.5, 0.25]
    assert np.flatnonzero(np.unpackbits(buffer["action_mask"][0, 0], bitorder="little")).tolist() == [0, 91]
    assert buffer["reward"][0, 0] == -1.5
    assert not buffer["terminated"].any()
    assert {name: buffer[name][0, 0] for name in VALUES} == VALUES
    assert buffer["episode_return"][0, 0] == 4.5
    assert lines.took[0] == 1234


@pytest.mark.parametrize(("end", "done"), [("terminated", 1), ("truncated", 2)])
def test_an_end_is_decoded(host, end, done):
    """The last observation becomes the final one; termination and truncation are different."""
    buffer = Layout(TASK, 1, 1).map()
    lines = SocketConnections(TASK, buffer)
    host.ended = True
    host.rows[end][0] = 1
    data = sent(host, more=True)
    assert data[: len(FRAMES["STEP_RESP"])][-TAIL.size + 4] == done
    lines._rows[0][:] = data
    lines.decode(0)
    lines.decode_final(0, np.array([0]))
    assert buffer[end][0, 0] == 1
    assert buffer["terminated"].sum() + buffer["truncated"].sum() == 1
    assert buffer["final_observation"][0, 0, :4].tolist() == [0, 1, 0.5, 0.25]
    assert lines.ended[0] == 1


def test_the_other_frames(host):
    """Requests and short answers are encoded as written by hand."""
    assert frame(FrameKind.RESET_REQ, 1) == FRAMES["RESET_REQ"]
    assert frame(FrameKind.STEP_REQ, IDENT, (91).to_bytes(4, "little")) == FRAMES["STEP_REQ"]
    assert Responses(host, SIZES).observation(IDENT) == FRAMES["OBSERVE_RESP"]
    assert frame(FrameKind.HEALTH_REQ, 2) == FRAMES["HEALTH_REQ"]
    assert frame(FrameKind.HEALTH_RESP, 2, b"\x01") == FRAMES["HEALTH_RESP"]
    assert frame(FrameKind.SPACES_REQ, 3) == FRAMES["SPACES_REQ"]
    assert frame(FrameKind.SPACES_RESP, 3, spaces(TASK)) == FRAMES["SPACES_RESP"]
    assert frame(FrameKind.HELLO_REQ, 0, HELLO_REQ.pack(VERSION, ANY, 5)) == FRAMES["HELLO_REQ"]
    assert frame(FrameKind.LOOK, 0, b"\x01") == FRAMES["LOOK"]
    assert error_frame(IDENT, Code.REFUSED, "no") == FRAMES["ERROR"]


def test_golden_frames_are_parsed():
    """Every frame written by hand can come, on its side; its header says how long it is."""
    for name, data in FRAMES.items():
        seats = 2 if "two seats" in name else 8
        players = FrameSizes(find(f"autochess:players={seats}")) if "MULTI" in name else SIZES
        side = players.requests if "REQ" in name or name == "LOOK" else players.answers
        found = parse(data, side)
        assert found is not None
        assert FrameKind(found.kind).name == name.split()[0]
        assert len(found.body) == len(data) - HEADER.size
        assert parse(data[:-1], side) is None


def test_an_error_frame():
    """It carries its code and text; a text that is too long is cut between characters."""
    found = parse(error_frame(1, Code.BUSY, "é" * 1000), SIZES.answers)
    assert found is not None
    error = error_of(found.body)
    assert error.code == Code.BUSY
    assert str(error) == "é" * (LONGEST_TEXT // 2)


def test_large_numbers_are_clipped(host):
    """A number beyond its type is the type's largest; a negative one is 0."""
    for name in NUMBERS:
        host.rows[name][...] = 1 << 20
    host.rows["gold"][...] = -5
    data = sent(host)
    assert TAIL.unpack(data[-TAIL.size :])[2:] == (255, 65535, 0, 65535, 255, 255, 255, 255, 255)


@given(some.binary(max_size=64))
def test_any_bytes_can_be_parsed(data):
    """Anything is a frame, the beginning of one, or a protocol error; never another exception."""
    for side in (SIZES.requests, SIZES.answers):
        with suppress(ProtocolError):
            found = parse(data, side)
            assert found is None or len(found.body) + HEADER.size <= len(data)


@given(some.sampled_from(sorted(SIZES.requests)), some.integers(0, 2**32 - 1), some.binary(max_size=40), some.binary())
def test_frames_come_back(kind, ident, body, rest):
    """A frame of the right length is parsed whatever follows it; of another length its header alone is refused."""
    least, most = SIZES.requests[kind]
    data = frame(kind, ident, body) + rest
    if least <= len(body) <= most:
        assert parse(data, SIZES.requests) == SocketFrame(kind, ident, memoryview(body))
        assert parse(data[: HEADER.size], SIZES.requests) is None or not body
    else:
        for received in (data, data[: HEADER.size]):
            with pytest.raises(ProtocolError, match="expected a body of"):
                parse(received, SIZES.requests)


@given(some.binary(min_size=2, max_size=ERROR.size + LONGEST_TEXT))
def test_any_error_text_can_be_read(body):
    """A server's text need not be UTF-8."""
    assert isinstance(str(error_of(body)), str)
