"""Text from elsewhere, such as names, messages and output, made fit for a terminal."""

from __future__ import annotations

import unicodedata

LINES = "\n\t"
"""What stays of the characters that are not printable, where a text may have several lines."""


def printable(text: str, keep: str = "") -> str:
    """Return a text with all that is not printable written out, as Python writes it in a string.

    Written out are control characters (C0, DEL and C1), format characters (zero-width ones and those that change the
    direction of text), separators of lines and paragraphs, lone surrogates, and code points of private use or without a
    character. Spaces of other widths become plain ones. Printable text comes back as it is.

    Args:
        text: Any text.
        keep: Characters that stay, such as `LINES`.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in keep else _written(letter) for letter in text)


def _written(letter: str) -> str:
    return " " if unicodedata.category(letter) == "Zs" else letter.encode("unicode_escape").decode()
