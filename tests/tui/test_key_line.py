"""The key line shows the most useful keys of every situation."""

import pytest

from pac.training.telemetry.records import Phase
from pac.tui.app.key_line import RUNNING, Situation, hints, key_line, named
from pac.tui.drawing.styles import width_of
from pac.tui.keys import table

SITUATIONS = [
    Situation(phase, view, "env", travels=travels, replay=replay)
    for phase in Phase
    for view in (*RUNNING, "environment")
    for travels, replay in ((False, False), (True, False), (True, True))
]


def text_of(row):
    """Return a row without styles."""
    return "".join(segment.text for segment in row)


@pytest.mark.thorough
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_key_line_is_as_wide_as_the_screen(width):
    """In every situation; help and quit are always there, and no key is cut."""
    for situation in SITUATIONS:
        row = key_line(width, situation)
        assert width_of(row) == width
        assert text_of(row).rstrip().endswith("? help  q quit")


def test_every_command_of_the_key_line_exists():
    """And is there only once per situation."""
    for situation in SITUATIONS:
        names = [name for commands, _ in map(named, hints(situation)) for name in commands.split()]
        assert set(names) <= {*table(), "env.1-9"}
        assert len(names) == len(set(names)), situation


def test_a_paused_environment_has_the_keys_of_the_debugger():
    """All of them in 80 columns, and the way through time in 40."""
    situation = Situation(Phase.PAUSED, "environment", "env", travels=True)
    wide, slim = text_of(key_line(80, situation)), text_of(key_line(40, situation))
    for text in ("← → time", "Space resume", "f to end", "r record", "p play"):
        assert text in wide
    assert "← → time" in slim
    assert "Space resume" in slim


def test_a_running_session_is_paused_first():
    """Also in 40 columns, in every view but those with keys of their own."""
    for view in ("summary", "environment", "timing", "workers"):
        assert text_of(key_line(40, Situation(Phase.RUNNING, view, "env"))).startswith(" Space pause ")


def test_unavailable_keys_come_last():
    """So that they do not take the room of others."""
    situation = Situation(Phase.RUNNING, "environment", "env")
    found = text_of(key_line(200, situation, lambda command: "no" if command in {"pause", "play"} else ""))
    assert found.index("Esc summary") < found.index("Space pause") < found.index("p play") < found.index("? help")


def test_the_curves_keep_their_keys_after_the_end():
    """They can still be examined."""
    found = text_of(key_line(120, Situation(Phase.FAILED, "learning", "env")))
    for text in ("← → cursor", "z Z zoom", "S smooth", "O compare", "o output"):
        assert text in found
    assert "pause" not in found
