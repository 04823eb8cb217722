"""The connection to a Ray cluster. Only this file uses Ray."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..core.errors import BackendTimeout, BackendUnavailable
from .fleet import Node, NodeFleet


class NodeLost(Exception):
    """A node, or its actor, ended or cannot be reached."""


@contextmanager
def own_signals() -> Iterator[None]:
    """Restore the handlers of signals that Ray replaces: its own end this process at SIGTERM, without saving."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            if signal.getsignal(number) is not handler:  # Ray replaces them in the main thread only
                signal.signal(number, handler)


def connect(address: str) -> None:
    """Connect this process to a cluster."""
    import ray

    ray.init(address=address, log_to_driver=False, configure_logging=False)


class Cluster:
    """A connection to a running cluster, which is kept if the process had one before.

    Args:
        address: Its address, or `auto`.

    Raises:
        BackendUnavailable: There is no cluster at the address.
    """

    def __init__(self, address: str) -> None:
        import ray

        self._ray = ray
        self._own = not ray.is_initialized()
        if self._own:
            try:
                with own_signals():
                    connect(address)
            except (ConnectionError, OSError, RuntimeError, ValueError) as error:
                raise BackendUnavailable(
                    f"no Ray cluster at {address}: {_last_line(error)}; start one with: ray start --head"
                ) from error

    def nodes(self) -> list[Node]:
        """Return the nodes that are alive, in the order of their names."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        named = Counter(node["NodeName"] for node in alive)
        found = []
        for node in alive:
            name = str(node["NodeName"])
            name += f":{node['NodeManagerPort']}" if named[name] > 1 else ""
            found.append(Node(node["NodeID"], name, int(node["Resources"].get("CPU", 0))))
        return sorted(found, key=lambda node: (node.name, node.key))

    def start(self, node: Node, workers: int, *arguments: Any) -> Any:
        """Return the handle of a new `NodeFleet` on a node, where it reserves a CPU per worker; never waits."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        place = NodeAffinitySchedulingStrategy(node_id=node.key, soft=False)
        made = self._ray.remote(NodeFleet).options(num_cpus=workers, scheduling_strategy=place, max_restarts=0)
        return made.remote(*arguments)

    def result(self, reference: Any, timeout: float) -> Any:
        """Wait for the result of a call.

        Raises:
            BackendTimeout: It takes longer than `timeout` s.
            NodeLost: The actor or its node ended.
        """
        try:
            return self._ray.get(reference, timeout=timeout)
        except self._ray.exceptions.GetTimeoutError:
            raise BackendTimeout("the node did not answer in time") from None
        except self._ray.exceptions.RayError as error:
            raise NodeLost(_last_line(error)) from error

    def kill(self, actor: Any, patience: float) -> None:
        """Let an actor close its environments, at most for `patience` s, then end it."""
        if patience:
            with suppress(BackendTimeout, NodeLost):
                self.result(actor.close.remote(), patience)
        with suppress(self._ray.exceptions.RayError, ValueError):
            self._ray.kill(actor)

    def close(self) -> None:
        """Disconnect, if this made the connection."""
        if self._own:
            self._ray.shutdown()


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
