"""The app in a browser: only with the token, only from the served page, and only as long as its tab is open."""

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import psutil
import pytest

from ..programs import pac_tui
from ..waiting import until

pytestmark = pytest.mark.session
LIMIT = 60.0
TOKEN = "a-token"


class Stay(HTTPRedirectHandler):
    """Follows no redirection."""

    def redirect_request(self, *_):
        return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def serving(*arguments):
    """Yield a server of `pac-tui ARGUMENTS`, and its address."""
    pytest.importorskip("textual_serve")
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "pac.tui", "serve", "--port", str(port), *arguments],
        env={**os.environ, "PAC_TOKEN": TOKEN},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert f"http://127.0.0.1:{port}/?token={TOKEN}" in line
    until(lambda: answers(port), "it answers")
    yield psutil.Process(process.pid), f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(LIMIT)
    process.stderr.close()


@pytest.fixture(scope="module")
def server():
    """A server of `pac-tui play kuhn`, and its address."""
    with serving("play", "kuhn") as found:
        yield found


@pytest.fixture
def served(server):
    """The address."""
    return server[1]


def answer(url, **headers):
    """Return the status and the headers of a request that follows nothing."""
    try:
        with build_opener(Stay).open(Request(url, headers=headers), timeout=LIMIT) as response:
            return response.status, response.headers
    except HTTPError as error:
        with error:
            return error.code, error.headers


def test_a_request_without_the_token_is_refused(served):
    """Also with a wrong token, and at the socket."""
    assert answer(f"{served}/")[0] == 403
    assert answer(f"{served}/?token=wrong")[0] == 403
    assert answer(f"{served}/ws")[0] == 403


def test_the_token_is_exchanged_for_a_cookie(served):
    """It does not stay in the address, and no script can read it."""
    status, headers = answer(f"{served}/?token={TOKEN}")
    assert (status, headers["Location"]) == (302, "/")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert answer(f"{served}/", Cookie=cookie.partition(";")[0])[0] == 200


def test_another_page_cannot_use_the_cookie(served):
    """A page of another origin, or another name for this machine, is refused in spite of it."""
    assert answer(f"{served}/", Cookie=f"pac-tui={TOKEN}", Origin="http://evil.example")[0] == 403
    assert answer(f"{served}/", Cookie=f"pac-tui={TOKEN}", Host="evil.example")[0] == 403


def test_a_port_in_use_is_reported(served):
    """In one sentence that says what to do."""
    port = served.rpartition(":")[2]
    done = pac_tui("serve", "--port", port)
    assert done.returncode == 2
    assert f"cannot listen on port {port}" in done.stderr


@pytest.mark.parametrize("moment", ["at the start", "drawn", "resized"])
async def test_the_app_of_a_tab_ends_with_it(server, moment):
    """Whatever it does at that moment."""
    from aiohttp import ClientSession

    process, address = server
    async with ClientSession(cookies={"pac-tui": TOKEN}) as browser:
        tab = await browser.ws_connect(f"{address}/ws?width=100&height=30")
        apps = until(lambda: [one for one in process.children() if one.cmdline()[-2:] == ["play", "kuhn"]], "an app")
        if moment != "at the start":
            await tab.receive()
        if moment == "resized":
            await tab.send_json(["resize", {"width": 120, "height": 40}])
        await tab.close()
    until(lambda: not any(app.is_running() for app in apps), "the end of the app")


async def test_a_tab_shows_why_its_app_has_failed():
    """The error that a terminal would show."""
    from aiohttp import ClientSession

    with serving("play", "nothing") as (_, address):
        async with ClientSession(cookies={"pac-tui": TOKEN}) as browser:
            tab = await browser.ws_connect(f"{address}/ws?width=100&height=30")
            shown = (await tab.receive(LIMIT)).data.decode()
            await tab.close()
    assert "unknown task 'nothing'" in shown
    assert "Reload this page" in shown
