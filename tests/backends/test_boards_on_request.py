"""Environments that draw on request draw one board per request, on every backend."""

from contextlib import closing

import pytest

from pac.backends import make
from pac.envs import find

pytestmark = pytest.mark.session


@pytest.mark.parametrize("backend", ["inline", "threads", "device", "shm", "socket", "http"])
def test_a_request_is_answered_by_one_board(backend: str) -> None:
    """The request of one environment is reset once its board came, and later steps draw nothing."""
    with closing(make(find("CartPole-v1"), 2, backend, slots=4)) as envs:
        envs.start()
        pictures, requests = envs.buffer["picture"][0], envs.buffer["looked_at"][0]
        assert not pictures.any()
        requests[1] = 1
        envs.advance(0)
        assert not requests.any()
        assert pictures[1].any()
        assert not pictures[0].any()
        pictures[1] = 0
        envs.advance(1)
        assert not pictures.any()
