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

    @property
    def tall(self) -> int:
        """Dots of a character on top of each other."""
        return len(self.weights)

    @property
    def wide(self) -> int:
        """Dots of a character side by side."""
        return len(self.weights[0])

    def codes(self, bits: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return bits `(H, W)` as indices of characters, padded with zeros; 0 is a space."""
        tall, wide = self.tall, self.wide
        missing = -len(bits) % tall, -bits.shape[1] % wide
        whole = np.pad(bits, ((0, missing[0]), (0, missing[1]))) if any(missing) else bits
        cells = whole.reshape(len(whole) // tall, tall, whole.shape[1] // wide, wide)
        found: NDArray[np.int64] = np.einsum("htwc,tc->hw", cells, self.weights)
        return found

    def lines(self, bits: NDArray[np.bool_]) -> list[str]:
        """Return bits `(H, W)` as lines of characters, padded with zeros."""
        return ["".join(line) for line in self.table[self.codes(bits)].tolist()]


BRAILLE = Dots(
    np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]),
    np.array([" ", *map(chr, range(0x2801, 0x2900))]),
)
HALVES = Dots(np.array([[1], [2]]), np.array([*" ▀▄█"]))
PLAIN_HALVES = Dots(HALVES.weights, np.array([*" '.:"]))
