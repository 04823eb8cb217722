"""Commands over the socket: answers, refusals, malformed lines, and viewers that leave."""

import socket
from contextlib import closing

import pytest

from pac.envs import PacError
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


@pytest.fixture
def client(server, folder):
    with closing(SessionClient(folder)) as made:
        yield made


def test_a_command_is_answered_or_refused(client, folder):
    """Arguments arrive and the answer comes back; a refusal and a failure are errors with their sentences.

    Only this user can connect.
    """
    assert client.call("step", count=3) == {"heard": {"command": "step", "count": 3}}
    for command, sentence in (("refuse", "not today"), ("crash", "boom")):
        with pytest.raises(CommandRefused, match=sentence):
            client.call(command)
    assert client.call("again")
    assert (folder / SOCKET).stat().st_mode & 0o777 == 0o600


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


def test_open_connections_are_the_viewers_and_too_many_are_rejected(client, viewers, folder, monkeypatch):
    """With the reason; when one disconnects, the next is accepted."""
    monkeypatch.setattr("pac.training.session.control.MAX_CONNECTIONS", 1)
    assert client.call("hello")
    assert len(viewers) == 1
    with (
        closing(SessionClient(folder)) as second,
        pytest.raises((CommandRefused, SessionGone), match=r"limit of 1 viewers|closed|reset|pipe"),
    ):
        second.call("hello")
    client.close()
    until(lambda: not len(viewers))
    with closing(SessionClient(folder)) as third:
        assert third.call("hello")


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
        with closing(SessionClient(folder)) as client:
            assert client.call("hello")
    assert next(failures, None) is None


@pytest.mark.parametrize("closed", [True, False])
def test_no_session_is_a_clear_error(folder, viewers, closed):
    """Whether there was a server or not."""
    if closed:
        ControlServer(folder, lambda _viewer, _request: None, viewers).close()
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


@pytest.mark.parametrize("answer", [b"3", b"[]", b"{}", b'{"ok": 0, "error": {}}', b"[" * 500, b"\xff"])
def test_whatever_a_session_answers_is_a_refusal(folder, answer):
    """Also if it is no answer."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET))
        listener.listen()
        client = SessionClient(folder)
        accepted, _ = listener.accept()
        with accepted:
            accepted.sendall(answer + b"\n")
            with pytest.raises(PacError):
                client.call("pause")
        client.close()
