"""The gradient of DQN's loss for fully connected networks, by hand.

For networks this small, autograd and its bookkeeping take longer than the arithmetic.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .loss import DqnObjective, Losses
from .networks import QNetwork, VectorFeatures


class DenseGradient:
    """The gradient of a network of fully connected layers with rectifiers between them.

    Args:
        network: The network, see `fits`.
        objective: The loss.
    """

    def __init__(self, network: QNetwork, objective: DqnObjective) -> None:
        assert isinstance(network.torso, VectorFeatures)
        self._network, self._objective = network, objective
        self._layers = [(layer.weight, layer.bias) for layer in (*network.torso.layers, network.advantage)]

    @staticmethod
    def fits(network: QNetwork) -> bool:
        """Whether the gradient of a network can be computed."""
        return type(network) is QNetwork and isinstance(network.torso, VectorFeatures) and network.value is None

    @torch.no_grad()
    def __call__(
        self, observations: Tensor, actions: Tensor, wanted: Tensor, weights: Tensor | None
    ) -> tuple[list[Tensor], Losses]:
        """Return the gradient of the mean loss for each parameter, in their order, and the losses without weights.

        Args:
            observations: `(B, *stored_shape)`.
            actions: `(B,)`.
            wanted: What the values of the actions should be, `(B,)`.
            weights: The weights of the losses, `(B,)`; None if all are 1.
        """
        values = self._network.decoded(observations).flatten(1)
        inputs: list[Tensor] = []
        for weight, bias in self._layers:
            if inputs:
                values.relu_()
            inputs.append(values)
            values = torch.addmm(bias, values, weight.t())
        index = actions.unsqueeze(-1)
        taken = values.gather(-1, index).squeeze(-1)
        slopes = self._objective.slopes(taken, wanted) / len(actions)
        if weights is not None:
            slopes *= weights
        back = torch.zeros_like(values).scatter_(1, index, slopes.unsqueeze(-1))
        gradients: list[Tensor] = []
        for (weight, _), before in zip(reversed(self._layers), reversed(inputs), strict=True):
            gradients += [back.sum(0), back.t() @ before]
            if before is not inputs[0]:
                back = torch.ops.aten.threshold_backward(back @ weight, before, 0.0)
        return gradients[::-1], self._objective.of(taken, wanted)
