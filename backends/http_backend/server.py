"""Serves environments over HTTP with JSON and a token, on 127.0.0.1 only; usable with curl.

docs/transports.md lists the endpoints. There is no auto-reset: a step that ends the episode is answered with its last
observation, and the next episode begins with POST /reset.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from ...envs import BadParameter, EnvironmentFailed, PacError, Task, find
from ...envs.errors import brief
from ...envs.files import parse_json
from ..core.errors import BackendBusy, BackendUnavailable
from ..servers.hosting import EnvironmentServer, HostedEnvironment, ending_signals
from ..workers.control import IDLE, Link
from . import messages
from .messages import Action, EnvRequest, Kind, ResetRequest, StepMultiRequest, StepRequest

ENDPOINTS = "GET /health, GET /spaces, GET or POST /observe, POST /reset, POST /step, POST /step-multi"
HOME = "127.0.0.1"
MOST_BODY = 1 << 20
BACKLOG = 4096
KEEP = 7 * 24 * 3600.0
"""Time that an idle connection is kept, in s: a training may be paused for a long time."""
END_CHECK_INTERVAL = 0.1
"""Time between two checks whether to end, in s."""

Answer = Callable[[Kind, HostedEnvironment], Mapping[str, Any]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)

# What clients do wrong is answered, but not logged: it could fill the disk or contain control characters.
clients = logging.getLogger(f"{__name__}.clients")
clients.setLevel(logging.CRITICAL)


class HttpServer(EnvironmentServer):
    """Serves environments `lo..hi` of a run to clients with the token.

    Args:
        lo: First environment.
        hi: One past the last.
        seed: The run's seed.
        token: The token of the header `Authorization: Bearer TOKEN`.
        link: The fleet that the server is a worker of; else a failed environment is an answer with status 500.

    Attributes:
        failure: The error that ends the server.
    """

    def __init__(self, task: Task, lo: int, hi: int, *, seed: int, token: str, link: Link | None = None) -> None:
        super().__init__(task, lo, hi, seed, link)
        self._bearer = f"Bearer {token}".encode()
        self.failure: Exception | None = None

    async def run(self, listener: socket.socket, ended: Callable[[], bool]) -> None:
        """Serve until `ended` is true or an environment failed; then close every environment.

        Raises:
            EnvironmentFailed: An environment failed.
        """
        asyncio.get_running_loop().set_exception_handler(_note)
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            logger=clients,
            keepalive_timeout=KEEP,
            handle_signals=False,
            shutdown_timeout=0,
        )
        await runner.setup()
        try:
            await web.SockSite(runner, listener, backlog=BACKLOG).start()
            while self.failure is None and not ended():  # noqa: ASYNC110 - no signal or shared word wakes the loop
                await asyncio.sleep(END_CHECK_INTERVAL)
        finally:
            await runner.cleanup()
            self._close_hosts()
        if self.failure is not None:
            raise self.failure

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=MOST_BODY, middlewares=[self._guard])
        observe = self._answer(EnvRequest, lambda _, host: messages.observed(host))
        application.add_routes(
            [
                web.get("/health", self._health),
                web.get("/spaces", self._spaces),
                web.get("/observe", observe),
                web.post("/observe", observe),
                web.post("/reset", self._answer(ResetRequest, self._reset)),
                web.post("/step", self._answer(StepRequest, self._step)),
                web.post("/step-multi", self._answer(StepMultiRequest, self._step_multi)),
            ]
        )
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests without the token, and turn every error into JSON."""
        if not hmac.compare_digest(
            request.headers.get("Authorization", "").encode(errors="surrogateescape"), self._bearer
        ):
            return _error(401, "the header `Authorization: Bearer TOKEN` is missing or has another token")
        try:
            return await handler(request)
        except web.HTTPRequestEntityTooLarge:
            return _error(413, f"expected a body of at most {MOST_BODY:,} bytes")
        except web.HTTPException as error:
            return _error(error.status, f"there is no {request.method} {request.path}; the endpoints are {ENDPOINTS}")
        except BackendBusy as error:
            return _error(409, str(error))
        except PacError as error:
            if isinstance(error, ValueError):
                return _error(400, str(error))
            return self._failed(error)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> web.Response:
        """Return the error of an environment; an error of this program is logged, not sent."""
        if self._link:
            self.failure = self.failure or error
        log.error("%s", error, exc_info=error)
        arguments = isinstance(error, EnvironmentFailed)
        return _error(500, str(error) if arguments else "the server failed; see its standard error")

    def _answer(self, kind: type[Kind], answer: Answer[Kind]) -> Handler:
        """Return a handler that parses the request, finds its environment and calls `answer`."""

        async def handle(request: web.Request) -> web.Response:
            given = messages.parsed(kind, request.query) if request.method == "GET" else await _body(request)
            asked = messages.request_of(kind, given)
            return _json_response(answer(asked, self._host(asked.env)))

        return handle

    def _host(self, env: int) -> HostedEnvironment:
        if not 0 <= env - self._lo < len(self._hosts):
            last = self._lo + len(self._hosts) - 1
            raise BadParameter(f"expected an environment from {self._lo} to {last}, got {env}")
        return self._hosts[env - self._lo]

    async def _health(self, _: web.Request) -> web.Response:
        return _json_response(messages.health(self._hosts))

    async def _spaces(self, _: web.Request) -> web.Response:
        return _json_response(messages.spaces(self._task))

    def _reset(self, asked: ResetRequest, host: HostedEnvironment) -> Mapping[str, Any]:
        begun = time.monotonic_ns()
        host.request_boards(watched=asked.look)
        host.reset(asked.seed, asked.episode)
        self._beat()
        return messages.result(host, asked, time.monotonic_ns() - begun)

    def _step(self, asked: StepRequest, host: HostedEnvironment) -> Mapping[str, Any]:
        if self._task.players > 1:
            raise BadParameter(f"{self._task.name} has {self._task.players} seats: POST /step-multi with `actions`")
        return self._stepped(asked, host, [asked.action])

    def _step_multi(self, asked: StepMultiRequest, host: HostedEnvironment) -> Mapping[str, Any]:
        return self._stepped(asked, host, asked.actions)

    def _stepped(self, asked: EnvRequest, host: HostedEnvironment, actions: list[Action]) -> Mapping[str, Any]:
        if not self._task.action.shape and not all(isinstance(action, int) for action in actions):
            raise BadParameter(f"an action is a whole number, got {brief(actions)}")
        begun = time.monotonic_ns()
        host.request_boards(watched=asked.look)
        host.step(actions)
        self.steps += 1
        self._beat()
        return messages.result(host, asked, time.monotonic_ns() - begun)


