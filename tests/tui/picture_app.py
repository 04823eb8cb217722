"""An app with a board of pixels, to be run in a terminal: d opens a dialog, c changes the board, p turns the page,
h shows something else, x crashes."""

import sys

import numpy as np
from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Label

from pac.training.telemetry.description import ShapedPanel
from pac.tui.boards import BoardBorder, BoardGrid, renderer_for
from pac.tui.drawing.plain import Modal
from pac.tui.terminal.terminal_app import TerminalApp, run_in_terminal

SHAPE = 30, 40, 3
PANEL = ShapedPanel("pixels", "Board", "picture", shape=SHAPE)


def board(seed: int) -> np.ndarray:
    """Return pixels of eight colors."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, 256, (8, 3), dtype=np.uint8)[generator.integers(0, 8, SHAPE[:2])]


class Dialog(Modal[None]):
    """A word over the middle of the board."""

    DEFAULT_CSS = "Dialog { align: center middle; background: $background 70%; } Dialog Label { width: 6; height: 1; }"

    def compose(self) -> ComposeResult:
        """The word."""
        yield Label("dialog")

    def on_key(self, event: Key) -> None:
        """Close it."""
        event.stop()
        self.dismiss()


class PictureApp(TerminalApp):
    """Shows a board, and below it the keys that were typed."""

    CSS = "BoardGrid { height: 20; } Label { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.seed, self.typed = 0, ""

    def compose(self) -> ComposeResult:
        """Board and keys."""
        yield BoardGrid()
        yield Label("typed ", id="typed")

    def on_mount(self) -> None:
        """Draw the board often, as sessions do."""
        super().on_mount()
        self.query_one(BoardGrid).use(renderer_for(PANEL), 1)
        self.set_interval(0.02, self.draw)

    def draw(self) -> None:
        """Draw the board."""
        self.screen_stack[0].query_one(BoardGrid).show(board(self.seed)[None], [BoardBorder("Env 1")])

    def on_key(self, event: Key) -> None:
        """Do what the module says."""
        self.typed += event.character or event.key
        self.screen_stack[0].query_one("#typed", Label).update(f"typed {self.typed}")
        if event.key == "d":
            self.push_screen(Dialog())
        elif event.key == "c":
            self.seed += 1
        elif event.key == "p":
            self.seed = 2
            self.query_one(BoardGrid).use(renderer_for(PANEL), 1)
        elif event.key == "h":
            self.query_one(BoardGrid).display = not self.query_one(BoardGrid).display
        elif event.key == "q":
            self.exit(0)
        elif event.key == "x":
            raise RuntimeError("as asked")


if __name__ == "__main__":
    sys.exit(run_in_terminal(PictureApp))
