"""Watching changes no handler of a signal: schedulers end scripts by SIGTERM."""

import signal
from contextlib import closing, contextmanager, suppress
from functools import partial

import psutil
import pytest

from pac.training.runs.sessions import sessions
from pac.training.session.control import SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from ...programs import talking
from ...waiting import LIMIT, until

pytestmark = pytest.mark.session
pytest.importorskip("pygame")

SCRIPT = """
import signal, sys, threading, time
import gymnasium
from pac.training import watch

def ended(*_):
    print("handled", flush=True)
    sys.exit(3)

if "handler" in sys.argv:
    signal.signal(signal.SIGTERM, ended)
kind = gymnasium.vector.AsyncVectorEnv if "async" in sys.argv else gymnasium.vector.SyncVectorEnv
envs = watch(kind([lambda: gymnasium.make("CartPole-v1", render_mode="rgb_array")] * 2), name="drawn")

def train():
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())
    print("stands", flush=True)
    while True:
        envs.step(envs.action_space.sample())
        time.sleep(0.001)

if "thread" in sys.argv:
    threading.Thread(target=train, daemon=True).start()
    threading.Event().wait()
train()
"""


@contextmanager
def drawn(*arguments):
    """A script that is watched, and whose environments somebody has seen drawn."""
    script = talking("-c", SCRIPT, *arguments)
    tree = []
    try:
        assert script.stdout
        assert script.stdout.readline() == "stands\n"
        tree = psutil.Process(script.pid).children(recursive=True)
        (found,) = [session for session in sessions() if session.name == "drawn" and session.pid == script.pid]
        reader = TelemetryReader(found.directory)
        with closing(SessionClient(found.directory)) as client:
            client.call("look", focus=0)
            until(partial(shows_a_picture, reader), "a picture")
            yield script
    finally:
        script.kill()
        script.communicate()
        for worker in tree:
            with suppress(psutil.NoSuchProcess):
                worker.kill()


def shows_a_picture(reader):
    """Whether an environment was drawn."""
    boards = take_snapshot(reader, ViewRequest(focus=0)).boards
    return "picture" in boards and boards["picture"].any()


@pytest.mark.parametrize("arguments", [(), ("thread",), ("async",)], ids=str)
def test_a_script_that_was_drawn_ends_at_sigterm(arguments):
    """By the signal itself, wherever it trains and however its environments are stepped."""
    with drawn(*arguments) as script:
        script.send_signal(signal.SIGTERM)
        assert script.wait(LIMIT) == -signal.SIGTERM


def test_a_scripts_own_handler_is_kept():
    """It is called, and ends the script in its own way."""
    with drawn("handler") as script:
        script.send_signal(signal.SIGTERM)
        assert script.wait(LIMIT) == 3


def test_the_workers_of_a_script_end_at_sigterm():
    """They drew, and whoever closes them terminates them and waits."""
    with drawn("async") as script:
        workers = psutil.Process(script.pid).children()
        assert len(workers) == 2
        script.send_signal(signal.SIGSTOP)  # it must not react to the end of its workers
        for worker in workers:
            worker.terminate()
        until(lambda: all(worker.status() == psutil.STATUS_ZOMBIE for worker in workers), "both workers' end")
        script.kill()
