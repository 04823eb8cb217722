"""What a policy's choice depends on: the gradient of a number that a network computes by its input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...envs import Field
from .decoding import ChannelsFirst, DecodeNumbers


def gradient_by_input(
    decode: nn.Module, observation: Field, stored: NDArray[np.generic], target: Callable[[Tensor], Tensor]
) -> NDArray[np.float32]:
    """Return the gradient of a number by the decoded observation, in the observation's shape.

    No gradient is added to the weights, and no random numbers are drawn.

    Args:
        decode: Decodes stored rows to float32.
        observation: The field.
        stored: One observation as the buffer stores it, `(*stored_shape)`.
        target: Returns the number, a scalar, for one decoded row; it is on the device of `decode`'s results.
    """
    with torch.inference_mode(mode=False), torch.enable_grad():
        decoded = decode(torch.from_numpy(np.array(stored[None]))).detach().requires_grad_()
        (found,) = torch.autograd.grad(target(decoded), decoded, allow_unused=True)
    gradient = (torch.zeros_like(decoded) if found is None else found).detach()[0]
    layout = decode.layout if isinstance(decode, DecodeNumbers) else None
    if isinstance(layout, ChannelsFirst) and layout.channels_last:
        gradient = gradient.permute(1, 2, 0)
    values: NDArray[np.float32] = gradient.float().cpu().numpy().reshape(observation.shape)
    return values
