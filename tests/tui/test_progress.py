"""The progress bar of commands."""

import io
import sys

from pac.tui.output import PrintableStream
from pac.tui.progress import progress_bar


class Terminal(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self):
        return True


def test_what_moves_the_cursor_is_not_escaped(monkeypatch):
    """Only what others print meanwhile is."""
    written = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", PrintableStream(written))
    with progress_bar("bench") as report:
        report("N = 4", 0.5)
        sys.stderr.write("\x1b]0;title\x07\n")
    assert "\x1b[2K" in written.getvalue()
    assert r"\x1b[" not in written.getvalue()
    assert "\x1b]0" not in written.getvalue()
