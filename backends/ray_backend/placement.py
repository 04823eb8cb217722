"""Which environments are on which node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True)
class Node:
    """A node of the cluster.

    Attributes:
        key: Its identifier in Ray.
        name: What messages call it.
        cores: Number of CPUs that Ray may use there.
    """

    key: str
    name: str
    cores: int


@dataclass(frozen=True)
class Share:
    """The environments of one node.

    Attributes:
        lo: First environment.
        hi: One past the last.
        workers: Number of worker processes.
    """

    node: Node
    lo: int
    hi: int
    workers: int


def place(environments: int, nodes: Sequence[Node], workers: int | None = None) -> list[Share]:
    """Divide environments over nodes in proportion to their cores, as contiguous slices in the order of the nodes.

    Args:
        environments: Number of environments N.
        nodes: The nodes; those without cores get nothing.
        workers: The largest number of workers per node; one per core if None.

    Returns:
        A share for every node that has at least one environment.
    """
    cores = [node.cores for node in nodes]
    ends = [environments * upto // max(1, sum(cores)) for upto in accumulate(cores)]
    return [
        Share(node, lo, hi, min(hi - lo, node.cores, workers or node.cores))
        for node, lo, hi in zip(nodes, [0, *ends], ends, strict=False)
        if hi > lo
    ]
