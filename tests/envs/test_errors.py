"""What errors say."""

from pac.envs import PacError


def test_no_control_character_of_an_error_reaches_a_terminal():
    """They are written out, half a surrogate too; line ends and tabs stay."""
    assert str(PacError("a\x1b[2Jb\tc\nd\udc80é")) == "a\\x1b[2Jb\tc\nd\\udc80é"
