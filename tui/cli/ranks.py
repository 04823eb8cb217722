"""`pac-tui run --ranks N`: the same command in N processes, which torchrun starts."""

from __future__ import annotations

import logging
import os
import signal
import sys
from contextlib import suppress
from threading import Thread
from uuid import uuid4

import psutil

from ...envs import BadParameter
from ...training.exits import DONE, FAILED, INTERRUPTED
from ...training.runs.last_telemetry import remove_dead_sessions
from ...training.torchrun import started_by_torchrun
from ..terminal.modes import check_terminal

OPTION, DETACH = "--ranks", b"d"
SAVING = 30.0
"""Seconds that ranks have to save and end, as torchrun gives them."""


def run_ranks(ranks: int, *, headless: bool) -> int:
    """Run this command once per rank, without `--ranks`, and show all of them in the app; return the exit code.

    Raises:
        BadParameter: torchrun has started this process.
        NoTerminal: There is no terminal for the app.
    """
    if started_by_torchrun():
        raise BadParameter("torchrun has started this process: give the number of processes to torchrun, not --ranks")
    arguments = without_ranks(sys.argv[1:])
    if headless:
        return start_ranks(ranks, arguments)
    check_terminal()
    from ..starting.launch import show_ranks

    return show_ranks(ranks, [*arguments, "--headless"])


def start_ranks(ranks: int, arguments: list[str]) -> int:
    """Have torchrun start `pac-tui` with these arguments once per rank; return the exit code.

    Every signal that stops them reaches the ranks as SIGTERM, of which an interpreter that is starting says nothing.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return _run_ranks(ranks, arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _end_ranks()
        remove_dead_sessions()  # of ranks that were killed


def _end_ranks() -> None:
    """End the ranks that torchrun has left: a signal while it starts them makes it forget those that it has started."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    ranks = psutil.Process().children()
    processes = psutil.Process().children(recursive=True)
    for rank in ranks:
        with suppress(ProcessLookupError):
            os.killpg(rank.pid, signal.SIGTERM)  # each leads a group
    _, alive = psutil.wait_procs(processes, timeout=SAVING)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=SAVING)


def _run_ranks(ranks: int, arguments: list[str]) -> int:
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # the ranks report why they end
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torchrun would set it, with a warning
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=ranks,
        run_id=uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        signals_to_handle="SIGTERM,SIGHUP,SIGQUIT",
    )
    signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        elastic_launch(config, sys.executable)("-u", "-P", "-m", "pac.tui", *arguments)
    except ChildFailedError as error:
        _, first = error.get_first_failure()
        return first.exitcode if first.exitcode > 0 else FAILED
    except SignalException:
        return INTERRUPTED
    return DONE


def without_ranks(arguments: list[str]) -> list[str]:
    """Return the arguments of a command without `--ranks N` or `--ranks=N`."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if not skip and argument != OPTION and not argument.startswith(f"{OPTION}="):
            kept.append(argument)
        skip = argument == OPTION
    return kept


def main() -> int:
    """Start ranks for an app, which holds the other end of stdin: they save and end with it, unless it detaches."""

    def end_with_the_app() -> None:
        if os.read(0, 1) != DETACH:
            os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end_with_the_app, daemon=True).start()
    return start_ranks(int(sys.argv[1]), sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
