"""Chooses where the policy runs, and keeps the memory that it runs in."""

from __future__ import annotations

import ctypes

from ..envs import BadParameter, PacError

CHOICES = "auto, cpu, cuda, cuda:K or mps"

# Names of glibc's malloc.h; a threshold of mapping above 32 MiB is refused.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3


class NoSuchDevice(PacError):
    """A device that this machine, or this build of PyTorch, does not have."""

    title = "No such device"


def resolve_device(name: str) -> str:
    """Return the PyTorch device that `name` means here; `auto` prefers CUDA, then MPS, then the CPU.

    Args:
        name: `auto`, `cpu`, `cuda`, `cuda:K` or `mps`.

    Raises:
        BadParameter: It is none of these.
        NoSuchDevice: It is not here.
    """
    import torch

    kind, colon, index = name.partition(":")
    if kind not in {"auto", "cpu", "cuda", "mps"} or (colon and not (kind == "cuda" and index.isdecimal())):
        raise BadParameter(f"a device is {CHOICES}, got {name!r}")
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if kind == "cuda":
        return f"cuda:{_cuda_index(int(index or 0))}"
    if kind == "mps" and not torch.backends.mps.is_available():
        raise NoSuchDevice("asked for mps, but PyTorch finds no Apple GPU here; use --device cpu")
    return kind


def _cuda_index(index: int) -> int:
    """Return `index` if there is such a CUDA device."""
    import torch

    if not torch.cuda.is_available():
        built = f"is built for CUDA {torch.version.cuda}" if torch.version.cuda else "is a build without CUDA"
        raise NoSuchDevice(f"asked for cuda, but PyTorch finds no CUDA device (it {built}); use --device cpu")
    count = torch.cuda.device_count()
    if index >= count:
        raise NoSuchDevice(f"asked for cuda:{index}, but there are {count} CUDA devices, cuda:0 to cuda:{count - 1}")
    return index


def keep_memory() -> None:
    """Let the C library keep what large tensors leave behind, rather than hand it back and fault it in again.

    Activations and gradients of a few MiB come and go with every gradient step; with glibc's defaults each is mapped
    and unmapped, and a step takes thousands of page faults. Does nothing where the C library is another.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and hasattr(library, "gnu_get_libc_version"):
        library.mallopt(M_MMAP_THRESHOLD, 32 << 20)
        library.mallopt(M_TRIM_THRESHOLD, 1 << 30)
