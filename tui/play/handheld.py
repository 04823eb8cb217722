"""The app in which the user plays a Game Boy, looks into it, and makes the files of a task."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key

from ...envs import PacError
from ...envs.gameboy.handheld import Handheld
from ...envs.gameboy.layout import FRAMES
from ...envs.gameboy.search import Change
from ...envs.gameboy.task import FRAME_RATE, SHADES
from ...training.telemetry.description import ShapedPanel
from ..boards import BoardBorder, BoardGrid, renderer_for
from ..boards.text import TextRenderer
from ..drawing.panels import Section, column, pages
from ..drawing.styles import ACCENT, BRIGHT, CYAN, FAINT, LINE, RED, SOFT, TEXT, YELLOW, Row, fit, spread, styled
from ..drawing.theme import colors_distinguish
from ..drawing.widgets import TextLines
from ..terminal.modes import check_terminal
from ..terminal.terminal_app import TerminalApp, run_in_terminal

HEIGHT, WIDTH = 144, 160
SIDE = 37
PAD = {
    "right": "right",
    "left": "left",
    "up": "up",
    "down": "down",
    "x": "a",
    "z": "b",
    "enter": "start",
    "backspace": "select",
}
HELP = "arrows  x A  z B  Enter Start  Backspace Select   p pause  Tab panels  q quit"
HELD_FRAMES = 8
"""Frames for which a key press holds its button; a terminal does not report when a key is released."""
LATEST = 6
"""Frames that are caught up after a delay; older ones are skipped."""
CHANGES: dict[str, Change] = {
    "c": "changed",
    "u": "unchanged",
    "plus": "increased",
    "minus": "decreased",
}
LARGEST = 255
MOST_CANDIDATES = 9
PANELS = (("Registers", "registers"), ("Code", "code"), ("Memory", "memory"), ("Sprites: x, y, tile, flags", "sprites"))


class HandheldApp(TerminalApp):
    """Shows the screen on the left, and on the right pages of panels."""

    CSS = f"""
    Screen {{ background: $background; color: $foreground; layout: vertical; }}
    TextLines {{ height: 1; }}
    #table {{ height: 1fr; }}
    #screen {{ height: 1fr; width: 1fr; }}
    #side {{ width: {SIDE}; height: 1fr; }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,ctrl+q", "quit", "quit", priority=True),
        Binding("tab", "page(1)", "panels", priority=True),
        Binding("shift+tab", "page(-1)", "panels", priority=True),
    ]

    def __init__(self, game: Handheld) -> None:
        super().__init__()
        self.game = game
        self.paused = False
        self.number: str | None = None
        self._page, self._held = 0, dict.fromkeys(PAD.values(), 0)
        self._clock, self._frames = time.perf_counter(), 0
        colors = colors_distinguish(self)
        panel = ShapedPanel("shades", "Screen", "frame", colors=SHADES, shape=(HEIGHT, WIDTH))
        self._screen, self._renderer = BoardGrid(id="screen"), renderer_for(panel, colors=colors)
        self._texts = {
            name: TextRenderer(
                ShapedPanel("text", title, name, close=True, shape=game.boards[name].shape), colors=colors
            )
            for title, name in PANELS
        }
        self._commands: dict[str, Callable[[], None]] = {
            "p": self._pause,
            "space": self._pause,
            "full_stop": lambda: self._one(self.game.frame, ()),
            "comma": lambda: self._one(self.game.instruction),
            "n": self._restart,
            "s": lambda: self._save(self.game.save_snapshot),
            "g": lambda: self._save(self.game.save_goal),
            "w": lambda: self._save(self.game.save_game),
            "0": self.game.search.begin,
            "equals_sign": self._begin_number,
            "pageup": lambda: self._scroll(-1),
            "pagedown": lambda: self._scroll(1),
        }

    def compose(self) -> ComposeResult:
        """The screen, the panels beside it, the keys below."""
        yield TextLines(id="head")
        with Horizontal(id="table"):
            yield self._screen
            yield TextLines(id="side")
        yield TextLines(id="foot")

    def on_mount(self) -> None:
        """Set up the screen and start the clock."""
        self._screen.use(self._renderer, 1)
        self.query_one("#foot", TextLines).show([(styled(f" {HELP}", SOFT),)])
        self._clock = time.perf_counter()
        self.set_interval(2 / FRAME_RATE, self._tick)

    def on_key(self, event: Key) -> None:
        """Handle the keys of the pad, of the search and of the files."""
        key = event.key
        if self.number is not None:
            self._type(key)
        elif key in PAD:
            self._held[PAD[key]] = HELD_FRAMES
        elif key in CHANGES:
            self.game.search.keep(CHANGES[key])
        elif key.isdigit() and key != "0":
            self._keep(int(key) - 1)
        elif key in self._commands:
            self._commands[key]()
        self._draw()

    def action_page(self, by: int) -> None:
        """Show another page of panels."""
        self._page += by
        self._draw()

    def _tick(self) -> None:
        """Run the frames that are due by the clock."""
        if not self.is_running:  # the app is ending
            return
        due = int((time.perf_counter() - self._clock) * FRAME_RATE) - self._frames
        self._frames += due
        if not self.paused:
            for _ in range(min(due, LATEST)):
                self.game.frame(self._buttons())
            self._draw()

    def _buttons(self) -> tuple[str, ...]:
        held = tuple(button for button, left in self._held.items() if left)
        self._held = {button: max(0, left - 1) for button, left in self._held.items()}
        return held

    def _pause(self) -> None:
        self.paused = not self.paused
        if self.paused:
            self.game.trace()

    def _one(self, run: Callable[..., None], *arguments: tuple[str, ...]) -> None:
        """Pause, and run one frame with the buttons that are pressed meanwhile, or one instruction."""
        self.paused = True
        run(*(self._buttons() for _ in arguments))
        self.game.trace()

    def _restart(self) -> None:
        self.game.restart()
        self._commands["0"] = self.game.search.begin

    def _save(self, save: Callable[[], Path]) -> None:
        try:
            path = save()
        except PacError as error:
            self.notify(str(error), title=error.title, severity="error")
            return
        started = f"\npac-tui --task {self.game.files.spec}" if path == self.game.files.game else ""
        self.notify(f"{path}{started}", title="Saved", timeout=10 if started else 3)

    def _scroll(self, by: int) -> None:
        self.game.address = (self.game.address + by * 8 * len(self.game.boards["memory"])) & 0xFFFF

    def _begin_number(self) -> None:
        self.number = ""

    def _type(self, key: str) -> None:
        """Take a key of the number that the search compares with."""
        assert self.number is not None
        if key.isdigit():
            self.number = self.number + key if int(self.number + key) <= LARGEST else self.number
        elif key == "backspace":
            self.number = self.number[:-1]
        else:
            if key == "enter" and self.number:
                self.game.search.keep("equals", int(self.number))
            self.number = None

    def _keep(self, index: int) -> None:
        """Note a candidate of the search for the game's file."""
        found = self.game.search.candidates(MOST_CANDIDATES)
        if index < len(found):
            self.game.keep_value(found[index].address)

    def _draw(self) -> None:
        game = self.game
        sign, color = ("paused", YELLOW) if self.paused else ("", LINE)
        if game.locked:
            sign, color = "the processor is locked", RED
        border = BoardBorder("Screen", sign, color)
        self._screen.show(game.console.frame_data.reshape(1, HEIGHT, -1), [border])
        game.draw()
        side = self.query_one("#side", TextLines)
        width, height = side.size
        found = pages(self._sections(), width, height)
        self._page %= max(1, len(found))
        side.show(column(found[self._page], width, height))
        right = f"panels {self._page + 1}/{len(found)}   frame {int(game.console.words[FRAMES]):,} "
        self.query_one("#head", TextLines).show(
            [spread((styled(f" {game.title}", BRIGHT, bold=True),), (styled(right, FAINT),), self.size.width)]
        )

    def _sections(self) -> list[Section]:
        left = len(self.game.search.addresses)
        texts = [Section(title, partial(self._text, name), whole=True) for title, name in PANELS]
        return [
            Section("Task", lambda width, _: self._files(width)),
            Section("Search", self._search, fills=True, least=9, note=f"{left:,} left"),
            *texts,
            Section("Keys", lambda width, _: _keys(width)),
        ]

    def _text(self, name: str, _width: int, _height: int) -> list[Row]:
        renderer, board = self._texts[name], self.game.boards[name]
        scale = renderer.scales[0]
        return [renderer.line(row, 0, scale) for row in renderer.prepare(board[None], scale)[0]]

    def _files(self, width: int) -> list[Row]:
        """What the task has, with the keys that add to it."""
        files = self.game.files
        rows = [
            ("s", "start state", files.snapshot.stem if files.snapshot else ""),
            ("g", "goal pictures", ", ".join(path.stem.rpartition("-")[2] for path in files.goals)),
            ("1-9", "values", ", ".join(f"{value.address:04X}" for value in files.values)),
            ("w", "write the task", files.game.stem if files.game else ""),
        ]
        return [_key_row(key, text, found, width) for key, text, found in rows]

    def _search(self, width: int, height: int) -> list[Row]:
        """The keys of the search, and the addresses that are left."""
        rows: list[Row] = [
            (styled(fit("c changed   u unchanged   0 all", width), FAINT),),
            (styled(fit("+ more   - less   = a number", width), FAINT),),
        ]
        if self.number is not None:
            return [*rows, (styled(f"= {self.number}_", YELLOW, bold=True), styled("   Enter, Esc", FAINT))]
        found = self.game.search.candidates(min(MOST_CANDIDATES, height - 3))
        rows.append((styled(fit("  address   before    now", width), SOFT),))
        for index, (address, before, now) in enumerate(found, 1):
            changed = BRIGHT if now != before else TEXT
            rows.append(
                (
                    styled(f"{index} ", ACCENT),
                    styled(f"0x{address:04X}", CYAN),
                    styled(f"{before:>10}", TEXT),
                    styled(f"{now:>7}", changed, bold=now != before),
                )
            )
        return rows


