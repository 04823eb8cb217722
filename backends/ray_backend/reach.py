"""Finds out whether a Ray cluster answers, in a process of its own: `python -m pac.backends.ray_backend.reach`.

`ray.init` waits for an address that does not answer in code in which no exception is raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NoReturn

from ...envs.apart import TooSlow, ask, receive
from ..core.errors import BackendUnavailable

LIMIT = 60.0
"""Seconds in which a cluster must answer."""
MODULE = "pac.backends.ray_backend.reach"


def check_cluster(address: str, on_wait: Callable[[float], object] = lambda _seconds: None) -> None:
    """Check that there is a cluster at an address.

    Args:
        address: The address, or `auto`.
        on_wait: Called about once per second with the seconds so far; may raise an exception.

    Raises:
        BackendUnavailable: There is none.
    """
    try:
        answer = ask(MODULE, {"address": address}, limit=LIMIT, on_wait=on_wait)
        reason = answer.data.decode() if answer.data or not answer.code else f"its process {answer.ending}"
    except TooSlow as error:
        reason = f"its answer was {error}"
    if reason:
        raise BackendUnavailable(f"no Ray cluster at {address}: {reason}; start one with: ray start --head")


def main() -> NoReturn:
    """Answer a request with the reason why there is no cluster, or with nothing."""
    request, answers = receive()
    from .cluster import connect

    try:
        connect(request["address"])
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        answers.write((lines[-1] if lines else type(error).__name__).encode())
        answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
