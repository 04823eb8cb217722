"""Large digits."""

from pac.tui.views.goal import FONT, LINES, big


def test_every_character_of_a_number_is_drawn_differently():
    """In three lines of the same width."""
    drawn = {letter: tuple(big(letter)) for letter in (*FONT, ".", "-")}
    assert len(set(drawn.values())) == len(drawn)
    assert {len(lines) for lines in drawn.values()} == {LINES}
    assert big("-0.5") == ["   ▄▄▄   ▄▄▄", "▄▄ █ █   █▄▄", "   █▄█ ▄ ▄▄█"]
