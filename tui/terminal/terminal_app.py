"""The base of all apps: how they suspend, continue and end, and how they show messages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar

from rich.console import RenderableType
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region, Size
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget

from ...envs.printable import printable
from ...training.exits import INTERRUPTED
from ..boards import BoardGrid
from ..drawing.plain import SteadyScreen
from ..drawing.styles import SIGNS, TerminalColors
from ..drawing.theme import FilteredApp, apply_theme, match_terminal
from ..pictures.answers import Abilities, Answers, Mode
from ..pictures.canvas import Canvas, Rect, uncovered
from ..preferences import preferences
from .console import PrintableConsole
from .modes import Leaving, borrowed_terminal, end_soon
from .written import ChangesUpdate, Written

CLEARED = "\x1b[0m\x1b[2J"
"""Clears the app's screen before it is left: tmux shows parts of it again if the window has grown meanwhile."""

IDLE, HELD = 0.1, 0.03
"""Seconds to wait for input; and for the rest of what begins like an answer of the terminal."""
READ = 4096
LAST_ANSWERS = 0.5
"""Seconds in which answers come that are due when the terminal is left; over ssh, they take as long as a key does."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, which leaves application mode before it enters it again.

    Textual's own driver enters it at every SIGCONT, even if it is still in it. Then it would save the raw attributes as
    those to restore, and start a second thread that takes keys from the first.
    """

    _active = False

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: Any = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._events = asyncio.get_running_loop()
        self.answers = Answers(self.write_bytes, self._changed, self._arrived)

    def start_application_mode(self) -> None:
        """Enter application mode. The event loop handles signals between two callbacks."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._sigtstp_application)
        loop.add_signal_handler(signal.SIGCONT, self._sigcont_application)
        writer = self._writer_thread
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._active = self._writer_thread is not writer  # a process in the background does not start
        self._do("draw_again")
        if self._active and os.isatty(self.fileno) and os.environ.get("TERM") != "linux":
            self.answers.ask()

    def stop_application_mode(self) -> None:
        """Leave application mode."""
        if self._active:
            self.write(self._pictures_removed() + CLEARED)
            self._active, end = False, time.monotonic() + LAST_ANSWERS
            while self.answers.due and time.monotonic() < end:
                time.sleep(0.005)  # otherwise the shell would take them for keys
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Pass on what the user types, without the terminal's answers. Textual's own loop has no hook."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                data = b""
                if selector.select(HELD if self.answers.holding else IDLE):
                    data = os.read(self.fileno, READ)
                    if not data:
                        time.sleep(IDLE)  # the terminal has closed, or stdin is at its end
                    typed = self.answers.passed(data)
                else:
                    typed = self.answers.released()
                for event in (*(parser.feed(decode(typed)) if typed else ()), *parser.tick()):
                    self.process_message(event)

    def write(self, data: str) -> None:
        """Write text, and count it."""
        super().write(data)
        if self._active and (canvas := getattr(self._app, "canvas", None)) is not None:
            canvas.wrote(len(data.encode()))

    def write_bytes(self, data: bytes) -> None:
        """Write pictures or questions, unless the terminal is left."""
        if self._active:
            super().write(data.decode("ascii"))

    def _pictures_removed(self) -> str:
        canvas = getattr(self._app, "canvas", None)
        Leaving.commands = b""
        return canvas.removal().decode("ascii") if canvas is not None else ""

    def _changed(self, abilities: Abilities) -> None:
        self._call("take_abilities", abilities)

    def _arrived(self) -> None:
        self._call("pictures_arrived")

    def _call(self, name: str, *arguments: object) -> None:
        """Have the app do something in its own thread, which may have ended."""
        with contextlib.suppress(RuntimeError):
            self._events.call_soon_threadsafe(self._do, name, *arguments)

    def _do(self, name: str, *arguments: object) -> None:
        getattr(self._app, name, lambda *_: None)(*arguments)

    def _sigcont_application(self, *_: object) -> None:
        if self._active and self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        if self._must_signal_resume:  # otherwise the app is ending
            super()._sigcont_application()


class TerminalApp(FilteredApp):
    """An app that ends with exit code 130 on SIGTERM and SIGINT, and restores the terminal."""

    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        apply_theme(self)
        self._abilities, self._written, self._drawn_size = Abilities(), Written(), Size(0, 0)
        self.canvas = Canvas(self._write_pictures, self._expect_arrival, self._visible)
        self.error_console = PrintableConsole(stderr=True)  # prints tracebacks after the app has ended

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a message. Markup in it is not interpreted."""
        del markup
        text, head = printable(message, "\n"), printable(title)
        super().notify(text, title=head, severity=severity, timeout=timeout, markup=False)

    # -- pictures ------------------------------------------------------------------------------------------------------

    def take_abilities(self, abilities: Abilities) -> None:
        """Show pictures as the terminal can."""
        self._abilities = abilities
        self.choose_pictures()

    def choose_pictures(self) -> None:
        """Show pictures as the terminal can and the user wants. They need colors and Unicode."""
        wanted, known = preferences().pictures, self._abilities
        mode: Mode = known.mode if wanted == "auto" else wanted
        plain = self.no_color or TerminalColors.sixteen or not SIGNS.braille
        asked = isinstance(self._driver, TerminalDriver)
        mode = "off" if plain or not asked else mode
        gone = self.canvas.removal() if mode != self.canvas.mode else b""
        if gone:
            self._write_pictures(gone)
        if self.canvas.use(mode, known, known.cell_in(*self.size)):
            for screen in self.screen_stack:
                for grid in screen.query(BoardGrid):
                    grid.change_pictures()

    def pictures_arrived(self) -> None:
        """Send further pictures."""
        self.canvas.arrived()

    def _write_pictures(self, data: bytes) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.write_bytes(data)
            Leaving.commands = self.canvas.removing

    def _expect_arrival(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.answers.expect_status()

    def _visible(self, owner: Hashable, place: Rect) -> list[Rect]:
        """Return which cells of a place of a widget nothing else covers."""
        assert isinstance(owner, BoardGrid)
        stack = self.screen_stack
        if owner.screen not in stack:
            return []
        covers: list[Rect] = []
        for screen in stack[stack.index(owner.screen) + 1 :]:
            if screen.styles.background.a == 1:
                return []
            covers += [_rect(spot.intersection(cut)) for widget, (spot, cut) in _layers(screen) if widget is not screen]
        for widget, (spot, cut) in _layers(owner.screen):
            if widget is owner:
                return uncovered(place, _rect(spot.intersection(cut)), covers)
            covers.append(_rect(spot.intersection(cut)))
        return []

    def draw_again(self) -> None:
        """Draw everything again, as the terminal has shown something else. Textual does not after a suspension."""
        self._forget_screen()
        if self.screen_stack:
            self.screen.refresh()

    def _forget_screen(self) -> None:
        """Write everything when it is drawn next."""
        self._written.forget()
        self.canvas.forget()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Draw; where that pays, write only what differs, and draw the sixels again where there is text now."""
        if not self.canvas.spares:
            self._written.forget()
            super()._display(screen, renderable)
            return
        if self.size != self._drawn_size:
            self._drawn_size = self.size
            self._forget_screen()
        if isinstance(renderable, ChopsUpdate | LayoutUpdate):
            update = ChangesUpdate(self._written, renderable)
            super()._display(screen, update)  # type: ignore[arg-type]
            self.canvas.overwritten([_rect(place) for place in update.places])
            return
        super()._display(screen, renderable)
        if renderable is not None:
            self._forget_screen()

    def get_driver_class(self) -> type[Driver]:
        """Return `TerminalDriver` where Textual would use its own driver for terminals."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def get_default_screen(self) -> SteadyScreen[None]:
        """Return the screen that contains the widgets."""
        return SteadyScreen(id="_default")

    def on_mount(self) -> None:
        """Handle signals."""
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # only in the main thread
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self.exit, INTERRUPTED, INTERRUPTED)
                signal.signal(number, end_soon)  # called besides, and also if the loop does not come to its callbacks


def _rect(region: Region) -> Rect:
    return Rect(*region)


def _layers(screen: Screen[Any]) -> Iterable[tuple[Widget, tuple[Region, Region]]]:
    """Return the widgets of a screen that are drawn, the uppermost first. Textual has no public method for this."""
    return screen._compositor.visible_widgets.items()  # noqa: SLF001


def run_in_terminal(make: Callable[[], TerminalApp]) -> int:
    """Run an app, which is made when the terminal's colors are known, in this terminal; return its exit code."""
    match_terminal()
    app = make()
    with borrowed_terminal():
        app.run()
    return app.return_code or 0
