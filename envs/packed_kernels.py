"""Compiled code for packed pixels, for kernels of games and for networks on the CPU."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

from .native import kernel

Array: TypeAlias = NDArray[Any]


@kernel
def packed_distance(distances: Array, image: Array, goal: Array) -> int:
    """Return the L1 distance of two packed images `(bytes,)`, with the table of `byte_distances`."""
    # Four sums, so that an addition need not wait for the one before it.
    first, second, third, fourth = 0, 0, 0, 0
    whole = goal.shape[0] & ~3
    for at in range(0, whole, 4):
        first += distances[goal[at], image[at]]
        second += distances[goal[at + 1], image[at + 1]]
        third += distances[goal[at + 2], image[at + 2]]
        fourth += distances[goal[at + 3], image[at + 3]]
    for at in range(whole, goal.shape[0]):
        first += distances[goal[at], image[at]]
    total: int = first + second + third + fourth
    return total


@kernel
def distances_to(distances: Array, images: Array, goal: Array, found: Array) -> None:
    """Write the L1 distances of packed images `(N, bytes)` from a packed goal `(bytes,)` into `found`."""
    for index in range(images.shape[0]):
        found[index] = packed_distance(distances, images[index], goal)


@kernel
def look_up(stored: Array, table: Array, decoded: Array) -> None:
    """Write the entry of a table `(256,)` for every byte."""
    for at in range(stored.shape[0]):
        decoded[at] = table[stored[at]]
