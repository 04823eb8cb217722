"""The base of all apps: how they suspend, continue and end, and how they show messages."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import ClassVar

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.notifications import SeverityLevel

from ...envs.printable import printable
from ...training.exits import INTERRUPTED
from ..drawing.plain import SteadyScreen
from ..drawing.theme import FilteredApp, apply_theme, match_terminal
from .console import PrintableConsole
from .modes import borrowed_terminal, end_soon

CLEARED = "\x1b[0m\x1b[2J"
"""Clears the app's screen before it is left: tmux shows parts of it again if the window has grown meanwhile."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, which leaves application mode before it enters it again.

    Textual's own driver enters it at every SIGCONT, even if it is still in it. Then it would save the raw attributes as
    those to restore, and start a second thread that takes keys from the first.
    """

    _active = False

    def start_application_mode(self) -> None:
        """Enter application mode. The event loop handles signals between two callbacks."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._sigtstp_application)
        loop.add_signal_handler(signal.SIGCONT, self._sigcont_application)
        writer = self._writer_thread
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._active = self._writer_thread is not writer  # a process in the background does not start

    def stop_application_mode(self) -> None:
        """Leave application mode."""
        if self._active:
            self.write(CLEARED)
        self._active = False
        super().stop_application_mode()

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


def run_in_terminal(make: Callable[[], TerminalApp]) -> int:
    """Run an app, which is made when the terminal's colors are known, in this terminal; return its exit code."""
    match_terminal()
    app = make()
    with borrowed_terminal():
        app.run()
    return app.return_code or 0
