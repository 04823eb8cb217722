"""Unix sockets at paths that are too long for an address."""

import os
import socket
import subprocess
import sys

import pytest

from pac.backends.system.sockets import LONGEST_PATH, bind, connect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has another name for such a path")


@pytest.fixture
def deep(tmp_path):
    """Return a folder whose path fills an address."""
    folder = tmp_path / ("x" * LONGEST_PATH)
    folder.mkdir()
    return folder


def test_a_long_path_is_bound_and_connected(deep):
    """A client reaches the server at the same path, and the file is there."""
    path = deep / "server.sock"
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        bind(server, path)
        server.listen()
        connect(client, path)
        answering, _ = server.accept()
        with answering:
            client.sendall(b"ping")
            assert answering.recv(4) == b"ping"
        assert path.is_socket()


@pytest.mark.session
def test_a_deep_runtime_directory(deep):
    """The socket backend runs there."""
    code = "from pac.backends import make; envs = make('noop', 4, 'socket'); envs.reset(); envs.close()"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PAC_RUNTIME_DIR": str(deep)}, check=True)
    assert not list(deep.rglob("*.sock"))
