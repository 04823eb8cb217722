"""A client in another language, which knows the twelve plain types only, plays against a real server."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pac.backends.servers.hosting import HostedEnvironment
from pac.envs import find

from ..backends.peer import SEED, Running
from ..programs import program as run

SOURCE = Path(__file__).parent / "client.c"
pytestmark = pytest.mark.session

STEPS = 200
TAIL = np.dtype("<f4, u1, u1, <u2, <u2, <u2, u1, u1, u1, u1, u1")
NUMBERS = ("rank", "life", "gold", "stage", "board_size", "level", "kinds_active", "items_held", "actions_taken")


@pytest.fixture(scope="session")
def client(tmp_path_factory) -> Path:
    """Build the client."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    program: Path = tmp_path_factory.mktemp("client") / "client"
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True)
    return program


def expected(spec: str) -> str:
    """Return what the client must print, from the specification and an environment of this process."""
    host, checksum, episodes = HostedEnvironment(find(spec), 0, SEED), 0xCBF29CE484222325, 0

    def hear(data: bytes) -> None:
        nonlocal checksum
        for byte in data:
            checksum = (checksum ^ byte) * 0x100000001B3 & 0xFFFF_FFFF_FFFF_FFFF

    def result() -> bytes:
        names = {item.name for item in host.task.info}
        numbers = [int(host.stored(name).flat[0]) if name in names else 0 for name in NUMBERS]
        done = 1 if host.stored("terminated")[0] else 2 * int(host.stored("truncated")[0])
        tail = np.array([(host.stored("reward")[0], done, *numbers)], TAIL)
        return host.stored("observation").tobytes() + host.mask().tobytes() + tail.tobytes()

    hear(b"\x01")
    hear(np.array([np.prod(host.task.observation.shape), host.task.num_actions], "<i4").tobytes())
    host.reset()
    hear(result())
    for _ in range(STEPS):
        host.step([int(host.mask()[0].argmax())])
        hear(result())
        if host.ended:
            episodes += 1
            host.reset()
            hear(result())
    return f"{episodes} {checksum:016x}\n"


@pytest.mark.parametrize("spec", ["CartPole-v1", "autochess"])
def test_a_client_in_c(client, runtime_directory, spec):
    """Its checksum of all answers, with the ends of episodes, equals the one computed here."""
    server = Running(spec, runtime_directory / "conformance")
    try:
        done = run(client, server.path, str(STEPS))
        assert done.stderr == ""
        assert done.stdout == expected(spec)
        assert spec != "CartPole-v1" or int(done.stdout.split()[0]) > 10
    finally:
        assert server.end() == 0
    assert not server.path.exists()
