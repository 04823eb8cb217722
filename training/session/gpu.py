"""Load and memory of the GPU that a policy runs on, from NVML."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from ...backends.system.segment import human_bytes
from ...envs.unknown import UNKNOWN
from ..diagnosis.gpu import GpuReading
from ..telemetry.records import SYSTEM

VISIBLE = "CUDA_VISIBLE_DEVICES"
MIG = "MIG-"
KINDS = ("GPU-", MIG)
"""Prefixes of the unique ids of whole GPUs and of MIG instances, which PyTorch leaves out."""


SM = 1
"""NVML's number of the clock of the streaming multiprocessors."""


def cuda_uuid(index: int) -> str | None:
    """Return the unique id of PyTorch's device `cuda:index`; None where PyTorch does not use CUDA in this process."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)  # another thread may be importing PyTorch
    if cuda is None or not getattr(cuda, "is_initialized", bool)():
        return None
    return str(getattr(cuda.get_device_properties(index), "uuid", "")) or None


class Gpu:
    """Reads load and memory of one GPU, or of a MIG instance of one.

    Args:
        nvml: The module `pynvml`, or an object with the same functions; imported if None.
        uuid: Returns the unique id of the device `cuda:K`, or None if it is not known yet.
        environment: Where `CUDA_VISIBLE_DEVICES` is.
    """

    def __init__(
        self,
        nvml: Any = None,
        *,
        uuid: Callable[[int], str | None] = cuda_uuid,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._nvml, self._uuid, self._environment = nvml, uuid, environment
        self._found: tuple[str, str | None] | None = None
        self._handle: Any = None

    def read(self, device: str) -> dict[str, Any]:
        """Return the fields of the record `SYSTEM` about the GPU that PyTorch calls `device`.

        For another device, such as the CPU, it is the first GPU that this process may use. `gpus` is 0 without a GPU.
        Load in % is NaN and memory in bytes is 0 if NVML does not provide them, as the load of a MIG instance.
        """
        nothing = {"gpus": 0, "gpu": UNKNOWN, "vram": 0, "vram_total": 0, "gpu_name": ""}
        if not self._count:
            return nothing
        index = int(device.partition(":")[2] or 0) if device.startswith("cuda") else 0
        self._find(device, index)
        if self._handle is None:
            return nothing
        nvml, handle = self._nvml, self._handle
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        load = self._ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        name = _text(self._ask(nvml.nvmlDeviceGetName, handle))
        return {
            "gpus": min(self._count, np.iinfo(SYSTEM.dtype["gpus"]).max),
            "gpu": UNKNOWN if load is None else load.gpu,
            "vram": 0 if memory is None else memory.used,
            "vram_total": 0 if memory is None else memory.total,
            "gpu_name": name,
        }

    def reading(self) -> GpuReading | None:
        """Return what is known of the GPU that was read last, for curves; None without one, or before `read`."""
        nvml, handle = self._nvml, self._handle
        if handle is None:
            return None

        def asked(function: str, *arguments: Any) -> Any:
            known = getattr(nvml, function, None)  # versions of the package differ
            return None if known is None else self._ask(known, handle, *arguments)

        memory, load = asked("nvmlDeviceGetMemoryInfo"), asked("nvmlDeviceGetUtilizationRates")
        throttled = asked("nvmlDeviceGetCurrentClocksEventReasons")
        if throttled is None:
            throttled = asked("nvmlDeviceGetCurrentClocksThrottleReasons")
        return GpuReading(
            load=UNKNOWN if load is None else load.gpu,
            memory=UNKNOWN if memory is None else memory.used,
            clock=_number(asked("nvmlDeviceGetClockInfo", SM)),
            power=_number(asked("nvmlDeviceGetPowerUsage")) / 1000,
            throttled=throttled or 0,
            clock_limit=_number(asked("nvmlDeviceGetMaxClockInfo", SM)),
            power_limit=_number(asked("nvmlDeviceGetEnforcedPowerLimit")) / 1000,
            total=UNKNOWN if memory is None else memory.total,
            name=_text(asked("nvmlDeviceGetName")),
        )

    def all(self) -> list[str]:
        """Return name and memory of each GPU of the machine; for a divided one, those of its first MIG instance."""
        handles = (self._ask(self._nvml.nvmlDeviceGetHandleByIndex, index) for index in range(self._count))
        return [self._described(self._instance(handle)) for handle in handles if handle is not None]

    def _described(self, handle: Any) -> str:
        name, memory = (
            self._ask(ask, handle) for ask in (self._nvml.nvmlDeviceGetName, self._nvml.nvmlDeviceGetMemoryInfo)
        )
        return _text(name) if memory is None else f"{_text(name)} {human_bytes(memory.total)}"

    @cached_property
    def _count(self) -> int:
        """The number of GPUs; 0 without a driver. NVML is loaded when this is first needed."""
        with suppress(ImportError):
            if self._nvml is None:
                import pynvml

                self._nvml = pynvml
            with suppress(self._nvml.NVMLError):  # for example, no driver
                self._nvml.nvmlInit()
                return int(self._nvml.nvmlDeviceGetCount())
        return 0

    def _find(self, device: str, index: int) -> None:
        """Get the handle of the device; again once PyTorch knows its unique id."""
        uuid = self._uuid(index) if device.startswith("cuda") else None
        if self._found != (device, uuid):
            self._found = device, uuid
            handle = self._handle_of(index, uuid)
            self._handle = None if handle is None else self._instance(handle)

    def _handle_of(self, index: int, uuid: str | None) -> Any:
        """Return the handle of the process's CUDA device number `index`; None if there is no such device."""
        visible = self._environment.get(VISIBLE)
        names = None if visible is None else [name.strip() for name in visible.split(",")]
        name = str(index) if names is None else names[index] if index < len(names) else ""
        if uuid is not None and not name.startswith(MIG):
            return self._of_uuid(uuid)
        if name.isdecimal():
            # NVML numbers devices as CUDA_DEVICE_ORDER=PCI_BUS_ID does; by default, CUDA may put the fastest first.
            return self._ask(self._nvml.nvmlDeviceGetHandleByIndex, int(name))
        return self._of_uuid(name) if name.startswith(KINDS) else None

    def _of_uuid(self, uuid: str) -> Any:
        """Return the handle of a unique id, which may lack its prefix, or its end if only one device matches."""
        nvml = self._nvml
        for whole in (uuid,) if uuid.startswith(KINDS) else (f"{kind}{uuid}" for kind in KINDS):
            handle = self._ask(nvml.nvmlDeviceGetHandleByUUID, whole)
            if handle is not None:
                return handle
        handles = (self._ask(nvml.nvmlDeviceGetHandleByIndex, index) for index in range(self._count))
        known = [(one, _text(self._ask(nvml.nvmlDeviceGetUUID, one))) for one in handles if one is not None]
        fitting = [one for one, whole in known if whole.startswith(uuid)]
        return fitting[0] if len(fitting) == 1 else None

    def _instance(self, handle: Any) -> Any:
        """Return the first MIG instance of a divided GPU, which is the one that CUDA uses; else the GPU."""
        nvml = self._nvml
        mode = self._ask(nvml.nvmlDeviceGetMigMode, handle)
        if mode is None or not mode[0]:
            return handle
        for index in range(self._ask(nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
            instance = self._ask(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
            if instance is not None:
                return instance
        return handle

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return NVML's answer; None if it has none or is not permitted to give it."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError:
            return None


def _number(value: float | None) -> float:
    return UNKNOWN if value is None else value


def _text(name: str | bytes | None) -> str:
    return name.decode() if isinstance(name, bytes) else name or ""
