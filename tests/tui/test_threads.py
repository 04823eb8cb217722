"""The thread that takes snapshots: requests become one, and errors are reported once."""

import threading

import pytest
from textual.message import Message

from pac.training.session.control import SessionClient, SessionGone
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import ViewRequest
from pac.tui.app.threads import CommandThread, SnapshotThread
from pac.tui.connections.connection import SessionConnection
from pac.tui.messages import Refused, SessionLost, SnapshotTaken

from ..waiting import until


def test_requests_become_one(fake):
    """Many requests cause one snapshot; without news nothing is posted."""
    connection = SessionConnection(lambda: fake)
    posted: list[Message] = []
    watcher = SnapshotThread(connection, posted.append)
    for _ in range(100):
        watcher.request(ViewRequest())
    until(lambda: posted)
    fake.shuffle()
    watcher.request(ViewRequest())
    until(lambda: len(posted) >= 2)
    assert len(posted) < 10
    assert all(isinstance(message, SnapshotTaken) for message in posted)
    watcher.close()


def test_the_end_of_a_session_is_reported_once(fake):
    """Later requests find the same and report nothing."""
    fake.code = 1
    connection = SessionConnection(lambda: fake)
    posted: list[Message] = []
    watcher = SnapshotThread(connection, posted.append)
    watcher.request(ViewRequest())
    until(lambda: any(isinstance(message, SessionLost) for message in posted))
    fake.shuffle()
    watcher.request(ViewRequest())
    until(lambda: sum(isinstance(message, SnapshotTaken) for message in posted) >= 2)
    assert sum(isinstance(message, SessionLost) for message in posted) == 1
    watcher.close()


def test_damaged_telemetry_is_reported(fake, tmp_path, monkeypatch):
    """The app does not stay at its last screen."""
    (tmp_path / "telemetry.1").write_bytes(b"short")
    monkeypatch.setattr(fake, "directory", tmp_path)
    posted: list[Message] = []
    watcher = SnapshotThread(SessionConnection(lambda: fake), posted.append)
    watcher.request(ViewRequest())
    until(lambda: posted)
    assert isinstance(posted[0], SessionLost)
    assert "telemetry.1 is damaged" in str(posted[0].error)
    watcher.close()


def test_an_error_that_nobody_foresaw_ends_no_thread(fake, monkeypatch):
    """It is reported as a refusal or a loss, and the next command is sent."""
    connection = SessionConnection(lambda: fake)
    posted: list[Message] = []
    commands, watcher = CommandThread(connection, posted.append), SnapshotThread(connection, posted.append)

    def fail(*_, **__):
        raise ZeroDivisionError("by zero")

    with monkeypatch.context() as broken:
        for name in ("call", "take", "members"):
            broken.setattr(connection, name, fail)
        commands.send("pause")
        watcher.request(ViewRequest())
        until(lambda: {Refused, SessionLost} <= {type(message) for message in posted})
    assert all("ZeroDivisionError: by zero" in str(message.error) for message in posted)  # type: ignore[attr-defined]
    commands.send("pause")
    until(lambda: any(command == "pause" for command, _ in fake.commands), "the next command")
    watcher.request(ViewRequest())
    until(lambda: any(isinstance(message, SnapshotTaken) for message in posted), "the next snapshot")
    commands.close()
    watcher.close()
    connection.close()


def test_the_screen_does_not_wait_for_the_session(fake):
    """Making a connection returns immediately, however long the session takes to start."""
    stands = threading.Event()

    def start():
        stands.wait(120)
        return fake

    connection = SessionConnection(start)
    assert not connection.started
    assert connection.exit_code() is None
    stands.set()
    until(lambda: connection.started)


def test_a_viewer_that_leaves_while_joining_does_not_join(fake, monkeypatch):
    """The connection to the session is closed again."""
    connection, ways = SessionConnection(lambda: fake), []

    def left_meanwhile(directory):
        connection.close()
        ways.append(SessionClient(directory))
        return ways[0]

    monkeypatch.setattr("pac.tui.connections.connection.SessionClient", left_meanwhile)
    with pytest.raises(SessionGone, match="left"):
        connection.call("pause")
    assert ways[0]._socket.fileno() == -1
    assert not fake.commands


def test_two_threads_that_send_the_first_commands_join_once(fake, monkeypatch):
    """The second one waits while the first one connects."""
    connection, ways = SessionConnection(lambda: fake), []
    entered, second = threading.Event(), threading.Event()

    def slow(directory):
        entered.set()
        second.wait(0.2)
        ways.append(SessionClient(directory))
        return ways[-1]

    monkeypatch.setattr("pac.tui.connections.connection.SessionClient", slow)
    threads = [threading.Thread(target=connection.call, args=("pause",)) for _ in range(2)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    for thread in threads:
        thread.join()
    second.set()
    assert len(ways) == 1
    assert len(fake.viewers) == 1
    connection.close()


def test_a_session_that_ends_while_it_is_read_is_not_lost(fake, monkeypatch):
    """It publishes its end and its process ends after the snapshot was taken; the next snapshot shows that."""
    connection, posted = SessionConnection(lambda: fake), list[Message]()
    take = connection.take

    def then_end(look):
        snapshot = take(look)
        fake.say(phase=Phase.ENDED)
        fake.code = 0
        return snapshot

    monkeypatch.setattr(connection, "take", then_end)
    watcher = SnapshotThread(connection, posted.append)
    watcher.request(ViewRequest())
    until(lambda: posted)
    watcher.request(ViewRequest())
    until(lambda: isinstance(posted[-1], SnapshotTaken) and posted[-1].snapshot.phase is Phase.ENDED)
    assert not any(isinstance(message, SessionLost) for message in posted)
    watcher.close()
