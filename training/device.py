"""Chooses the device of the policy, and sets up the memory allocator."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple

from ..envs import BadParameter, PacError
from .torchrun import local_rank

CHOICES = "auto, cpu, cuda, cuda:K or mps"

MEMORY_VARIABLE = "PAC_DEVICE_MEMORY"

# From glibc's malloc.h, which refuses a threshold for mapping above 32 MiB.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3


class NoSuchDevice(PacError):
    """This machine or this build of PyTorch does not have the device."""

    title = "No such device"


class TrainingPlace(NamedTuple):
    """Where a training will be.

    Attributes:
        device: The device of the policy.
        rows: Rows of all processes.
        resident: Whether the environments are on the device, too.
    """

    device: str
    rows: int
    resident: bool


def resolve_device(name: str) -> str:
    """Return the PyTorch device for `name`; `auto` is CUDA if available, else MPS, else the CPU.

    Of the processes that torchrun starts on a machine, each gets a CUDA device of its own, as far as there are enough.

    Args:
        name: `auto`, `cpu`, `cuda`, `cuda:K` or `mps`.

    Raises:
        BadParameter: The name is none of these.
        NoSuchDevice: The device is not available.
    """
    import torch

    kind, colon, index = name.partition(":")
    if kind not in {"auto", "cpu", "cuda", "mps"} or (colon and not (kind == "cuda" and index.isdecimal())):
        raise BadParameter(f"--device expects {CHOICES}, got {name!r}")
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if kind == "cuda":
        return f"cuda:{_cuda_index(int(index) if colon else local_rank() % max(1, torch.cuda.device_count()))}"
    if kind == "mps" and not torch.backends.mps.is_available():
        raise NoSuchDevice("--device mps needs an Apple GPU, and PyTorch finds none; use --device cpu")
    return kind


def _cuda_index(index: int) -> int:
    import torch

    if not torch.cuda.is_available():
        built = f"is built for CUDA {torch.version.cuda}" if torch.version.cuda else "is a build without CUDA"
        raise NoSuchDevice(f"--device cuda needs a CUDA device, and PyTorch finds none (it {built}); use --device cpu")
    count = torch.cuda.device_count()
    if index >= count:
        raise NoSuchDevice(
            f"--device cuda:{index} does not exist; there are {count} CUDA devices, cuda:0 to cuda:{count - 1}"
        )
    return index


def envs_device(backend: str, device: str) -> str:
    """Return the device on which environments may be whose policy is on `device`: the same for the backend `device`.

    With PAC_DEVICE_MEMORY=apart, a policy on the CPU has environments in memory that the host reads as that of a GPU.
    """
    if backend != "device":
        return "cpu"
    if device == "cpu":
        return "apart" if os.environ.get(MEMORY_VARIABLE) == "apart" else "cpu"
    return device if device.startswith("cuda") else "cpu"


def keep_memory() -> None:
    """Let the C library keep the memory of freed tensors instead of returning it to the system.

    Each gradient step allocates and frees activations and gradients of a few MiB. With glibc's defaults each of them is
    mapped and unmapped, which costs thousands of page faults per step. This has no effect with other C libraries.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(library, "gnu_get_libc_version"):
        library.mallopt(M_MMAP_THRESHOLD, 32 << 20)
        library.mallopt(M_TRIM_THRESHOLD, 1 << 30)
