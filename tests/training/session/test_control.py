"""Commands over the socket: answers, refusals, malformed lines, and viewers that leave."""

import socket

import pytest

from pac.training.session.control import SOCKET, CommandRefused, ControlServer, SessionClient, SessionGone
from pac.training.session.viewers import Viewers

from ...waiting import until


@pytest.fixture
def viewers():
    return Viewers()


@pytest.fixture
def server(folder, viewers):
    def handle(_viewer, request):
        if request["command"] == "refuse":
            raise CommandRefused("not today")
        if request["command"] == "crash":
            raise ValueError("boom")
        return {"heard": request}

    made = ControlServer(folder, handle, viewers)
    yield made
    made.close()


def test_a_command_is_answered(server, folder):
    """Arguments arrive and the answer comes back."""
    client = SessionClient(folder)
    assert client.call("step", count=3) == {"heard": {"command": "step", "count": 3}}
    client.close()


def test_a_refusal_is_an_error_with_its_sentence(server, folder):
    """The client raises `CommandRefused`."""
    client = SessionClient(folder)
    with pytest.raises(CommandRefused, match="not today"):
        client.call("refuse")
    client.close()


def test_a_handler_that_fails_does_not_end_the_server(server, folder):
    """A bad argument is answered; the next command works."""
    client = SessionClient(folder)
    with pytest.raises(CommandRefused, match="boom"):
        client.call("crash")
    assert client.call("again")
    client.close()


@pytest.mark.parametrize("line", [b"\n", b"[]\n", b"{\n", b'{"no": 1}\n', b"\xff\xfe\n", b"x" * 70_000 + b"\n"])
def test_a_malformed_line_is_refused_and_the_connection_stays_open(server, folder, line):
    """The answer is not ok."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(10)
        raw.connect(str(folder / SOCKET))
        raw.sendall(line)
        assert b'"ok": false' in raw.recv(65_536)


def test_a_line_that_is_too_long_has_one_answer(server, folder):
    """The next answer is that of the next line."""
    with socket.socket(socket.AF_UNIX) as raw, raw.makefile("rwb") as stream:
        raw.settimeout(10)
        raw.connect(str(folder / SOCKET))
        stream.write(b"x" * 500_000 + b'\n{"command": "again"}\n')
        stream.flush()
        assert b'"ok": false' in stream.readline()
        assert b'"ok": true' in stream.readline()


def test_too_many_viewers_are_rejected(server, viewers, folder, monkeypatch):
    """With the reason; when one disconnects, the next is accepted."""
    monkeypatch.setattr("pac.training.session.control.MAX_CONNECTIONS", 1)
    first = SessionClient(folder)
    assert first.call("hello")
    second = SessionClient(folder)
    with pytest.raises((CommandRefused, SessionGone), match=r"limit of 1 viewers|closed|reset|pipe"):
        second.call("hello")
    second.close()
    first.close()
    until(lambda: not len(viewers))
    third = SessionClient(folder)
    assert third.call("hello")
    third.close()


def test_a_server_that_cannot_accept_a_connection_tries_again(server, folder, monkeypatch):
    """For example, after the process ran out of file descriptors."""
    accept, failures = server._socket.accept, iter((OSError(24, "Too many open files"),) * 3)

    class Refusing:
        def accept(self):
            for error in failures:
                raise error
            return accept()

        def __getattr__(self, name):
            return getattr(real, name)

    real, server._socket = server._socket, Refusing()
    monkeypatch.setattr("pac.training.session.control.RETRY_DELAY", 0.001)
    for _ in range(2):  # the first is still taken by the accept that was under way
        client = SessionClient(folder)
        assert client.call("hello")
        client.close()
    assert next(failures, None) is None


def test_a_closed_server_accepts_no_connection(folder, viewers):
    """The client raises `SessionGone`."""
    made = ControlServer(folder, lambda _viewer, _request: None, viewers)
    made.close()
    with pytest.raises(SessionGone, match="no session answers"):
        SessionClient(folder)


def test_only_this_user_can_connect(server, folder):
    """Mode 0600."""
    assert (folder / SOCKET).stat().st_mode & 0o777 == 0o600


def test_open_connections_are_the_viewers(server, viewers, folder):
    """A viewer counts while it is connected."""
    client = SessionClient(folder)
    client.call("hello")
    assert len(viewers) == 1
    client.close()
    until(lambda: not len(viewers))


def test_no_session_is_a_clear_error(folder):
    """The client names the directory."""
    with pytest.raises(SessionGone, match="no session answers"):
        SessionClient(folder)


def test_a_client_of_a_session_that_is_gone_can_be_closed(folder):
    """Although a command could not be sent."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / SOCKET))
        listening.listen()
        client = SessionClient(folder)
        listening.accept()[0].close()
    with pytest.raises(SessionGone):
        client.call("pause")
    client.close()
