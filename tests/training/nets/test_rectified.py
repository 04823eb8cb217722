"""A linear layer with a rectifier, whose gradients are our own where a GPU computes it as one kernel."""

import pytest
import torch

from pac.training.nets.line_convolution import RectifiedProduct, rectified_product


@pytest.mark.parametrize("through", ["whole", "transposed part"])
def test_gradients_equal_those_of_pytorch(through: str) -> None:
    """Also where the result is a part of a larger tensor in another order, so that its gradient is not contiguous."""
    torch.manual_seed(0)
    inputs, weights, bias = given = [torch.randn(shape, requires_grad=True) for shape in ((12, 5), (5, 8), (8,))]
    found = []
    for function in (rectified_product, RectifiedProduct.apply):
        outputs = function(inputs, weights, bias, (4, 3, 8))
        result = outputs if through == "whole" else torch.cat((outputs.transpose(1, 2), torch.ones(4, 8, 2)), 2)
        loss = (result * torch.linspace(-1, 1, result.numel()).view(result.shape)).sum()
        found.append([outputs.detach(), *torch.autograd.grad(loss, given)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_inputs_that_need_no_gradient_get_none() -> None:
    """Observations, whose gradient would be as large as they are."""
    weights, bias = torch.randn(5, 8, requires_grad=True), torch.zeros(8, requires_grad=True)
    inputs = torch.randn(12, 5)
    RectifiedProduct.apply(inputs, weights, bias, (12, 8)).sum().backward()
    assert inputs.grad is None
    assert weights.grad is not None
