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
    ("noted", "action"),
    [
        (1, NUMBERS.sum().item),
        (1, lambda: float(NUMBERS[0])),
        (1, lambda: bool(NUMBERS.isfinite().all())),
        (1, lambda: NUMBERS[NUMBERS > 2]),
        (1, NUMBERS.nonzero),
        (1, lambda: NUMBERS.masked_select(NUMBERS > 2)),
        (0, lambda: NUMBERS * 2 + 1),
        (0, lambda: NUMBERS[torch.tensor([1, 2])]),
        (0, lambda: torch.where(NUMBERS > 2, NUMBERS, 0.0)),
        (0, lambda: NUMBERS.to(torch.int64)),
        (0, lambda: NUMBERS.masked_fill(NUMBERS > 2, 0.0)),
    ],
)
@pytest.mark.thorough
def test_it_notes_what_the_host_must_know(noted, action):
    """Such an operation is noted once, with its place in this file; what the device does alone is not."""
    assert [wait.where.startswith(__file__) for wait in waits(action)] == [True] * noted
