"""Layers without autograd, against autograd."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pac.training.nets.dense import FEW, RELU, SMALL, TANH, DenseLayers, Product, cpu_product, onednn_product, product


@pytest.mark.parametrize("width", [5, 320])
@pytest.mark.parametrize("multiply", [product, onednn_product, cpu_product])
@pytest.mark.parametrize(("after", "function"), [(RELU, torch.relu), (TANH, torch.tanh)])
def test_layers_have_the_gradient_of_autograd(
    multiply: Product, width: int, after: str, function: Callable[[Tensor], Tensor]
) -> None:
    """Of weights, biases and inputs, with both libraries and by the faster one."""
    rows = 13
    assert (width > 5) == (rows * width * width >= SMALL) == (rows * width >= FEW)
    random = torch.Generator().manual_seed(0)
    layers = [torch.nn.Linear(3, width), torch.nn.Linear(width, width), torch.nn.Linear(width, 2)]
    for parameter in (parameter for layer in layers for parameter in layer.parameters()):
        torch.nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5, generator=random)
    x, slopes = torch.randn(rows, 3, generator=random).requires_grad_(), torch.randn(rows, 2, generator=random)
    expected = layers[2](function(layers[1](function(layers[0](x)))))
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    wanted = torch.autograd.grad((expected * slopes).sum(), [x, *parameters])
    dense = DenseLayers(layers, multiply, after)
    with torch.no_grad():
        found, inputs = dense(x)
        own = [dense.slopes(slopes, inputs), *dense.gradients(slopes, inputs)]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    for one, other in zip(own, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_onednn_gets_matrices_without_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are a part of another one are copied: oneDNN would take a thousand times as long for them."""
    seen: list[Tensor] = []
    made = torch.ops.mkldnn._linear_pointwise

    def noted(x: Tensor, weight: Tensor, *rest: object) -> Tensor:
        seen.extend((x, weight))
        values: Tensor = made(x, weight, *rest)
        return values

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", noted)
    wide = torch.rand(40, 80)
    for x, weight in ((wide[:, :77], wide[:, 1:78]), (wide[:, :77].t(), wide[:, 1:78].t()), (wide, wide)):
        torch.testing.assert_close(onednn_product(x, weight), x @ weight.t())
    assert all(each.is_contiguous() or each.t().is_contiguous() for each in seen)
    assert seen[-1] is wide
