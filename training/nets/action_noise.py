"""The random numbers that choose actions, as a function of (seed, environment, seat, step).

Neither the number of threads nor that of processes changes them, and no state of a generator has to be saved. Each row
has a stream of SplitMix64 (Steele, Lea, Flood, 2014), whose number k is computed directly.
"""

from __future__ import annotations

import torch
from torch import Tensor

GOLDEN, MIX_1, MIX_2 = 0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB
ACTIONS = 0x6163_7469_6F6E_7321
"""Makes these streams differ from all others of the same seed."""
BITS = 24
"""Random bits of a number: as many as float32 has."""


class ActionNoise:
    """The random numbers of some environments' actions.

    Args:
        seed: The run's seed.
        first_env: The number of the first environment among those of all processes.
        num_envs: Number of environments.
        players: Seats of an environment.
        numbers: Random numbers per action.
        device: Where to compute them.
    """

    def __init__(
        self, seed: int, *, first_env: int, num_envs: int, players: int, numbers: int, device: torch.device
    ) -> None:
        rows = torch.arange(first_env * players, (first_env + num_envs) * players, device=device)
        start = _mixed(torch.tensor([_signed(seed ^ ACTIONS)], device=device) + _signed(GOLDEN))
        self._streams = _mixed(start + rows + _signed(GOLDEN)).unsqueeze(1)
        self._numbers = numbers

    def uniform(self, first_step: int | Tensor, steps: int) -> Tensor:
        """Return `(steps, rows, numbers)` float32, uniform in (0, 1], of some steps of the training.

        Args:
            first_step: The number of the first one; on the device, a tensor without axes, int64.
        """
        places = torch.arange(1, steps * self._numbers + 1, device=self._streams.device) + first_step * self._numbers
        places = places.view(steps, 1, self._numbers)
        words = _mixed(places * _signed(GOLDEN) + self._streams)
        return (_shifted(words, 64 - BITS) + 1).float().mul_(2.0**-BITS)


def _mixed(words: Tensor) -> Tensor:
    """Return int64 words through the finalizer of SplitMix64; int64 multiplication wraps as that of uint64 does."""
    words = (words ^ _shifted(words, 30)) * _signed(MIX_1)
    words = (words ^ _shifted(words, 27)) * _signed(MIX_2)
    return words ^ _shifted(words, 31)


def _shifted(words: Tensor, bits: int) -> Tensor:
    """Shift int64 words to the right as if they were unsigned."""
    return (words >> bits) & ((1 << (64 - bits)) - 1)


def _signed(word: int) -> int:
    """Return the int64 with the same 64 bits."""
    return (word + 2**63) % 2**64 - 2**63
