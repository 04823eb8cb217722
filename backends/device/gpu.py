"""Launches a game's CUDA kernels on PyTorch's stream; in Numba's CUDA simulator, runs them as Python."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...envs.cuda import compiled_for_device, cuda, kernel_of, phase_of, step_names
from ...envs.driver import NativeEnvironments
from ...envs.launching import SIMULATED, Illegal
from ...envs.native import ALL_LEGAL
from ...envs.slots import next_slot
from .budget import stride_of
from .memory import DeviceMemory

THREADS = 64
"""Threads of a block. Kernels use many registers, so larger blocks leave more of a multiprocessor unused."""
NEVER = 1 << 40
"""A slot after all others."""

compiled: dict[tuple[Hashable, ...], Any] = {}
"""Kernels of this process, which another number of environments uses, too."""

log = logging.getLogger(__name__)


class CudaLauncher:
    """Runs kernels with a thread per environment, each of which has working memory of its own.

    A kernel is compiled when it is first needed, which takes half a minute or more. Nothing here waits for the GPU,
    except `illegal`.

    Args:
        envs: All environments, made over `memory.host`.
        memory: The buffer on the device.
    """

    def __init__(self, envs: NativeEnvironments, memory: DeviceMemory) -> None:
        self._envs, self._memory, self._num_envs = envs, memory, memory.num_envs
        self._own = [each for each in envs.packed.arrays if each.works]
        self._places = tuple(each.place for each in self._own)
        self._sizes = tuple(stride_of(each) for each in self._own) or (0,)
        blocks = {id(each): memory.block(stride_of(each) * self._num_envs) for each in self._own}
        words = envs.packed.moved(
            lambda each: blocks[id(each)].data_ptr() if id(each) in blocks else memory.address_of(each)
        )
        self._mask = memory.array((self._num_envs,), torch.bool)
        self._illegal = memory.array((self._num_envs, 2), torch.int64, ALL_LEGAL)
        launch = (self._mask.data_ptr(), self._num_envs, self._illegal.data_ptr(), self._num_envs, 2)
        self._arguments = tuple(words.tolist()), self._sizes, launch, self._num_envs
        self._streams: dict[int, Any] = {}
        self._step_names = step_names(envs)

    def reset(self, mask: NDArray[np.bool_], slot: int, seed: int) -> None:
        """Begin the next episode of the masked environments, as `Launcher.reset` says."""
        self._mask.copy_(torch.from_numpy(mask))
        self._memory.transferred += mask.nbytes
        self._launch("reset", slot, int(np.uint64(seed).astype(np.int64)))

    def step(self, slot: int) -> None:
        """Step all environments whose action is legal, as `Launcher.step` says."""
        for name in self._step_names:
            self._launch(name, slot, next_slot(slot, self._memory.slots))

    def show(self, slot: int) -> None:
        """Write the observations of the states, as `Launcher.show` says."""
        self._launch("show", slot, slot)

    def illegal(self) -> Illegal | None:
        """Return the first illegal action since the last call; wait for the steps."""
        noted = self._illegal
        row, slot = noted[torch.where(noted[:, 0] == ALL_LEGAL, NEVER, noted[:, 1]).argmin()].tolist()
        self._memory.transferred += noted[0].nbytes
        if row == ALL_LEGAL:
            return None
        noted.fill_(ALL_LEGAL)
        return Illegal(row, slot)

    def _launch(self, name: str, slot: int, last: int) -> None:
        with self._device():
            self._compiled(name)[self._grid(name)](*self._arguments, slot, last)

    def _compiled(self, name: str) -> Any:
        key = name, self._envs.kernels, len(self._arguments[0]), self._places, self._memory.where.index
        if key not in compiled:
            begun = time.perf_counter()
            compiled[key] = compiled_for_device(kernel_of(self._envs, name))
            log.info("compiled the kernel %s for the GPU in %.0f s", name, time.perf_counter() - begun)
        return compiled[key]

    def _grid(self, name: str) -> tuple[Any, ...]:
        """Return blocks, threads and PyTorch's current stream, in which networks compute before and after."""
        phase = phase_of(self._envs, name)
        blocks = -(-self._num_envs * (phase.threads if phase else 1) // THREADS)
        if SIMULATED:
            return blocks, THREADS
        handle = torch.cuda.current_stream(self._memory.where).cuda_stream
        if handle not in self._streams:
            self._streams[handle] = cuda.external_stream(handle)
        return blocks, THREADS, self._streams[handle]

    def _device(self) -> AbstractContextManager[Any]:
        index = self._memory.where.index or 0
        return nullcontext() if SIMULATED or not index else cuda.gpus[index]
