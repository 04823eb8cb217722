"""Torsos: what of an image they see, and observations with several parts."""

import math

import pytest
import torch

from pac.envs import Field
from pac.training.nets.torsos import PIXEL_FEATURES, LargeImage, PartsTorso, SmallImage, initialize

HIDDEN = 5


def vector(*images: tuple[int, tuple[int, ...]], count: int) -> Field:
    """Return the field of a vector with images."""
    return Field("observation", "float32", (count,), per="seat", images=images)


@pytest.mark.parametrize(
    ("shape", "kind", "width"),
    [((6, 7, 3), SmallImage, HIDDEN), ((6, 7), SmallImage, HIDDEN), ((3, 40, 44), LargeImage, PIXEL_FEATURES)],
)
def test_each_image_has_a_torso_of_its_size(shape: tuple[int, ...], kind: type, width: int) -> None:
    """With the convolutions that an observation of only this image has."""
    torso = PartsTorso(vector((2, shape), count=3 + math.prod(shape)), 4, 2, HIDDEN)
    assert [type(part) for part in torso.parts] == [kind]
    assert torso.features(torch.rand(2, 3 + math.prod(shape))).shape == (2, torso.width) == (2, width + 3)


def test_numbers_beside_images_are_features_as_they_are() -> None:
    """Before, between and after them; what an image contains changes its own features only."""
    torso = PartsTorso(vector((1, (2, 3)), (9, (3, 2)), count=16), 4, 2, HIDDEN)
    rows = torch.arange(32.0).view(2, 16)
    found = torso.features(rows)
    assert torch.equal(found[:, [0, 6, 7, 13]], rows[:, [0, 7, 8, 15]])
    rows[:, 10] += 100
    changed = (torso.features(rows) != found).any(0)
    assert not changed[:8].any()
    assert not changed[13]
    assert changed[8:13].any()


def test_channels_of_a_part_are_the_axis_that_they_are_in_alone() -> None:
    """An image `(H, W, C)` beside other parts gets the channels that it has as a whole observation."""
    torso = PartsTorso(vector((0, (2, 3, 3)), count=18), 4, 2, HIDDEN)
    image = torch.rand(1, 2, 3, 3)
    alone = torso.parts[0](image.permute(0, 3, 1, 2))
    assert torch.equal(torso.features(image.view(1, 18)), alone)


@pytest.mark.parametrize(("height", "width"), [(64, 64), (72, 80), (37, 84), (101, 91), (210, 160), (165, 250)])
def test_every_pixel_of_a_large_image_is_seen(height: int, width: int) -> None:
    """Also the last rows and columns, which convolutions with strides and without padding may leave out."""
    torso = LargeImage(Field("image", "uint8", (1, height, width), per="seat"))
    image = torch.rand(1, 1, height, width, requires_grad=True)
    torso(image).sum().backward()
    assert image.grad is not None
    assert image.grad.count_nonzero() == height * width


def test_initial_weights_do_not_depend_on_the_number_of_threads() -> None:
    """A seed begins the same training on any number of cores, though PyTorch rounds differently."""
    found, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            layers = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GRUCell(64, 64))
            initialize(layers, {}, torch.Generator().manual_seed(0))
            assert torch.get_num_threads() == threads
            found.append(torch.cat([weight.flatten() for weight in layers.parameters()]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)
