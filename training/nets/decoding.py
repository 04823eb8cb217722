"""Decodes packed observations and masks on the device of the network."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...envs import Field, Task
from ...envs.packed import BRIGHTEST, PER_BYTE, pixels_of_bytes

FORBIDDEN = -1e9
"""Added to the logits of illegal actions. It is finite, so a row without legal actions is uniform and not NaN."""


class DecodeBits(nn.Module):
    """Rows of packed bits `(rows, bytes)` to floats `(rows, *shape)`: look-ups by bytes, on GPUs tests of bits.

    On an H200, look-ups took a third of the time of an update of PPO.
    """

    table: Tensor
    places: Tensor
    steps: Tensor

    def __init__(self, shape: tuple[int, ...], zero: float = 0.0, one: float = 1.0) -> None:
        super().__init__()
        self.shape, self.zero, self.one = shape, zero, one
        self.count = math.prod(shape)
        self.register_buffer("table", bit_table(zero, one), persistent=False)
        places = torch.tensor([1 << bit for bit in range(8)], dtype=torch.uint8)
        self.register_buffer("places", places, persistent=False)
        self.register_buffer("steps", (one - zero) / places, persistent=False)

    def forward(self, stored: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        on_cpu = stored.device.type == "cpu"
        bits = functional.embedding(stored.int(), self.table.to(dtype)) if on_cpu else self.tested(stored, dtype)
        if self.count % 8:
            bits = bits.flatten(1)[:, : self.count]
        return bits.view(-1, *self.shape)

    def tested(self, stored: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the bits of each byte as floats, with an axis of 8 at the end."""
        bits = (stored.unsqueeze(-1) & self.places) * self.steps.to(dtype)
        return bits + self.zero if self.zero else bits


class DecodePixels(nn.Module):
    """Rows of packed pixels to float32 `(rows, C, H, W)` from 0 to 1: a table look-up per byte, on GPUs shifts."""

    table: Tensor
    shifts: Tensor

    def __init__(self, observation: Field) -> None:
        super().__init__()
        self.shape, self.width = image_shape(observation), observation.shape[-1]
        self.register_buffer("table", torch.from_numpy(pixels_of_bytes() / np.float32(BRIGHTEST)), persistent=False)
        self.register_buffer("shifts", torch.arange(0, 8, 8 // PER_BYTE, dtype=torch.uint8), persistent=False)

    def forward(self, stored: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        pixels = self._on_cpu(stored) if stored.device.type == "cpu" else self.shifted(stored)
        pixels = pixels.view(*stored.shape[:-1], -1)[..., : self.width]
        return pixels.reshape(-1, *self.shape).to(dtype)

    def shifted(self, stored: Tensor) -> Tensor:
        """Return the pixels of each byte as floats, with an axis of `PER_BYTE` at the end."""
        return (stored.unsqueeze(-1) >> self.shifts & BRIGHTEST).float() / BRIGHTEST

    def _on_cpu(self, stored: Tensor) -> Tensor:
        """Look up entries of 16 bytes, which takes half the time of PyTorch's look-up of four floats."""
        from ...envs.packed_kernels import look_up  # other tasks need not load Numba

        found = torch.empty(stored.numel(), PER_BYTE)
        entries, into = (array.numpy().view(np.complex128).ravel() for array in (self.table, found))
        look_up(stored.contiguous().view(-1).numpy(), entries, into)
        return found


class DecodeNumbers(nn.Module):
    """Rows of any number type to float32; bytes are divided by their maximum, images get their channels first."""

    def __init__(self, observation: Field) -> None:
        super().__init__()
        self.scale = 1.0 / (observation.high if 1 < observation.high <= 255 else 255.0)
        self.is_bytes = observation.dtype == "uint8"
        self.layout = ChannelsFirst(observation) if is_image(observation) else nn.Identity()

    def forward(self, stored: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the rows as floats."""
        numbers: Tensor = self.layout(stored.float() * self.scale if self.is_bytes else stored.float())
        return numbers.to(dtype)


class ChannelsFirst(nn.Module):
    """Rows of images `(rows, *shape)`, or flat ones, to `(rows, C, H, W)`."""

    def __init__(self, observation: Field) -> None:
        super().__init__()
        shape = observation.shape
        self.shape = (1, *shape) if len(shape) == 2 else shape
        self.channels_last = len(shape) == 3 and _channels_last(observation)

    def forward(self, images: Tensor) -> Tensor:
        """Return the images with their channels first."""
        images = images.reshape(-1, *self.shape)
        return images.permute(0, 3, 1, 2) if self.channels_last else images


def decoder(observation: Field) -> DecodeBits | DecodePixels | DecodeNumbers:
    """Return the module that decodes the stored rows of `observation`."""
    if observation.encoding == "2bpp":
        return DecodePixels(observation)
    return DecodeBits(observation.shape) if observation.encoding == "bits" else DecodeNumbers(observation)


def mask_decoder(task: Task) -> DecodeBits | None:
    """Return the module that decodes stored masks to 0 or `FORBIDDEN`; None if all actions are legal."""
    return DecodeBits((task.num_actions,), zero=FORBIDDEN, one=0.0) if task.masked else None


def bit_table(zero: float, one: float) -> Tensor:
    """Return `(256, 8)`: the bits of each byte, lowest first, as `zero` or `one`."""
    bits = torch.arange(256).unsqueeze(1) >> torch.arange(8) & 1
    return torch.where(bits.bool(), one, zero)


def is_image(observation: Field) -> bool:
    """Whether an observation is an image.

    Images are bit planes `(C, H, W)`, packed pixels `(H, W)` or `(C, H, W)`, or bytes `(H, W)`, `(C, H, W)` or
    `(H, W, C)`. Bytes have their channels last if there are at most four channels, or fewer channels than rows.
    """
    least = 3 if observation.encoding == "bits" else 2
    return observation.dtype == "uint8" and least <= len(observation.shape) <= 3


def image_shape(observation: Field) -> tuple[int, int, int]:
    """Return `(channels, height, width)` of a decoded image."""
    if len(observation.shape) == 2:
        return 1, *observation.shape
    a, b, c = observation.shape
    return (c, a, b) if _channels_last(observation) else (a, b, c)


def _channels_last(observation: Field) -> bool:
    first, _, last = observation.shape
    return observation.encoding == "raw" and (last <= 4 or last < first)
