"""Finds the address of a number in memory by how it changes while a game is played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .console import Console
from .layout import CARTRIDGE_RAM, HIGH_PAGE, WORK

Bytes: TypeAlias = NDArray[np.uint8]
Change: TypeAlias = Literal["changed", "unchanged", "increased", "decreased", "equals"]
CARTRIDGE_ADDRESSES = 0x2000
SPANS = ((0xC000, WORK, 0x2000), (0xFF80, HIGH_PAGE + 0x80, 0x7F))
"""First address, place in the state and number of bytes of the memory that is searched, besides the cartridge's."""


class Candidate(NamedTuple):
    """An address that is left, with its byte at the last test and now."""

    address: int
    before: int
    now: int


class MemorySearch:
    """A search over work RAM, high RAM and the first 8 KiB of the cartridge's RAM.

    Args:
        console: The console, whose memory is compared with the memory at the last test.

    Attributes:
        addresses: The addresses that are left, ascending.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        ram = min(console.cartridge.ram_bytes, CARTRIDGE_ADDRESSES)
        spans = (*SPANS, (0xA000, CARTRIDGE_RAM, ram))
        self._all = np.concatenate([np.arange(first, first + count) for first, _, count in spans])
        self._places = np.concatenate([np.arange(place, place + count) for _, place, count in spans])
        self.begin()

    def begin(self) -> None:
        """Search all addresses again, and compare with the memory of now."""
        order = np.argsort(self._all)
        self.addresses, self._left = self._all[order], self._places[order]
        self._before = self._now()

    def _now(self) -> Bytes:
        found: Bytes = self._console.bytes[self._left].copy()
        return found

    def keep(self, change: Change, number: int = 0) -> None:
        """Keep the addresses whose byte has changed like this since the last test, or equals a number.

        A number is compared with the byte and, up to 99, with its two decimal digits.
        """
        now, before = self._now(), self._before
        tests: dict[Change, Callable[[], NDArray[np.bool_]]] = {
            "changed": lambda: now != before,
            "unchanged": lambda: now == before,
            "increased": lambda: now > before,
            "decreased": lambda: now < before,
            "equals": lambda: (now == number) | ((now == number % 10 + 16 * (number // 10)) & (number < 100)),
        }
        kept = tests[change]()
        self.addresses, self._left, self._before = self.addresses[kept], self._left[kept], now[kept]

    def candidates(self, most: int) -> list[Candidate]:
        """Return the first addresses that are left."""
        values = zip(self.addresses[:most], self._before[:most], self._now()[:most], strict=True)
        return [Candidate(int(address), int(before), int(now)) for address, before, now in values]
