"""`pac-tui run --ranks N`: the same command in N processes, which torchrun starts."""

from __future__ import annotations

import logging
import os
import sys
from uuid import uuid4

from ...envs import BadParameter
from ...training.exits import DONE, FAILED, INTERRUPTED
from ...training.torchrun import started_by_torchrun

OPTION = "--ranks"


def run_ranks(ranks: int, *, headless: bool) -> int:
    """Run this command once per rank, without `--ranks`; return the exit code.

    Raises:
        BadParameter: It would show an app per rank, or torchrun has started this process.
    """
    if started_by_torchrun():
        raise BadParameter("torchrun has started this process: give the number of processes to torchrun, not --ranks")
    if not headless:
        raise BadParameter("--ranks needs --headless; open the app with `pac-tui attach` in another terminal")
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
    )
    try:
        elastic_launch(config, sys.executable)("-u", "-m", "pac.tui", *without_ranks(sys.argv[1:]))
    except ChildFailedError as error:
        _, first = error.get_first_failure()
        return first.exitcode if first.exitcode > 0 else FAILED
    except (SignalException, KeyboardInterrupt):
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
