"""The first layer over boards, as a convolution and as the matrix products that a GPU computes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pac.envs import Field
from pac.training.nets.line_convolution import CrossConvolution

ROWS, HEIGHT, WIDTH = 5, 6, 11


def learned(layer: CrossConvolution, function: Callable[[Tensor], Tensor], board: Tensor) -> list[Tensor]:
    """Return the outputs of a function of the layer, and the gradients of a weighted sum of them."""
    outputs = function(board)
    weights = torch.linspace(-1, 1, outputs.numel()).view(outputs.shape)
    return [outputs.detach(), *torch.autograd.grad((outputs * weights).sum(), list(layer.parameters()))]


@pytest.mark.parametrize("uniform", [(0, 0), (0, 3), (2, 4), (5, 7)])
def test_products_equal_the_convolution(uniform: tuple[int, int]) -> None:
    """Outputs and gradients, for boards that are shorter and longer than the kernel, up to rounding."""
    torch.manual_seed(0)
    layer = CrossConvolution(Field("board", "uint8", (7, HEIGHT, WIDTH), per="seat", uniform=uniform), channels=10)
    board = torch.rand(ROWS, 7, HEIGHT, WIDTH)
    board[:, slice(*uniform)] = board[:, slice(*uniform), :1, :1]
    for found, wanted in zip(learned(layer, layer.products, board), learned(layer, layer.forward, board), strict=True):
        assert found.shape == wanted.shape
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_weights_that_change_are_used() -> None:
    """What is computed from them is cached in inference mode only."""
    torch.manual_seed(0)
    layer = CrossConvolution(Field("board", "uint8", (3, HEIGHT, WIDTH), per="seat"), channels=4)
    board = torch.rand(ROWS, 3, HEIGHT, WIDTH)
    with torch.inference_mode():
        before = layer.products(board)
        assert torch.equal(layer.products(board), before)
    with torch.no_grad():
        layer.column.weight.mul_(2)
    with torch.inference_mode():
        assert not torch.equal(layer.products(board), before)
        torch.testing.assert_close(layer.products(board), layer.forward(board), rtol=1e-4, atol=1e-4)
