"""Which GPU is read, and its figures; no test has a real one."""

import math
import sys
from types import ModuleType

import numpy as np
import pynvml
import pytest

from pac.training.diagnosis.gpu import THROTTLES, reasons
from pac.training.session.gpu import SM, Gpu, cuda_uuid
from pac.training.telemetry.records import SYSTEM

from .fake_nvml import Device, FakeNvml

SMALL = Device("GPU-aaaa-1", "Small", 8 << 30, load=10)
LARGE = Device("GPU-bbbb-2", "Large", 80 << 30, load=90)
PART = Device("MIG-cccc-3", "Divided MIG 3g.71gb", 71 << 30)
OTHER = Device("MIG-dddd-4", "Divided MIG 1g.18gb", 18 << 30)
DIVIDED = Device("GPU-eeee-5", "Divided", 141 << 30, instances=[None, PART, OTHER])


def read(device, *devices, visible=None, uuid=None):
    """Return the name of the GPU that is read."""
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    gpu = Gpu(FakeNvml(*devices), uuid=lambda _: uuid, environment=environment)
    return gpu.read(device)["gpu_name"]


CHOSEN: dict[str, list[tuple[str, str | None]]] = {
    "Small": [
        ("cuda:0", None),
        ("cuda", None),
        ("cpu", None),
        ("", None),
        *(("cuda:1", ids) for ids in ("1,0", "GPU-bbbb-2,GPU-aaaa-1")),
    ],
    "Large": [("cuda:1", None), ("cpu", "1"), *(("cuda:0", ids) for ids in ("1,0", " 1 ", "GPU-bbbb-2", "GPU-bb"))],
    "": [*(("cuda:0", visible) for visible in ("GPU-", "", "-1", "7", "nonsense")), ("cuda:5", "0,1")],
}


@pytest.mark.parametrize(("device", "visible", "name"), [(*case, name) for name in CHOSEN for case in CHOSEN[name]])
def test_the_gpu_is_the_one_that_the_policy_runs_on(device, visible, name):
    """By its number among those that the process may use, given as numbers or as unique ids; otherwise none."""
    assert read(device, SMALL, LARGE, visible=visible) == name


def test_the_unique_id_from_pytorch_has_priority():
    """CUDA puts the fastest GPU first. Before PyTorch has started, the order of the bus is the best guess."""
    assert read("cuda:0", SMALL, LARGE, uuid="GPU-bbbb-2") == "Large"
    known = iter((None, "bbbb-2", "bbbb-2"))
    gpu = Gpu(FakeNvml(SMALL, LARGE), uuid=lambda _: next(known), environment={})
    assert [gpu.read("cuda:0")["gpu_name"] for _ in range(3)] == ["Small", "Large", "Large"]


@pytest.mark.parametrize(
    ("visible", "uuid", "name"),
    [
        (None, None, PART.name),
        (None, "cccc-3", PART.name),
        (None, "eeee-5", PART.name),
        ("1", None, PART.name),
        ("MIG-dddd-4", None, OTHER.name),
        ("MIG-dddd-4", "eeee-5", OTHER.name),
        ("GPU-eeee-5", None, PART.name),
    ],
)
def test_a_mig_instance_is_read_instead_of_its_gpu(visible, uuid, name):
    """The one that is named, else the first, which is the one that CUDA uses."""
    devices = (DIVIDED,) if visible is None else (SMALL, DIVIDED)
    assert read("cuda:0", *devices, visible=visible, uuid=uuid) == name


def test_the_load_of_a_mig_instance_is_unknown_and_a_long_name_is_cut():
    """NVML provides only its memory; the figures fit into the record of telemetry."""
    found = Gpu(FakeNvml(DIVIDED), uuid=lambda _: None, environment={}).read("cuda:0")
    assert (found["vram"], found["vram_total"]) == (PART.total // 4, PART.total)
    long = Device("MIG-1", "é" * 100, 1 << 30)
    record = np.zeros((), SYSTEM.dtype)
    SYSTEM.put(record, Gpu(FakeNvml(long), uuid=lambda _: None, environment={}).read("cuda:0"))
    assert record["gpu_name"].item().decode().startswith("éé")
    assert math.isnan(found["gpu"])
    assert np.isnan(record["gpu"])


def seen(gpu):
    """Return what is known of the GPU that was read."""
    found = gpu.reading()
    assert found is not None
    return found


def test_clock_power_and_throttling_are_read_where_nvml_has_them():
    """An idle GPU is not throttled; of a MIG instance NVML knows only the memory."""
    hot = Device("GPU-ffff-6", "Hot", 141 << 30, load=97, slow=True)
    gpu = Gpu(FakeNvml(hot), uuid=lambda _: None, environment={})
    assert gpu.reading() is None
    gpu.read("cuda:0")
    found = seen(gpu)
    assert found.numbers == (97, hot.total // 4, 1200, 650.5, 4)
    assert (found.clock_limit, found.power_limit, found.total, reasons(found.throttled)) == (
        *(1980, 700, hot.total),
        ["power limit"],
    )
    for device, throttled in ((SMALL, 1), (PART, 0)):
        gpu = Gpu(FakeNvml(device), uuid=lambda _: None, environment={})
        gpu.read("cuda:0")
        assert (seen(gpu).throttled, reasons(seen(gpu).throttled)) == (throttled, [])
    assert np.isnan(seen(gpu).numbers[0:4]).tolist() == [True, False, True, True]
    assert {name: bit for bit, name in THROTTLES.items()}["power limit"] == pynvml.nvmlClocksThrottleReasonSwPowerCap
    assert SM == pynvml.NVML_CLOCK_SM


def test_all_gpus_are_listed_with_their_memory():
    """For a divided GPU, those of an instance: NVML may not permit to read the whole."""
    listed = Gpu(FakeNvml(SMALL, DIVIDED)).all()
    assert listed == ["Small 8.0 GiB", "Divided MIG 3g.71gb 71.0 GiB"]
    assert Gpu(FakeNvml(broken=True)).all() == []


@pytest.mark.parametrize("nvml", [FakeNvml(broken=True), FakeNvml()])
def test_a_missing_driver_is_loaded_once(nvml):
    """A machine without GPUs does not try to load the driver every second."""
    gpu = Gpu(nvml, environment={})
    assert [gpu.read("cpu")["gpus"] for _ in range(3)] == [0, 0, 0]
    assert nvml.begun == 1


@pytest.mark.parametrize("parts", [None, {}, {"cuda": ModuleType("torch.cuda")}], ids=["loaded", "torch", "torch.cuda"])
def test_a_process_that_does_not_use_cuda_has_no_unique_id(monkeypatch, parts):
    """The call does not initialize CUDA, nor use a module that the training thread is importing meanwhile."""
    if parts is not None:
        torch = ModuleType("torch")
        vars(torch).update(parts)
        monkeypatch.setitem(sys.modules, "torch", torch)
    assert cuda_uuid(0) is None
    assert parts is not None or "torch" not in sys.modules or not sys.modules["torch"].cuda.is_initialized()
