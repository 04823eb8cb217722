"""Makes untrusted text, such as names, messages and output, safe for a terminal."""

from __future__ import annotations

import unicodedata

LINES = "\n\t"
"""The unprintable characters that are kept in text of several lines."""


def printable(text: str, keep: str = "") -> str:
    """Return a text with unprintable characters escaped as in a Python string.

    These are control characters (C0, DEL and C1), format characters (zero-width ones and those that change the
    direction of text), line and paragraph separators, lone surrogates, and private or unassigned code points. Spaces
    of other widths become plain spaces. Printable text is returned unchanged.

    Args:
        keep: Characters that are kept, such as `LINES`.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in keep else _written(letter) for letter in text)


def _written(letter: str) -> str:
    return " " if unicodedata.category(letter) == "Zs" else letter.encode("unicode_escape").decode()
