"""Text from elsewhere, made fit for a terminal."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from pac.envs.printable import LINES, printable

ALL = sys.maxunicode + 1
COMMON = 0x3000  # every control, separator and bidirectional character is below


@pytest.mark.parametrize("count", [COMMON, pytest.param(ALL, marks=pytest.mark.thorough)])
def test_of_all_characters_only_printable_ones_are_left(count):
    """No control, format, private, unassigned or surrogate character, no separator but the space."""
    left = set(printable("".join(map(chr, range(count)))))
    assert not set(map(unicodedata.category, left)) & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert [letter for letter in left if unicodedata.category(letter) == "Zs"] == [" "]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("a\u202eb\u2066c\u200fd\u061c", r"a\u202eb\u2066c\u200fd\u061c"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("line\u2028paragraph\u2029", r"line\u2028paragraph\u2029"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("half \ud800", r"half \ud800"),
        ("two\nlines\t", r"two\nlines\t"),
        ("100\xa0%", "100 %"),
    ],
)
def test_what_is_not_printable_is_written_out(text, shown):
    """As Python writes it; spaces become plain ones."""
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["", "naïve café", "手牌", "♠ ✓ ⠿", "[red]no markup[/]", r"\x1b"])
def test_printable_text_comes_back_as_it_is(text):
    """Any language, signs, and what looks as if it had been written out."""
    assert printable(text) is text


def test_lines_stay_where_they_are_wanted():
    """Carriage returns do not: they would overwrite what stands in the line."""
    assert printable("one\ntwo\tthree\rfour", LINES) == "one\ntwo\tthree\\rfour"
