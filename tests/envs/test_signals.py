"""Handlers of signals stay what they were, however they are set."""

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pac.envs.signals import NO_SDL_HANDLERS, WithoutSdlHandlers, kept_signals

from ..waiting import LIMIT

IGNORE = ctypes.c_void_p(1)


@pytest.fixture
def own():
    """A handler of SIGUSR2 that was set from Python."""

    def handle(*_):
        """Do nothing."""

    before = signal.signal(signal.SIGUSR2, handle)
    yield handle
    signal.signal(signal.SIGUSR2, before)


def ignored(number: int) -> bool:
    """Whether the system ignores a signal in this process."""
    status = Path("/proc/self/status").read_text().splitlines()
    (mask,) = (line.split()[1] for line in status if line.startswith("SigIgn"))
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("thread", [False, True], ids=["main thread", "another thread"])
def test_what_a_library_sets_is_undone(own, thread):
    """Python does not see it; any thread may call the library."""

    def call() -> None:
        with kept_signals():
            ctypes.CDLL(None).signal(int(signal.SIGUSR2), IGNORE)
            ctypes.CDLL(None).signal(int(signal.SIGTERM), IGNORE)
            assert ignored(signal.SIGTERM)

    if thread:
        caller = threading.Thread(target=call)
        caller.start()
        caller.join()
    else:
        call()
    assert not ignored(signal.SIGTERM)
    assert not ignored(signal.SIGUSR2)
    assert signal.getsignal(signal.SIGUSR2) is own


def test_what_python_code_sets_is_undone(own):
    """In the main thread, where the call is made."""
    with kept_signals():
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGUSR2) is own
    assert not ignored(signal.SIGUSR2)


def test_what_the_script_sets_meanwhile_is_kept(own):
    """Its main thread sets a handler while another one is in the library."""
    entered, done = threading.Event(), threading.Event()

    def call() -> None:
        with kept_signals():
            entered.set()
            done.wait()

    caller = threading.Thread(target=call)
    caller.start()
    entered.wait()
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    done.set()
    caller.join()
    assert signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN
    assert ignored(signal.SIGUSR2)


def test_sdl_is_told_to_handle_no_signals(monkeypatch):
    """While the block lasts; what the user has set remains."""
    monkeypatch.delenv(NO_SDL_HANDLERS, raising=False)
    with kept_signals():
        assert os.environ[NO_SDL_HANDLERS] == "1"
    assert NO_SDL_HANDLERS not in os.environ
    monkeypatch.setenv(NO_SDL_HANDLERS, "0")
    with kept_signals():
        assert os.environ[NO_SDL_HANDLERS] == "0"
    assert os.environ[NO_SDL_HANDLERS] == "0"


@pytest.mark.session
def test_a_process_that_looked_at_an_environment_ends_at_sigterm():
    """It has drawn one to learn its board, and draws more itself."""
    pytest.importorskip("pygame")
    code = (
        "import signal, gymnasium\n"
        "from pac.envs import find\n"
        "find('CartPole-v1')\n"
        "env = gymnasium.make('CartPole-v1', render_mode='rgb_array')\n"
        "env.reset()\n"
        "env.render()\n"
        "print('drawn', flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "drawn\n"
        process.terminate()
        try:
            assert process.wait(LIMIT) == -signal.SIGTERM
        finally:
            process.kill()


UNPICKLE = """
import ctypes, pickle, sys
name = pickle.load(sys.stdin.buffer)
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(type(name).__name__, name, getenv(b"SDL_NO_SIGNAL_HANDLERS"))
"""


@pytest.mark.thorough
def test_a_worker_process_need_not_be_able_to_import_pac():
    """It gets a plain string, and the variable that SDL reads."""
    command = [sys.executable, "-I", "-S", "-c", UNPICKLE]
    output = subprocess.run(command, input=pickle.dumps(WithoutSdlHandlers("render")), capture_output=True, check=True)
    assert output.stdout == b"str render b'1'\n"
