"""`--check-sync` reports what waits for the device between two steps."""

import torch

from pac.training.session.gated_envs import WaitCheck
from pac.training.telemetry.events import EventLog

NUMBERS = torch.arange(4.0)


def texts(events):
    return list(events.reported)


def test_only_what_is_between_two_steps_is_reported():
    """Neither what comes before the first step and after the last one, nor what happens during a step."""
    check = WaitCheck(EventLog())
    with check.iteration():
        NUMBERS[0].item()
        for _ in range(2):
            check.begin_step()
            NUMBERS[1].item()
            check.end_step()
        NUMBERS[2].item()
    assert check._events.count == 0


def test_a_place_is_reported_once():
    """With its file and line, and what it does there."""
    events = EventLog()
    check = WaitCheck(events)
    for _ in range(2):
        with check.iteration():
            for _ in range(3):
                check.begin_step()
                check.end_step()
                bool(NUMBERS.sum() > 1)
    (text,) = texts(events)
    assert text.startswith(f"check-sync: {__file__}:37 reads a number of a tensor")
