"""Attaches to scripts at random moments, pauses, steps and detaches, and compares their results with a plain run.

python -m tests.harm.attach [--runs 20] [--seed 0] [--scripts DIR] [--only TEXT] [--jobs N]

A viewer does what the app does: it reads telemetry, asks for views, joins, sends commands, and leaves, with or without
saying so. A run that was never attached does not count.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from pac.backends.system.segment import SHM, directories
from pac.envs import PacError
from pac.training.session.control import SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from .run import APP, Case, Outcome, differences, outcome, own_cases, places, run, run_on_files

SCRIPTS = Path(__file__).parent / "attached"
LIMIT = 120.0  # s
CONDITIONS = ("return > 3", "length == 7", "reward > 1e9", "done", "nonsense(")


class Viewer:
    """A viewer of one session, with commands at random."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        self._dice, self._directory = dice, directory
        self._reader = TelemetryReader(directory)
        self._client = SessionClient(directory)
        self._client.call("join", name="a test")
        self.commands = 0

    def act(self) -> None:
        """Send one command that was drawn, and look at what is published."""
        dice = self._dice
        self._reader.follow()
        snapshot = take_snapshot(self._reader, ViewRequest(count=0))
        env = dice.randrange(max(1, snapshot.num_envs))
        kind = dice.choice(
            ("pause", "pause", "step", "step", "steps", "resume", "look", "look", "episode", "break", "speed")
        )
        arguments: dict[str, dict[str, Any]] = {
            "steps": {"count": dice.randrange(1, 50)},
            "look": {
                "focus": dice.choice((None, env)),
                "first": 0,
                "count": dice.choice((0, 1, 4)),
                "detail": (asked := dice.random() < 0.5),
                "saliency": asked,
            },
            "episode": {"env": env},
            "break": {"text": dice.choice(CONDITIONS)},
            "speed": {"sps": dice.choice((0, 50_000, 500_000))},
        }
        self.commands += 1
        with suppress(PacError):
            self._client.call({"steps": "step"}.get(kind, kind), **arguments.get(kind, {}))
        take_snapshot(self._reader, ViewRequest(focus=env, saliency=True))

    def leave(self) -> None:
        """Leave as the app does: the script goes on at full speed; sometimes without a word, as after a crash."""
        with suppress(PacError):
            if self._dice.random() < 0.7:
                for number in take_snapshot(self._reader, ViewRequest(count=0)).breakpoints["number"].tolist():
                    self._client.call("unbreak", number=number)
                self._client.call("speed", sps=0)
                self._client.call("resume")
                self._client.call("detach")
        self._client.close()


def disturb(pid: int, seed: int, ended: threading.Event) -> int:
    """Attach to the sessions of a process again and again until it has ended; return how many commands were sent."""
    dice, commands = random.Random(seed), 0
    while not ended.wait(dice.uniform(0.0, 0.08)):
        found = [path for path, owner, alive in directories() if owner == pid and alive]
        with suppress(PacError, OSError, ValueError):
            if found:
                viewer = Viewer(dice.choice(found), dice)
                try:
                    for _ in range(dice.randrange(1, 25)):
                        viewer.act()
                        if ended.wait(dice.expovariate(100)):
                            break
                finally:
                    viewer.leave()
                    commands += viewer.commands
    return commands


def ask_saliency(pid: int, _seed: int, ended: threading.Event) -> int:
    """Have it computed what the script's policy depends on, as often as it is; return how often that was."""
    found: set[bytes] = set()
    while not ended.wait(0.02):
        paths = [path for path, owner, alive in directories() if owner == pid and alive]
        with suppress(PacError, OSError, ValueError):
            if paths:
                reader = TelemetryReader(paths[0])
                with closing(SessionClient(paths[0])) as client:
                    client.call("join", name="a test")
                    while not ended.wait(0.05):
                        reader.follow()
                        client.call("look", focus=1, detail=True, saliency=True)
                        saliency = take_snapshot(reader, ViewRequest(focus=1, saliency=True)).saliency
                        if saliency is not None and saliency.of:
                            found.add(saliency.gradient.tobytes())
    return len(found)


def attached_run(
    case: Case, reference: Outcome, seed: int, viewer: Callable[[int, int, threading.Event], int] = disturb
) -> tuple[list[str], int]:
    """Run a script beside a viewer; return what differs from a plain run, and what the viewer has counted."""
    commands = 0

    def beside(pid: int, ended: threading.Event) -> None:
        nonlocal commands
        commands = viewer(pid, seed, ended)

    with places() as found:
        place = found["headless"]
        case.write(place.work, 1)
        environment = place.environment(case) | {"PAC_RUNTIME_DIR": os.environ["PAC_RUNTIME_DIR"]}
        command = [*APP, "watch", "--python", sys.executable, "--headless", *case.command]
        return differences(
            reference, outcome(case, place, *run_on_files(command, place, environment, LIMIT, beside))
        ), commands


def main() -> int:
    """Print a table; return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="runs of each script")
    parser.add_argument("--seed", type=int, default=0, help="the first run's seed")
    parser.add_argument("--scripts", type=Path, default=SCRIPTS, help="folder of other scripts")
    parser.add_argument("--only", default="", help="only scripts whose name matches this regular expression")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at the same time")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    harmed = 0
    with tempfile.TemporaryDirectory(prefix="harm-", dir=SHM if SHM.is_dir() else None) as shared:
        os.environ["PAC_RUNTIME_DIR"] = shared
        for case in own_cases(options.scripts):
            if not re.search(options.only, case.name):
                continue
            with places() as found:
                reference = run(case, "plain", found["plain"])
            seeds = range(options.seed, options.seed + options.runs)
            with ThreadPoolExecutor(options.jobs) as pool:
                results = list(pool.map(lambda seed, case=case, to=reference: attached_run(case, to, seed), seeds))
            wrong = {seed: texts for seed, (texts, _) in zip(seeds, results, strict=True) if texts}
            counts = [commands for _, commands in results]
            harmed += len(wrong)
            equal = f"{len(seeds) - len(wrong)} of {len(seeds)} equal"
            print(f"{case.name:24} {equal}, {min(counts)} to {max(counts)} commands", flush=True)
            for seed, texts in wrong.items():
                print(f"    seed {seed}: {'; '.join(texts)}", flush=True)
        left = [path.name for path in Path(shared).glob("pac-*/*")]
    if left:
        print("left in the runtime directory:", *left)
    return int(harmed > 0 or bool(left))


if __name__ == "__main__":
    sys.exit(main())
