"""Packed pixels: packing, unpacking, distances."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pac.envs import Field
from pac.envs.packed import pack_pixels, packed_distances, packed_width

SIZES = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 11))
SHADES = st.integers(0, 3)


def bits_of(pixels) -> list[int]:
    """The bytes of a row of pixels, bit by bit."""
    packed = [0] * packed_width(len(pixels))
    for at, shade in enumerate(pixels):
        packed[at // 4] |= int(shade) << 2 * (at % 4)
    return packed


@given(SIZES.flatmap(lambda size: arrays(np.uint8, size, elements=SHADES)))
def test_packing_and_unpacking_are_inverse(images):
    """A row of pixels is whole bytes, the first pixel of each in its lowest bits; the field unpacks them."""
    field = Field("observation", "uint8", images.shape[1:], "2bpp")
    packed = pack_pixels(images)
    assert packed.shape == (len(images), *field.stored_shape)
    assert packed[0, 0].tolist() == bits_of(images[0, 0])
    assert np.array_equal(field.decode(packed), images)


@given(SIZES.flatmap(lambda size: st.tuples(*[arrays(np.uint8, size, elements=SHADES)] * 2)))
def test_distances_are_those_of_unpacked_images(pair):
    """The table gives the sum of the absolute differences of all pixels, for any number of bytes."""
    images, goals = (part.astype(np.int64) for part in pair)
    expected = np.abs(images - goals[0]).sum(axis=(1, 2))
    assert packed_distances(pack_pixels(images), pack_pixels(goals[0])).tolist() == expected.tolist()
