"""A clip is played to its end before the next one starts."""

import numpy as np

from pac.tui.views.panels import FRAME_SECONDS, LAST_FRAME_SECONDS, ClipPlayer


def clip(value):
    """Return a clip of four frames of 2 x 2 cells, all different."""
    return {"fight": value + np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((2, 2), np.uint8)}


def test_a_clip_is_played_by_the_clock():
    """Each frame is shown for its time, and the last one stays."""
    shown = ClipPlayer()
    first, *_ = shown.frames(clip(10), 100.0)
    later, number, count = shown.frames(clip(10), 100.0 + 2.5 * FRAME_SECONDS)
    last, *_ = shown.frames(clip(10), 200.0)
    assert [pictures["fight"][0, 0] for pictures in (first, later, last)] == [10, 12, 13]
    assert (number, count) == (3, 4)


def test_a_newer_clip_waits_for_the_end_of_the_present_one():
    """Clips that arrive meanwhile are left out, not cut."""
    shown, end = ClipPlayer(), 100.0 + 4 * FRAME_SECONDS + LAST_FRAME_SECONDS
    shown.frames(clip(10), 100.0)
    assert shown.frames(clip(50), end - 0.01)[0]["fight"][0, 0] == 13
    assert shown.frames(clip(90), end + 0.01)[0]["fight"][0, 0] == 90
