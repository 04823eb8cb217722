"""`pac-tui env-server`: environments for another trainer."""

import json
import re
import shutil
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from pac.backends.socket_backend.protocol import HEADER, FrameKind
from pac.tui.cli.commands import main
from pac.tui.cli.serve import token_of

from ..commands import start

TASK = ("env-server", "--task", "noop")


@pytest.mark.session
def test_http_from_the_command_line(shared, tmp_path, monkeypatch):
    """It prints its address, a token and a working shell command, and ends cleanly on SIGTERM."""
    monkeypatch.delenv("PAC_TOKEN", raising=False)
    process = start((*TASK, "--backend", "http", "--num-envs", "2"), shared, tmp_path)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert re.match(r"serving 2 x noop at http://127\.0\.0\.1:\d+, token [\w-]{32}; try: curl ", line)
    if shutil.which("curl"):
        shell = ["sh", "-c", line.partition("try: ")[2]]
        answer = json.loads(subprocess.run(shell, capture_output=True, check=True, timeout=120).stdout)
        assert len(answer["observation"]) == 612
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.session
def test_a_socket_from_the_command_line(shared, tmp_path):
    """Only its owner can connect; Ctrl-C ends it and removes the socket."""
    path = shared / "e.sock"
    process = start((*TASK, "--path", str(path)), shared, tmp_path)
    assert process.stderr is not None
    assert f"at {path}" in process.stderr.readline()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(path))
        wire.sendall(HEADER.pack(FrameKind.HEALTH_REQ, 7, 0))
        assert HEADER.unpack(wire.recv(HEADER.size)) == (FrameKind.HEALTH_RESP, 7, 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert not path.exists()


@pytest.mark.session
def test_sigterm_while_it_starts(shared, tmp_path):
    """SIGTERM ends it cleanly while kernels are loaded."""
    process = start(("env-server", "--task", "drmario"), shared, tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("loading drmario")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 0


def test_a_given_token_is_not_printed(tmp_path):
    """The token comes from the file or else the variable, and is not printed."""
    file = tmp_path / "token"
    file.write_text("secret\n")
    assert token_of({"PAC_TOKEN": "other"}, file) == ("secret", f"$(cat {file})", False)
    assert token_of({"PAC_TOKEN": "other"}, None) == ("other", "$PAC_TOKEN", False)
    made, _, reported = token_of({}, None)
    assert reported
    assert made != token_of({}, None)[0]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--backend", "ftp"), "Known: http, socket"),
        (("--backend", "http", "--path", "x"), "--path is for --backend socket"),
        (("--port", "1"), "--port and --token-file are for --backend http"),
        (("--backend", "http", "--port", "99999"), "from 0 to 65535, got 99999"),
        (
            ("--backend", "http", "--token-file", "gone"),
            "gone cannot be read: No such file or directory; check the path",
        ),
        (("--backend", "http", "--token-file", "empty"), "must contain a token"),
        (("--backend", "http", "--token-file", "latin"), "must contain a token of ASCII characters"),
        (("--num-envs", "0"), "from 1 to 10,000, got 0"),
        (("--num-envs", "10000000"), "from 1 to 10,000"),
        (("--seed", "-1"), "2^64"),
        (("--task", "drmaria"), "Did you mean drmario?"),
    ],
)
def test_what_does_not_fit(arguments, part, capsys, tmp_path, monkeypatch):
    """A bad option is one sentence with exit code 2, before anything is served."""
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    Path("latin").write_bytes(b"\xe4")
    assert main(["env-server", *arguments]) == 2
    assert part in capsys.readouterr().err


@pytest.mark.session
def test_a_port_that_is_taken(shared, tmp_path):
    """The second server on a port fails with an error in one sentence."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = start((*TASK, "--backend", "http", "--port", port), shared, tmp_path)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in err
    assert "Traceback" not in err
