"""Game Boys on a GPU: whether states that are interleaved by warp are faster than states that follow each other."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...backends.device.gpu import THREADS
from ...envs import PacError, find
from ...envs.cuda import compiled_for_device
from ...envs.gameboy.consoles import LANES, console_kernel, interleave
from ...envs.gameboy.layout import FRAME_BYTES, block_bytes
from ...envs.gameboy.operations import TABLES
from ...envs.gameboy.starts import played
from ...envs.launching import SIMULATED
from .facts import Figures

LAYOUTS = {"one after the other": False, "interleaved by warp": True}


class Consoles:
    """Consoles of the built-in game on a device, in both layouts.

    Args:
        count: Number of consoles, in whole warps.
        device: Where they are.
    """

    def __init__(self, count: int, device: torch.device) -> None:
        task = find("gameboy")
        found = played(task.values["rom"], task.values["game"])
        cartridge, states = found.cartridge, found.starts[np.arange(count) % len(found.starts)]
        self._starts = {False: states, True: interleave(states)}
        self._count, self._device = count, device
        self._constants = [torch.from_numpy(np.array(each)).to(device) for each in (cartridge.rom, TABLES)]
        places = (each.data_ptr() for each in self._constants)
        size = block_bytes(cartridge.ram_bytes)
        self._cartridge = (*places, cartridge.mapper, len(cartridge.rom) // 0x4000 - 1, cartridge.ram_bytes, size)
        self._kernels: dict[bool, Any] = {}
        self._frames = torch.zeros(count, FRAME_BYTES, dtype=torch.uint8, device=device)

    def start(self, *, interleaved: bool) -> Tensor:
        """Return the start states on the device, as words in a layout."""
        return torch.from_numpy(self._starts[interleaved].copy()).to(self._device)

    def run(self, states: Tensor, frames: int, *, interleaved: bool) -> Tensor:
        """Run and draw some frames; return the newest ones, `(consoles, FRAME_BYTES)`."""
        if interleaved not in self._kernels:
            self._kernels[interleaved] = compiled_for_device(console_kernel(interleaved=interleaved))
        launch = self._kernels[interleaved][-(-self._count // THREADS), THREADS]
        launch(states.data_ptr(), self._cartridge, self._frames.data_ptr(), self._count, frames)
        return self._frames

    def check_equal(self, frames: int) -> None:
        """Check that both layouts lead to the same states and frames.

        Raises:
            PacError: They differ.
        """
        plain, tiled = (self.start(interleaved=each) for each in (False, True))
        drawn = self.run(plain, frames, interleaved=False).clone()
        same = torch.equal(drawn, self.run(tiled, frames, interleaved=True))
        if not same or not np.array_equal(interleave(plain.cpu().numpy()), tiled.cpu().numpy()):
            raise PacError("consoles with interleaved states differ from those without")


def measure_layouts(device: str, counts: tuple[int, ...], *, frames: int = 60, rounds: int = 5) -> list[Figures]:
    """Return, for each layout and number of consoles, the frames per second.

    Both layouts are measured in turns, and compared first; the fastest of some rounds counts.

    Raises:
        PacError: They lead to different states.
    """
    rows: list[Figures] = []
    for count in counts:
        consoles = Consoles(-(-count // LANES) * LANES, torch.device(device))
        consoles.check_equal(min(frames, 4))
        states = {name: consoles.start(interleaved=layout) for name, layout in LAYOUTS.items()}
        best = dict.fromkeys(LAYOUTS, float("inf"))
        for _ in range(rounds):
            for name, layout in LAYOUTS.items():
                _wait()
                begun = time.perf_counter()
                consoles.run(states[name], frames, interleaved=layout)
                _wait()
                best[name] = min(best[name], time.perf_counter() - begun)
        rows += [{"consoles": count, "states": name, "frames_per_second": count * frames / best[name]} for name in best]
    return rows


def _wait() -> None:
    if not SIMULATED:
        torch.cuda.synchronize()
