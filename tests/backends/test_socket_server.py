"""The server behind a Unix socket: what it answers, what it refuses, and that nothing stops it."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from pac.backends import BackendUnavailable
from pac.backends.servers.hosting import HostedEnvironment
from pac.backends.socket_backend.loop import SPARE, SocketServer
from pac.backends.socket_backend.protocol import (
    ANY,
    HEADER,
    HELLO_REQ,
    HELLO_RESP,
    VERSION,
    Code,
    FrameKind,
    FrameSizes,
    frame,
)
from pac.backends.socket_backend.server import listen

from ..waiting import LIMIT, until
from .peer import ENVS, TASK, Peer, Running

pytestmark = pytest.mark.session

SIZES = FrameSizes(TASK)
LEFT = b"\x00\x00\x00\x00"


def plays(path: Path) -> None:
    """Make sure that a good client is served."""
    with Peer(path) as good:
        assert good.ask(FrameKind.RESET_REQ).kind == FrameKind.RESET_RESP
        assert good.ask(FrameKind.STEP_REQ, LEFT).kind == FrameKind.STEP_RESP


@pytest.fixture(scope="module")
def server(runtime_directory) -> Iterator[Path]:
    running = Running(TASK.spec, runtime_directory / "server")
    yield running.path
    assert running.end() == 0
    assert not running.path.exists()


def test_health_and_spaces_take_no_environment(server):
    """They are answered on any number of connections, before and beside those that play."""
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(server)) for _ in range(ENVS + 2)]
        for peer in peers:
            assert bytes(peer.ask(FrameKind.HEALTH_REQ).body) == b"\x01"
            assert np.frombuffer(peer.ask(FrameKind.SPACES_REQ).body, "<i4").tolist() == [4, 2]
        plays(server)


def test_a_connection_gets_a_free_environment(server):
    """Three connections get different environments, the fourth an error; a closed connection frees one."""
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(server)) for _ in range(ENVS)]
        first = [bytes(peer.ask(FrameKind.RESET_REQ).body) for peer in peers]
        assert len(set(first)) == ENVS
        with Peer(server) as other:
            assert other.refusal(frame(FrameKind.RESET_REQ, 1)) == Code.BUSY
        peers[1].wire.close()

        def free() -> bool:
            with Peer(server) as other:
                return other.ask(FrameKind.RESET_REQ).body == first[1]

        until(free)


def test_hello_picks_the_environment_and_the_seed(server):
    """Its episodes are those of that environment of a run with that seed, and a RECORD follows every result."""
    host = HostedEnvironment(TASK, 2, 99)
    host.reset()
    with Peer(server) as peer:
        greeting = HELLO_RESP.unpack(peer.ask(FrameKind.HELLO_REQ, HELLO_REQ.pack(VERSION, 2, 99)).body)
        assert greeting[:3] == (VERSION, 2, 99)
        assert greeting[-1] == SIZES.checksum
        assert peer.ask(FrameKind.RESET_REQ).body[:16] == host.stored("observation").tobytes()
        record = peer.hear()
        assert record is not None
        assert (record.kind, len(record.body)) == (FrameKind.RECORD, SIZES.record)
        with Peer(server) as other:
            assert other.refusal(frame(FrameKind.HELLO_REQ, 1, HELLO_REQ.pack(VERSION, 2, 99))) == Code.BUSY


def test_boards_are_sent_on_request(server):
    """After LOOK 1 a BOARD follows every RECORD, until LOOK 0."""
    with Peer(server) as peer:
        peer.ask(FrameKind.HELLO_REQ, HELLO_REQ.pack(VERSION, ANY, 0))
        peer.say(frame(FrameKind.LOOK, 1, b"\x01"))
        peer.ask(FrameKind.RESET_REQ)
        kinds = [found.kind for found in (peer.hear(), peer.hear()) if found]
        assert kinds == [FrameKind.RECORD, FrameKind.BOARD]
        peer.say(frame(FrameKind.LOOK, 1, b"\x00"))
        peer.ask(FrameKind.STEP_REQ, LEFT)
        assert [found.kind for found in (peer.hear(),) if found] == [FrameKind.RECORD]
        assert peer.ask(FrameKind.HEALTH_REQ).kind == FrameKind.HEALTH_RESP


def test_requests_need_not_wait_for_answers(server):
    """Several in one piece, and one in many pieces, are answered in order; the last observation, with its mask, too."""
    with Peer(server) as peer:
        asked = [frame(FrameKind.RESET_REQ, 1), *(frame(FrameKind.STEP_REQ, ident, LEFT) for ident in range(2, 6))]
        peer.say(b"".join(asked))
        assert [found.ident for _ in asked if (found := peer.hear())] == [1, 2, 3, 4, 5]
        for byte in frame(FrameKind.STEP_REQ, 6, LEFT):
            peer.say(bytes([byte]))
        assert (result := peer.hear())
        assert result.ident == 6
        assert peer.ask(FrameKind.OBSERVE_REQ).body == result.body[: 4 * 4 + 2]


def test_an_invalid_action(server):
    """It is refused by an ERROR, and the episode goes on."""
    with Peer(server) as peer:
        peer.ask(FrameKind.RESET_REQ)
        refused = peer.ask(FrameKind.STEP_REQ, b"\x02\x00\x00\x00")
        assert (refused.kind, refused.body[0]) == (FrameKind.ERROR, Code.REFUSED)
        assert peer.ask(FrameKind.STEP_REQ, LEFT).kind == FrameKind.STEP_RESP


UNFIT = ((VERSION + 1, 0, 0), (VERSION, ENVS, 0), (VERSION, -2, 0))
MALFORMED = (frame(0x0D, 1), frame(FrameKind.STEP_RESP, 1), frame(FrameKind.STEP_REQ, 1, b"\x00"))
EARLY = (
    (FrameKind.STEP_REQ, LEFT),
    (FrameKind.OBSERVE_REQ, b""),
    (FrameKind.LOOK, b"\x01"),
    (FrameKind.STATE, bytes(8)),
)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        *((data, Code.MALFORMED) for data in (*MALFORMED, HEADER.pack(FrameKind.STEP_REQ, 1, 0xFFFF_FFFF))),
        *((frame(kind, 1, body), Code.OUT_OF_TURN) for kind, body in EARLY),
        *(
            (frame(FrameKind.HELLO_REQ, 1, HELLO_REQ.pack(*unfit)), code)
            for unfit, code in zip(UNFIT, (Code.VERSION, Code.BUSY, Code.BUSY), strict=True)
        ),
    ],
)
def test_invalid_requests(server, data, code):
    """It gets an ERROR that says why, and a closed connection; others are served."""
    with Peer(server) as peer:
        assert peer.refusal(data) == code
    plays(server)


def test_a_step_after_the_end(server):
    """Nothing resets itself on the wire: the end is answered with the last observation, and then a reset is due."""
    host, done = HostedEnvironment(TASK, 1, 3), 0
    host.reset()
    with Peer(server) as peer:
        peer.ask(FrameKind.HELLO_REQ, HELLO_REQ.pack(VERSION, 1, 3))
        peer.ask(FrameKind.RESET_REQ)
        while not done:
            peer.hear()
            result = peer.ask(FrameKind.STEP_REQ, LEFT).body
            done = result[4 * 4 + 2 + 4]
            host.step([0])
            assert result[:16] == host.stored("observation").tobytes()
        assert done == 1
        assert bytes(result[16:18]) == b"\x00\x00"
        peer.hear()
        assert peer.refusal(frame(FrameKind.STEP_REQ, 1, LEFT)) == Code.OUT_OF_TURN


requests = some.builds(
    frame,
    some.sampled_from([*SIZES.requests, *SIZES.answers, 0x0D, 0xFF]),
    some.integers(0, 2**32 - 1),
    some.sampled_from([b"", b"\x00", LEFT, bytes(8), bytes(16), HELLO_REQ.pack(VERSION, ANY, 1)]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(some.one_of(requests, some.binary(max_size=40)), max_size=8), some.integers(0, 200))
@example([frame(FrameKind.RESET_REQ, 1)] * 8, 3)
@example([HEADER.pack(FrameKind.RESET_REQ, 0, 2**31)], 0)
def test_no_bytes_stop_the_server(server, pieces, cut):
    """Random bytes, frames in any order, and ends in the middle of one: the next client is served."""
    data = b"".join(pieces)
    with Peer(server) as bad:
        bad.say(data[: max(0, len(data) - cut)])
        bad.wire.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while bad.wire.recv(1 << 16):
                pass
    plays(server)


def test_a_client_that_does_not_read(server):
    """Its answers wait until it takes them, others are served meanwhile, and none is lost."""
    with Peer(server) as slow:
        slow.ask(FrameKind.RESET_REQ)
        slow.wire.setblocking(False)
        sent = 0
        asked = frame(FrameKind.OBSERVE_REQ, 5)
        with suppress(BlockingIOError):
            while sent < 200_000 * len(asked):
                sent += slow.wire.send(asked * 1000)
        plays(server)
        slow.wire.settimeout(LIMIT)
        for _ in range(sent // len(asked)):
            assert (found := slow.hear())
            assert found.kind == FrameKind.OBSERVE_RESP


def test_many_connections(server):
    """More than there can be are refused one by one, and those that play go on."""
    with ExitStack() as stack:
        player = stack.enter_context(Peer(server))
        player.ask(FrameKind.RESET_REQ)
        crowd = [stack.enter_context(Peer(server)) for _ in range(ENVS + SPARE + 20)]
        codes = [peer.hear() for peer in crowd[-5:]]
        assert all(found and found.body[0] == Code.BUSY for found in codes)
        assert player.ask(FrameKind.STEP_REQ, LEFT).kind == FrameKind.STEP_RESP


def test_an_environment_that_fails(runtime_directory):
    """Its client gets an error and is disconnected, the next one gets a new environment, and the server continues."""
    running = Running("faulty:Fragile:how=raise,at=0", runtime_directory / "fragile")
    try:
        for _ in range(2):
            with Peer(running.path) as peer:
                peer.answers = {**peer.answers, FrameKind.RESET_RESP: (0, 99)}
                assert peer.ask(FrameKind.RESET_REQ).kind == FrameKind.RESET_RESP
                assert peer.refusal(frame(FrameKind.STEP_REQ, 1, LEFT)) == Code.FAILED
    finally:
        assert running.end() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_cleanly(runtime_directory, number, code):
    """On SIGTERM and on Ctrl-C it ends and removes its socket, also with a client connected."""
    running = Running(TASK.spec, runtime_directory / "clean")
    assert stat.S_IMODE(running.path.stat().st_mode) == 0o600
    with Peer(running.path) as peer:
        peer.ask(FrameKind.RESET_REQ)
        assert running.end(number) == code
        assert peer.hear() is None
    assert not running.path.exists()


def test_an_occupied_path(server, tmp_path, runtime_directory):
    """A live server, another file, and what is no place are refused; the socket of a killed server is replaced."""
    (tmp_path / "file").touch()
    nowhere = ((tmp_path / "none" / "server", "cannot create a socket"), (tmp_path / ("x" * 200), "short path"))
    for path, text in ((server, "is served by another process"), (tmp_path / "file", "is not a socket"), *nowhere):
        with pytest.raises(BackendUnavailable, match=text):
            listen(path)
    plays(server)
    path = runtime_directory / "stale"
    assert Running(TASK.spec, path).end(signal.SIGKILL) == -signal.SIGKILL
    assert path.exists()
    with listen(path):
        assert stat.S_ISSOCK(path.stat().st_mode)
    path.unlink()


def test_a_server_without_free_files_waits_instead_of_spinning(runtime_directory):
    """It tries once, then waits before it accepts again, and serves the connection when there are files."""
    path, (soft, hard), taken = runtime_directory / "full", resource.getrlimit(resource.RLIMIT_NOFILE), []
    with closing(SocketServer(TASK, listen(path), 0, 1, 0)) as server, Peer(path) as client:
        client.say(frame(FrameKind.HEALTH_REQ, 7))
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            with suppress(OSError):
                while True:
                    taken.append(os.dup(0))
            assert sum(server.turn(0.1) for _ in range(4)) == 1
        finally:
            for descriptor in taken:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        until(lambda: server.turn(0.1) and select.select([client.wire], [], [], 0)[0])
        assert (answer := client.hear())
        assert bytes(answer.body) == b"\x01"
    path.unlink()
