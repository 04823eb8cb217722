"""`pac-tui run --ranks N`: the same command in N processes, which torchrun starts."""

from __future__ import annotations

import os
import sys

from ...envs import BadParameter
from ...training.ranks import started_by_torchrun

OPTION = "--ranks"


def run_ranks(ranks: int, *, headless: bool) -> int:
    """Replace this process by torchrun, which runs this command once per rank, without `--ranks`.

    Raises:
        BadParameter: It would show an app per rank, or torchrun has started this process.
    """
    if started_by_torchrun():
        raise BadParameter("torchrun has started this process: give the number of processes to torchrun, not --ranks")
    if not headless:
        raise BadParameter("--ranks needs --headless; open the app with `pac-tui attach` in another terminal")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m", "pac.tui"]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torchrun would set it, with a warning
    os.execv(sys.executable, [sys.executable, *torchrun, *without_ranks(sys.argv[1:])])  # noqa: S606 - no shell is needed


def without_ranks(arguments: list[str]) -> list[str]:
    """Return the arguments of a command without `--ranks N` or `--ranks=N`."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if not skip and argument != OPTION and not argument.startswith(f"{OPTION}="):
            kept.append(argument)
        skip = argument == OPTION
    return kept
