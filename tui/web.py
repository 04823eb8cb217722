"""The app in a browser, through textual-serve: on this machine only, and only with a token."""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Sequence

from ..envs import BadParameter

HOST = "127.0.0.1"
COOKIE = "pac-tui"


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
            print(f"pac-tui in a browser: {address}   (Ctrl+C ends it)", file=sys.stderr, flush=True)  # noqa: T201

        def initialize_logging(self) -> None:
            """Log nothing."""

    command = shlex.join(["exec", sys.executable, "-P", "-m", "pac.tui", *arguments])
    Guarded(command, host=HOST, port=port, title="pac-tui").serve()
    return 0


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
