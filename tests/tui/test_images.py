"""Observations that are images are shown as images."""

import numpy as np
import pytest

from pac.tui.drawing.styles import width_of
from pac.tui.views.images import image_rows, images_in


@pytest.mark.parametrize(
    ("shape", "dtype", "found"),
    [
        ((210, 160, 3), "uint8", (1, 210, 160, 3)),
        ((3, 64, 64), "uint8", (1, 64, 64, 3)),
        ((84, 84, 4), "uint8", (4, 84, 84, 3)),
        ((4, 84, 84), "float32", (4, 84, 84, 3)),
        ((84, 84), "uint8", (1, 84, 84, 3)),
        ((7, 7, 3), "uint8", None),
        ((20, 16, 8), "uint8", None),
        ((100,), "float32", None),
    ],
)
def test_images_are_recognized(shape, dtype, found):
    """Three channels are colors, others a gray image each; small or flat arrays are not images."""
    pictures = images_in(np.zeros(shape, dtype))
    assert (None if pictures is None else pictures.shape) == found


def test_colors_and_shades_are_those_of_the_observation():
    """Bytes are unchanged, numbers are scaled, NaN is mapped to zero."""
    picture = np.random.default_rng(0).integers(0, 256, (40, 30, 3), np.uint8)
    seen = images_in(picture)
    assert seen is not None
    assert np.array_equal(seen[0], picture)
    numbers = np.full((20, 20), -1.0, np.float32)
    numbers[0, 0], numbers[1, 1] = 1.0, np.nan
    shades = images_in(numbers)
    assert shades is not None
    assert (shades[0, 0, 0, 0], shades[0, 1, 1, 0], shades[0, 2, 2, 0]) == (255, 127, 0)


@pytest.mark.parametrize(("width", "height"), [(140, 50), (60, 20), (30, 8), (4, 2)])
@pytest.mark.parametrize("count", [1, 4])
def test_images_fit_their_area(width, height, count):
    """At the largest scale that fits; never in more lines than there are."""
    rows = image_rows(np.zeros((count, 84, 84, 3), np.uint8), width, height)
    assert len(rows) <= height
    if width >= 30:
        assert all(width_of(row) <= width + 1 for row in rows)
