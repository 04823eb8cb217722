"""Decoding of stored observations."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import Field
from pac.training.nets.decoding import DecodeBits, DecodePixels, decoder


@given(st.integers(1, 40), st.integers(1, 5), st.randoms(use_true_random=False))
def test_bits_are_decoded_as_the_field_says(count: int, rows: int, random) -> None:
    """Decoding on the device agrees with the field's own, for any number of bits."""
    field = Field("observation", "uint8", (count,), encoding="bits")
    stored = np.frombuffer(random.randbytes(rows * field.stored_shape[0]), np.uint8).reshape(rows, -1)
    assert np.array_equal(DecodeBits((count,))(torch.tensor(stored)).numpy(), field.decode(stored))


def test_gpus_decode_every_byte_as_the_tables_do() -> None:
    """They test or shift bits instead of looking bytes up, and find the same floats."""
    stored = torch.arange(256, dtype=torch.uint8)
    mask = DecodeBits((8,), -1e9, 0.0)
    pixels = DecodePixels(Field("observation", "uint8", (1, 4), "2bpp", low=0, high=3))
    assert torch.equal(mask.tested(stored), mask.table)
    assert torch.equal(pixels.shifted(stored), pixels.table)


@given(st.integers(1, 9), st.integers(1, 3), st.randoms(use_true_random=False))
def test_packed_pixels_are_decoded_as_the_field_says(width: int, rows: int, random) -> None:
    """Shades become floats from 0 to 1, for any width; both look-ups give the same floats."""
    field = Field("observation", "uint8", (3, width), "2bpp", low=0, high=3)
    stored = np.frombuffer(random.randbytes(rows * field.row_bytes), np.uint8).reshape(rows, *field.stored_shape)
    decode = DecodePixels(field)
    decoded = decode(torch.tensor(stored))
    assert torch.equal(decoded[:, 0], torch.from_numpy(field.decode(stored) / np.float32(3)))
    entries = decode.table[torch.tensor(stored).long()].reshape(rows, 1, 3, -1)
    assert torch.equal(decoded, entries[..., :width])


def test_images_are_scaled_and_have_their_channels_first() -> None:
    """Bytes `(H, W, 3)` become floats 0 to 1 `(3, H, W)`."""
    field = Field("observation", "uint8", (4, 5, 3), low=0, high=255)
    images = decoder(field)(torch.full((2, 4, 5, 3), 255, dtype=torch.uint8))
    assert images.shape == (2, 3, 4, 5)
    assert torch.all(images == 1)
