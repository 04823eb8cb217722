"""Observations are drawn as pictures, whatever their axes and their range are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.spaces.pictures import HUES, seen


@given(
    st.tuples(st.integers(16, 40), st.integers(16, 40)),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from("abcd"),
)
def test_all_forms_of_one_picture_look_alike(size, frames, color, first, form):
    """Bytes, 0 to 1, -1 to 1; channels first or last; alone or as the newest of stacked frames."""
    (height, width), channels = size, 3 if color else 1
    if not color and frames == 3:
        frames = 4  # three gray frames are a colored picture
    drawn = np.random.default_rng(height * width).integers(0, 256, (frames, height, width, channels)).astype(np.uint8)
    stacked = np.moveaxis(drawn, 0, 2).reshape(height, width, frames * channels)
    if first:
        stacked = np.moveaxis(stacked, -1, 0)
    dtype, low, high = {
        "a": ("uint8", 0, 255), "b": ("float32", 0, 1), "c": ("float32", -1, 1), "d": ("float64", 0, 255)
    }[form]  # fmt: skip
    observation = stacked if form == "a" else (low + (high - low) * (stacked / 255)).astype(dtype)
    found = seen(stacked.shape, dtype, low, high)
    assert found is not None
    assert (found.kind, found.frames) == ("color" if color else "gray", frames)
    assert np.array_equal(found.picture(observation), np.broadcast_to(drawn[-1], (height, width, 3)))
    beside = np.concatenate(list(np.broadcast_to(drawn, (frames, height, width, 3))), axis=1)
    assert np.array_equal(found.picture(observation, beside=True), beside)
    assert found.legend == ()


@given(st.integers(2, 12), st.booleans())
def test_planes_have_a_color_each(count, first):
    """A cell has the color of its plane, which the legend names; cells without one are dark."""
    codes = np.random.default_rng(count).integers(0, count + 1, (20, 15))
    planes = codes[..., None] == np.arange(1, count + 1)
    found = seen((count, 20, 15) if first else (20, 15, count), "bool")
    assert found is not None
    picture = found.picture(np.moveaxis(planes, -1, 0) if first else planes)
    names = dict(found.legend)
    for code in range(1, count + 1):
        assert all(f"#{bytes(color).hex()}" == names[f"plane {code - 1}"] for color in picture[codes == code])
    assert picture[codes == 0].max(initial=0) < min(max(bytes.fromhex(hue[1:])) for hue in HUES)


def test_distances_are_drawn_from_the_nearest_to_the_farthest():
    """Numbers without a range have colors between two that the legend names; what is not finite is the lowest."""
    depth = np.linspace(2, 700, 400, dtype=np.float32).reshape(20, 20)
    depth[0, 1] = math.inf
    found = seen((20, 20), "float32", 0, math.inf)
    assert found is not None
    picture = found.picture(depth)
    (_, lowest), (_, highest) = found.legend
    assert [f"#{bytes(picture[at]).hex()}" for at in ((0, 0), (0, 1), (19, 19))] == [lowest, lowest, highest]


@pytest.mark.parametrize("shape", [(), (100,), (7, 7, 3), (16, 5), (20, 20, 20), (2, 3, 4, 5), (0, 20)])
def test_what_does_not_look_like_a_picture_is_none(shape):
    """Vectors, small grids of numbers, and cubes."""
    assert seen(shape, "float32", 0, 1) is None
