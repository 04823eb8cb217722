"""What errors say."""

import pytest

from pac.envs import PacError
from pac.envs.errors import nearest

KNOWN = ("layers", "learning_rate", "gae_lambda", "gamma", "max_grad_norm")


def test_no_control_character_of_an_error_reaches_a_terminal():
    """They are written out, half a surrogate too; line ends and tabs stay."""
    assert str(PacError("a\x1b[2Jb\tc\nd\udc80é")) == "a\\x1b[2Jb\tc\nd\\udc80é"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("lr", "learning_rate"),
        ("--ppo.lr", "--ppo.learning-rate"),
        ("learning-rat", "learning_rate"),
        ("gl", "gae_lambda"),
    ],
)
def test_the_nearest_name_is_the_one_with_these_initials_or_letters(name, found):
    """Initials first: `lr` is closer to `layers` by its letters."""
    flags = [f"--ppo.{known.replace('_', '-')}" for known in KNOWN]
    assert nearest(name, flags if name.startswith("-") else KNOWN)[0] == found


def test_nothing_is_near_a_name_that_no_known_one_resembles():
    """One letter is no abbreviation."""
    assert nearest("q", KNOWN) == []
