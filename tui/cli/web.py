"""The app in a browser, through textual-serve: on this machine only, and only with a token."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import shlex
import signal
import socket
import sys
from asyncio import StreamReader
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Sequence

from ...envs import BadParameter
from ...envs.printable import printable

HOST = "127.0.0.1"
COOKIE = "pac-tui"
TAIL = 4000
"""Bytes of the error of an app that are shown."""


class NoWeb(BadParameter):
    """The app cannot be served."""

    title = "Cannot serve"


def serve(arguments: Sequence[str], port: int) -> int:
    """Serve `pac-tui ARGUMENTS` until it is interrupted. Every browser tab runs its own app.

    Raises:
        NoWeb: textual-serve is missing, or the port is taken.
    """
    try:
        from aiohttp import WSCloseCode, web
        from textual_serve import server
        from textual_serve.app_service import AppService
        from textual_serve.server import Server
    except ImportError:
        raise NoWeb("textual-serve is missing: pip install 'pac-tui[web]'") from None
    _check_free(port)
    token = os.environ.get("PAC_TOKEN") or secrets.token_urlsafe(16)

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Allow a request with the token, or with the cookie that replaces it, from the served page."""
        given = request.query.get("token") or request.cookies.get(COOKIE, "")
        own = request.headers.get("Origin", f"http://{HOST}:{port}") == f"http://{HOST}:{port}"
        if not (own and request.host == f"{HOST}:{port}" and hmac.compare_digest(given.encode(), token.encode())):
            raise web.HTTPForbidden(text="Open the address that pac-tui serve has printed: it contains the token.")
        if request.path != "/" or "token" not in request.query:
            return await handler(request)
        entered = web.HTTPFound("/")
        entered.set_cookie(COOKIE, token, httponly=True, samesite="Strict")
        raise entered

    class ToldAppService(AppService):
        """Starts the app of a tab, and shows there why it has failed."""

        errors: KeptErrors

        async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
            process = await super()._open_app_process(width, height)
            assert process.stderr is not None
            self.errors = KeptErrors(process.stderr)
            vars(process)["stderr"] = self.errors  # of which the base calls only `read`
            return process

        async def run(self) -> None:
            """Pass on what the app draws until it ends."""
            await super().run()
            assert self._process is not None
            text = await self.errors.rest()
            if await self._process.wait() and text:
                with contextlib.suppress(ConnectionError):  # the tab may be closed
                    await self.remote_write_bytes(failure_screen(text))

    vars(server)["AppService"] = ToldAppService
    tabs: set[web.WebSocketResponse] = set()

    class Guarded(Server):
        """textual-serve's server behind the guard."""

        async def _make_app(self) -> web.Application:
            app = await super()._make_app()
            app.middlewares.append(guard)
            return app

        async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
            """Serve a tab until it is closed. Then the app is told as by a terminal that closes, whatever it does."""
            tabs.add(websocket)
            try:
                await super()._process_messages(websocket, app_service)
            finally:
                tabs.discard(websocket)
                hang_up(app_service._process)  # noqa: SLF001 - it has no method for this

        async def on_shutdown(self, app: web.Application) -> None:  # noqa: ARG002 - the base's signature
            """Close all tabs, which the server would wait for."""
            for websocket in tuple(tabs):
                await websocket.close(code=WSCloseCode.GOING_AWAY)

        async def on_startup(self, app: web.Application) -> None:  # noqa: ARG002 - the base's signature
            """Print the address."""
            address = f"http://{HOST}:{port}/?token={token}"
            print(f"pac-tui in a browser: {address}   (Ctrl+C ends it)", file=sys.stderr, flush=True)

        def initialize_logging(self) -> None:
            """Log nothing."""

    command = shlex.join(["exec", sys.executable, "-P", "-m", "pac.tui", *arguments])
    Guarded(command, host=HOST, port=port, title="pac-tui").serve()
    return 0


class KeptErrors:
    """The stderr of an app, whose end is kept."""

    def __init__(self, stream: StreamReader) -> None:
        self._stream, self._kept = stream, b""

    async def read(self, count: int = -1) -> bytes:
        """Read some bytes."""
        data = await self._stream.read(count)
        self._kept = (self._kept + data)[-TAIL:]
        return data

    async def rest(self) -> str:
        """Read to the end of the stream, and return the end of everything."""
        await self.read()
        return self._kept.decode(errors="replace").strip()


def failure_screen(text: str) -> bytes:
    """Return what a terminal shows of an app that has failed: the end of its stderr."""
    lines = [printable(line) for line in text.splitlines()]
    return "\r\n".join(["\x1b[2J\x1b[H", *lines, "", "Reload this page to start it again."]).encode()


def hang_up(process: Process | None) -> None:
    """Close the stdin of an app, as far as it was started, and send it SIGHUP."""
    if process is None or process.returncode is not None:
        return
    assert process.stdin is not None
    process.stdin.close()
    process.send_signal(signal.SIGHUP)


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise NoWeb(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from None
