"""The guard notes operations that wait for the device."""

import pytest
import torch

from pac.training.nets.wait_guard import Wait, WaitGuard

NUMBERS = torch.arange(6.0)


def waits(action) -> list[Wait]:
    found: list[Wait] = []
    with WaitGuard(found.append):
        action()
    return found


@pytest.mark.parametrize(
    "action",
    [
        NUMBERS.sum().item,
        lambda: float(NUMBERS[0]),
        lambda: bool(NUMBERS.isfinite().all()),
        lambda: NUMBERS[NUMBERS > 2],
        NUMBERS.nonzero,
        lambda: NUMBERS.masked_select(NUMBERS > 2),
    ],
)
def test_it_notes_what_the_host_must_know(action):
    """Such an operation is noted once, with its place in this file."""
    (wait,) = waits(action)
    assert wait.where.startswith(__file__)


@pytest.mark.parametrize(
    "action",
    [
        lambda: NUMBERS * 2 + 1,
        lambda: NUMBERS[torch.tensor([1, 2])],
        lambda: torch.where(NUMBERS > 2, NUMBERS, 0.0),
        lambda: NUMBERS.to(torch.int64),
        lambda: NUMBERS.masked_fill(NUMBERS > 2, 0.0),
    ],
)
def test_it_does_not_note_what_the_device_does_alone(action):
    """Arithmetic, integer indices and other types do not wait."""
    assert waits(action) == []