def _key_row(key: str, text: str, found: str, width: int) -> Row:
    left = (styled(f"{key:<4}", ACCENT, bold=True), styled(text, SOFT))
    return spread(left, (styled(fit(found, min(len(found), width - len(text) - 5)), TEXT),), width) if found else left


def _keys(width: int) -> list[Row]:
    """Keys that no other panel explains."""
    keys = (
        ("p", "pause, continue"),
        (".", "one frame"),
        (",", "one instruction"),
        ("n", "switch off and on"),
        ("PgUp", "memory before"),
        ("PgDn", "memory after"),
    )
    return [(styled(f"{key:<6}", ACCENT, bold=True), styled(fit(text, width - 6), SOFT)) for key, text in keys]


def play_handheld(rom: str, name: str) -> int:
    """Play a cartridge on this terminal; return the exit code.

    Args:
        rom: File of a cartridge; empty for a built-in one.
        name: Name of the game.

    Raises:
        PacError: The ROM cannot be played.
        NoTerminal: There is no terminal.
    """
    check_terminal("run it in a terminal")
    sys.stderr.write("Loading the emulator. The first time, it is compiled, which takes about a minute.\n")
    game = Handheld(rom, name)
    game.frame(())
    game.trace()
    game.draw()
    game.restart()
    return run_in_terminal(lambda: HandheldApp(game))
