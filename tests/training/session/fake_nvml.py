"""A machine's GPUs as NVML's API describes them: what is not known of a device raises the error that it documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pynvml


@dataclass(eq=False)
class Device:
    """A GPU, or a MIG instance of one."""

    uuid: str
    name: str
    total: int
    load: int = 0
    slow: bool = False
    instances: list[Device | None] = field(default_factory=list)

    @property
    def is_instance(self) -> bool:
        return self.uuid.startswith("MIG-")


class FakeNvml:
    """Stands for the module `pynvml`.

    Args:
        devices: The GPUs, in the order of the PCI bus.
        broken: Whether there is no driver.
    """

    NVMLError = pynvml.NVMLError

    def __init__(self, *devices: Device, broken: bool = False):
        self.devices, self.broken, self.begun = devices, broken, 0

    def nvmlInit(self):
        self.begun += 1
        if self.broken:
            raise pynvml.NVMLError_LibraryNotFound

    def nvmlDeviceGetCount(self):
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index):
        if index >= len(self.devices):
            raise pynvml.NVMLError_InvalidArgument
        return self.devices[index]

    def nvmlDeviceGetHandleByUUID(self, uuid):
        for device in self.devices:
            for one in (device, *device.instances):
                if one is not None and one.uuid == uuid:
                    return one
        raise pynvml.NVMLError_NotFound

    def nvmlDeviceGetUUID(self, device):
        return device.uuid

    def nvmlDeviceGetName(self, device):
        return device.name

    def nvmlDeviceGetMigMode(self, device):
        if device.is_instance:
            raise pynvml.NVMLError_InvalidArgument
        if "MIG" not in device.name and not device.instances:
            raise pynvml.NVMLError_NotSupported
        return [int(bool(device.instances)), int(bool(device.instances))]

    def nvmlDeviceGetMaxMigDeviceCount(self, device):
        return len(device.instances)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device, index):
        found = device.instances[index]
        if found is None:
            raise pynvml.NVMLError_NotFound
        return found

    def nvmlDeviceGetMemoryInfo(self, device):
        if device.instances:
            raise pynvml.NVMLError_NoPermission
        return SimpleNamespace(used=device.total // 4, total=device.total)

    def nvmlDeviceGetClockInfo(self, device, kind):
        if device.is_instance:
            raise pynvml.NVMLError_NotSupported
        assert kind == pynvml.NVML_CLOCK_SM
        return 1200 if device.slow else 1980

    def nvmlDeviceGetMaxClockInfo(self, _device, kind):
        assert kind == pynvml.NVML_CLOCK_SM
        return 1980

    def nvmlDeviceGetPowerUsage(self, device):
        if device.is_instance:
            raise pynvml.NVMLError_NotSupported
        return 650_500

    def nvmlDeviceGetEnforcedPowerLimit(self, _device):
        return 700_000

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, device):
        if device.is_instance:
            raise pynvml.NVMLError_NotSupported
        return pynvml.nvmlClocksThrottleReasonSwPowerCap if device.slow else pynvml.nvmlClocksThrottleReasonGpuIdle

    def nvmlDeviceGetUtilizationRates(self, device):
        if device.is_instance:
            raise pynvml.NVMLError_InvalidArgument
        if device.instances:
            raise pynvml.NVMLError_NotSupported
        return SimpleNamespace(gpu=device.load, memory=1)
