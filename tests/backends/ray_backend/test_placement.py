"""Which environments are on which node."""

import pytest

from pac.backends.ray_backend.fleet import Node, place


def nodes(*cores: int) -> list[Node]:
    return [Node(str(index), f"node-{index}", count) for index, count in enumerate(cores)]


@pytest.mark.parametrize(
    ("environments", "cores", "spans", "workers"),
    [
        (12, (1, 1), [(0, 6), (6, 12)], [1, 1]),
        (12, (4, 2), [(0, 8), (8, 12)], [4, 2]),
        (5, (0, 2, 2), [(0, 2), (2, 5)], [2, 2]),
        (1, (8, 8), [(0, 1)], [1]),
        (3, (), [], []),
    ],
)
def test_environments_are_in_proportion_to_cores(environments, cores, spans, workers):
    """Slices are contiguous and cover all environments; nodes without any are left out."""
    shares = place(environments, nodes(*cores))
    assert sorted((share.lo, share.hi) for share in shares) == spans
    assert [share.workers for share in shares] == workers


def test_workers_per_node_are_limited():
    """At most as many as asked for, and as there are cores."""
    assert [share.workers for share in place(64, nodes(16, 2), workers=4)] == [4, 2]
