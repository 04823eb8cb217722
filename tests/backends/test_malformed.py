"""Malformed requests: each gets a refusal or a closed connection, and none is logged."""

from __future__ import annotations

import logging
import socket
import struct

import pytest

from pac.backends.http_backend import server as http_server

from .test_http_server import TOKEN, serve

__all__ = ["serve"]

HOST = b"Host: x\r\n"
ALLOWED = HOST + b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
GET, POST = b"GET /health HTTP/1.1\r\n", b"POST /step HTTP/1.1\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
RESET = struct.pack("ii", 1, 0)


def sized(length: bytes, body: bytes = b"", *headers: bytes, head: bytes = ALLOWED) -> bytes:
    return POST + head + b"".join(headers) + b"Content-Length: " + length + b"\r\n\r\n" + body


REQUESTS = {
    "bytes": b"\x00\xff\xfe garbage\r\n\r\n",
    "tls": bytes.fromhex("16030100a5010000a1") + bytes(100),
    "a word": b"GET\r\n\r\n",
    "a version": b"GET / HTTP/9.9\r\n\r\n",
    "a method": b"G\x01T / HTTP/1.1\r\n\r\n",
    "a long line": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    "a long header": GET + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    "many headers": GET + b"".join(b"X%d: 1\r\n" % index for index in range(5000)) + b"\r\n",
    "a header without a colon": GET + b"nothing\r\n\r\n",
    "a header with a zero": GET + b"A: \x00\r\n\r\n",
    "a path that is no text": b"GET /\xff\xfe HTTP/1.1\r\n" + ALLOWED + b"\r\n",
    "a token that is no text": GET + HOST + b"Authorization: Bearer \xff\xfe\r\n\r\n",
    "no host": GET + b"\r\n",
    "two hosts": GET + HOST + ALLOWED + b"\r\n",
    "an address": b"GET http://[::1 HTTP/1.1\r\n" + ALLOWED + b"\r\n",
    "connect": b"CONNECT nonsense HTTP/1.1\r\n" + ALLOWED + b"\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\n" + ALLOWED + b"\r\n",
    "a negative length": sized(b"-5"),
    "a length that is no number": sized(b"abc"),
    "a huge length": sized(b"99999999999999999999", b"{}"),
    "two lengths": sized(b"2", b"{}", b"Content-Length: 3\r\n"),
    "a length and chunks": sized(b"2", b"0\r\n\r\n", CHUNKED),
    "a chunk": POST + ALLOWED + CHUNKED + b"\r\nzz\r\nxx\r\n",
    "a chunk without a token": POST + HOST + CHUNKED + b"\r\nzz\r\nxx\r\n",
    "an encoding": POST + ALLOWED + b"Transfer-Encoding: nonsense\r\n\r\n",
    "gzip": sized(b"5", b"abcde", b"Content-Encoding: gzip\r\n"),
    "deflate": sized(b"5", b"abcde", b"Content-Encoding: deflate\r\n"),
    "brotli": sized(b"5", b"abcde", b"Content-Encoding: br\r\n"),
    "an expectation": sized(b"2", b"{}", b"Expect: nonsense\r\n"),
    "a kind of content": sized(b"2", b"{}", b"Content-Type: \xff; charset=nonsense\r\n"),
    "a body that is no text": sized(b"4", b"\xff\xfe\xfd\xfc"),
    "a deep body": sized(b"50000", b"[" * 50_000),
    "a large body": sized(b"2000000", b"x" * 2_000_000),
    "a large body without a token": sized(b"2000000", b"x" * 2_000_000, head=HOST),
    "a query that is no text": b"GET /observe?env=%ff%fe HTTP/1.1\r\n" + ALLOWED + b"\r\n",
    "a number of many digits": b"GET /observe?env=1" + b"0" * 5000 + b" HTTP/1.1\r\n" + ALLOWED + b"\r\n",
}
CUT = {
    "in a header": POST + b"Host",
    "in a body": sized(b"100", b"{"),
    "in a chunk": POST + ALLOWED + CHUNKED + b"\r\nff\r\n{",
    "in a huge chunk": POST + ALLOWED + CHUNKED + b"\r\nfffffffffffffff\r\n{",
}


@pytest.fixture(scope="module")
def counter(serve, toy):
    return serve(toy("Counter", length=3))


@pytest.fixture
def server(counter, caplog, capfd):
    """A server that has a good client's answer at the end, and nothing in the log."""
    yield counter
    counter.post("/reset")
    records = [record for phase in ("call", "teardown") for record in caplog.get_records(phase)]
    assert not [record for record in records if record.levelno >= logging.WARNING]
    assert "Traceback" not in capfd.readouterr().err


def connected(server) -> socket.socket:
    return socket.create_connection((http_server.HOME, server.port), timeout=20)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_malformed_request_is_refused(server, name):
    """By an answer from 400 to 499, or by a closed connection."""
    with connected(server) as wire:
        try:
            wire.sendall(REQUESTS[name])
            answer = wire.recv(4096)
        except ConnectionError:
            answer = b""
        assert not answer or answer.split(b" ")[1].startswith(b"4"), answer


@pytest.mark.parametrize("rude", [False, True])
@pytest.mark.parametrize("name", CUT)
def test_a_client_that_disconnects_is_not_logged(server, name, rude):
    """Whether it says goodbye or not: the environments go on for others."""
    with connected(server) as wire:
        wire.sendall(CUT[name])
        if rude:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