async def _body(request: web.Request) -> Any:
    """Return the JSON of a request's body, an empty object if there is none. Any failure is an error of the client.

    Raises:
        BadParameter: It is not JSON, or not encoded as its headers say, or the client closed the connection.
    """
    try:
        return parse_json(await request.read() or b"{}")
    except web.HTTPException:
        raise
    except ValueError as error:
        raise BadParameter(f"the body: {error}") from None
    except Exception:
        raise BadParameter("the body could not be read: send all of it, encoded as the headers say") from None


def _note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of a connection outside of any request."""
    clients.warning("%s", context["message"], exc_info=context.get("exception"))


def _json_response(data: Mapping[str, Any], status: int = 200) -> web.Response:
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return web.Response(text=text, status=status, content_type="application/json")


def _error(status: int, sentence: str) -> web.Response:
    return _json_response({"error": sentence}, status)


def listen(port: int) -> socket.socket:
    """Return a socket bound to a port of 127.0.0.1; any free one if `port` is 0.

    Raises:
        BackendUnavailable: The port is in use, or this user may not bind it.
    """
    try:
        return socket.create_server((HOME, port), backlog=BACKLOG)
    except OSError as error:
        raise BackendUnavailable(f"cannot listen on {HOME}:{port}: {error.strerror}; choose another port") from error


def serve(task: Task, listener: socket.socket, lo: int, hi: int, *, seed: int, token: str) -> int:
    """Serve environments `lo..hi` until SIGTERM or SIGINT; return the signal."""
    with listener:
        server = HttpServer(task, lo, hi, seed=seed, token=token)
        with ending_signals() as came:
            asyncio.run(server.run(listener, lambda: bool(came)))
    return came[0]


def work(link: Link, arguments: Mapping[str, Any]) -> None:
    """Serve environments `arguments["lo"]..arguments["hi"]` on a free port until the fleet asks to close."""
    task = find(arguments["spec"])
    task.prepare()
    lo, hi, seed, token = (arguments[name] for name in ("lo", "hi", "seed", "token"))
    server = HttpServer(task, lo, hi, seed=seed, token=token, link=link)
    due = 0.0

    def ended() -> bool:
        nonlocal due
        if time.monotonic() > due:
            due = time.monotonic() + IDLE
            link.idle()
        return link.closing

    listener = listen(0)
    link.set_number(listener.getsockname()[1])
    link.ready()
    asyncio.run(server.run(listener, ended))
