"""Text that attacks a terminal, and a function that finds what of it got through."""

from __future__ import annotations

import re

ATTACK = (
    "\x1b]0;PWNED\x07\x1b[666z\x9b666z\x9d0;PWNED\x9c"  # a title and a private sequence, by both kinds of escapes
    "\u202ea\u2066b\u200fc\u061cd\u200be"  # text that runs backwards, and what is not seen
    "\u2028f\u2029g\r\x08\x7f[red]M[/red][@click=app.bell]x[/][link=http://a.b]y[/link]:boom:"
)
OWN = re.compile(r"\x1b\[(?!666z)[0-?]*[ -/]*[@-~]|\x1b\]22;[a-z-]*\x07")
"""Escape sequences of Textual and Rich: colors, cursor, modes, pointer."""


def hostile(name: str) -> str:
    """Return an attack that starts with its source."""
    return f"{name}{ATTACK}"


def smuggled(text: str) -> set[str]:
    """Return the characters that are not printable, except line ends and the program's own escape sequences."""
    return {letter for letter in OWN.sub("", text) if not letter.isprintable() and letter not in "\r\n\t"}
