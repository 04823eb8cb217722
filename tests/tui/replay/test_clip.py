"""A film is played to its end before the next one begins."""

import numpy as np

from pac.tui.views.panels import FRAME_SECONDS, LAST_FRAME_SECONDS, ClipPlayer


def film(value):
    """Four pictures of 2 x 2 cells, all different."""
    return {"fight": value + np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((2, 2), np.uint8)}


def test_a_film_is_played_by_the_clock_and_stands_at_its_end():
    """Each picture stands for its time, the last one on and on."""
    shown = ClipPlayer()
    first, *_ = shown.frames(film(10), 100.0)
    later, number, count = shown.frames(film(10), 100.0 + 2.5 * FRAME_SECONDS)
    last, *_ = shown.frames(film(10), 200.0)
    assert [pictures["fight"][0, 0] for pictures in (first, later, last)] == [10, 12, 13]
    assert (number, count) == (3, 4)


def test_a_newer_film_waits_for_the_end_of_the_running_one():
    """Fights that come faster than anybody can watch are left out, not cut."""
    shown, end = ClipPlayer(), 100.0 + 4 * FRAME_SECONDS + LAST_FRAME_SECONDS
    shown.frames(film(10), 100.0)
    assert shown.frames(film(50), end - 0.01)[0]["fight"][0, 0] == 13
    assert shown.frames(film(90), end + 0.01)[0]["fight"][0, 0] == 90
