"""The first layer over boards, as a convolution and as the matrix products that a GPU computes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pac.envs import Field
from pac.training.nets.decoding import decoder
from pac.training.nets.line_convolution import VARIANT, CrossConvolution, joined, sum_of_rows
from pac.training.nets.torsos import BoardTorso

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
    products = learned(layer, lambda board: joined(*layer.products(board)), board)
    for found, wanted in zip(products, learned(layer, layer.forward, board), strict=True):
        assert found.shape == wanted.shape
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_weights_that_change_are_used() -> None:
    """What is computed from them is cached in inference mode only."""
    torch.manual_seed(0)
    layer = CrossConvolution(Field("board", "uint8", (3, HEIGHT, WIDTH), per="seat"), channels=4)
    board = torch.rand(ROWS, 3, HEIGHT, WIDTH)
    with torch.inference_mode():
        before = joined(*layer.products(board))
        assert torch.equal(joined(*layer.products(board)), before)
    with torch.no_grad():
        layer.column.weight.mul_(2)
    with torch.inference_mode():
        after = joined(*layer.products(board))
        assert not torch.equal(after, before)
        torch.testing.assert_close(after, layer.forward(board), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("uniform", "width"), [((0, 0), 8), ((2, 4), 16), ((5, 7), 8)])
def test_packed_boards_give_what_decoded_ones_do(uniform: tuple[int, int], width: int, dtype: torch.dtype) -> None:
    """Bit for bit, outputs and gradients: the products read the same numbers."""
    torch.manual_seed(0)
    field = Field("board", "uint8", (7, HEIGHT, width), per="seat", uniform=uniform, encoding="bits")
    layer, decode = CrossConvolution(field, channels=10), decoder(field)
    stored = torch.randint(0, 256, (ROWS, *field.stored_shape), dtype=torch.uint8)
    planes = stored.view(ROWS, 7, HEIGHT, width // 8)
    planes[:, slice(*uniform)] = torch.where(planes[:, slice(*uniform), :1, :1] > 127, 255, 0).to(torch.uint8)
    found = learned(layer, lambda stored: joined(*layer.products_of_bits(stored, dtype)), stored)
    wanted = learned(layer, lambda stored: joined(*layer.products(decode(stored, dtype))), stored)
    assert found[0].dtype == dtype
    assert found[0].any()
    assert all(map(torch.equal, found, wanted))


@pytest.mark.parametrize("layers", [1, 3])
def test_halves_that_are_not_joined_give_the_same_features(monkeypatch: pytest.MonkeyPatch, layers: int) -> None:
    """Two products that add, outputs and gradients, up to rounding."""
    torch.manual_seed(0)
    torso = BoardTorso(Field("board", "uint8", (3, HEIGHT, WIDTH), per="seat"), 8, layers)
    board, found = torch.rand(ROWS, 3, HEIGHT, WIDTH), []
    for together in (True, False):
        monkeypatch.setattr(VARIANT, "joined", together)
        features = torso.of_halves(*torso.lines.products(board))
        weighted = (features * torch.linspace(-1, 1, features.numel()).view(features.shape)).sum()
        found.append([features.detach(), *torch.autograd.grad(weighted, list(torso.parameters()))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "outputs"), [(96, 8), (97, 8), (8, 2_000)])
def test_wide_sums_are_the_sums(monkeypatch: pytest.MonkeyPatch, rows: int, outputs: int) -> None:
    """Of rows of any number and length, in float32 although the numbers are bfloat16."""
    numbers = torch.randn(rows, outputs, generator=torch.Generator().manual_seed(0)).bfloat16()
    monkeypatch.setattr(VARIANT, "wide_sums", True)
    torch.testing.assert_close(sum_of_rows(numbers), numbers.double().sum(0).bfloat16(), rtol=2**-8, atol=1e-6)
