"""Bits as characters of several dots each: braille or half blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Dots(NamedTuple):
    """A kind of such characters.

    Attributes:
        weights: `(tall, wide)`, what each bit adds to the index of the character.
        table: The characters.
    """

    weights: NDArray[np.int64]
    table: NDArray[np.str_]

    def lines(self, bits: NDArray[np.bool_]) -> list[str]:
        """Return bits `(H, W)` as lines of characters, padded with zeros."""
        tall, wide = self.weights.shape
        whole = np.pad(bits, ((0, -len(bits) % tall), (0, -bits.shape[1] % wide)))
        cells = whole.reshape(len(whole) // tall, tall, whole.shape[1] // wide, wide)
        codes = np.einsum("htwc,tc->hw", cells, self.weights)
        return ["".join(line) for line in self.table[codes].tolist()]


BRAILLE = Dots(
    np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]),
    np.array([" ", *map(chr, range(0x2801, 0x2900))]),
)
HALVES = Dots(np.array([[1], [2]]), np.array([*" ▀▄█"]))
PLAIN_HALVES = Dots(HALVES.weights, np.array([*" '.:"]))
