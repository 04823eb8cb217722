"""A Ray cluster that does not answer can be given up."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator

import pytest

from pac.backends.core.errors import BackendUnavailable
from pac.backends.ray_backend import reach

from ...tui.commands import start, tidy
from ...waiting import until

pytestmark = [pytest.mark.session, pytest.mark.thorough]
pytest.importorskip("ray")


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_cluster_that_does_not_answer_is_unavailable(silent, monkeypatch):
    """After a limit, with an error."""
    monkeypatch.setattr(reach, "LIMIT", 3.0)
    with pytest.raises(BackendUnavailable, match=r"its answer was not done within 3 s.*ray start --head"):
        reach.check_cluster(silent)


def test_a_signal_ends_the_wait_for_a_cluster(silent, tmp_path):
    """The command says for how long it waits, and ends as at any other time."""
    with tidy() as shared:
        options = ("--task", "noop", "--trainer", "random", "--backend", "ray", "--ray-address", silent)
        process = start(("run", "--headless", *options), shared, tmp_path)
        errors = process.stderr
        assert errors is not None
        until(lambda: "connecting to the Ray cluster" in errors.readline())
        os.kill(process.pid, signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "SystemExit" not in err
