"""Measures the overhead of `pac-tui watch`: unchanged scripts alternately with and without it."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from .facts import Figures, Progress, summary_of
from .measured_process import MeasuredProcess, MeasurementFailed
from .parts import WATCHED
from .terminal import drain, on_terminal
from .turns import alternate
from .watch_startup import watch_startup
from .watched.loops import LOOPS

SCRIPTS = Path(__file__).parent / "watched"
PLAIN = (sys.executable,)
WATCH = (sys.executable, "-P", "-m", "pac.tui", "watch", "--headless", "--python", sys.executable)
SETTLING = 0.15  # s: what became due while a process was stopped is done in these
Turn = dict[str, float]


def watch_cost(*, seconds: float = WATCHED, pairs: int = 24, rounds: int = 7, progress: Progress) -> Figures:
    """Train in several loops, each with `watch` and without, unattached and with the app attached.

    A pair is `seconds` of training with `watch` and as many without, in processes that are stopped meanwhile.

    Returns:
        By training and viewer: the time that `watch` adds, as a share of the time without it, per pair, on the clock
        (`added`) and in CPU time of the script's process (`cpu`); `many`, the CPU time of a script with 200
        environments, over that without `watch`, per round; and `startup`, what `watch_startup` returns.
    """
    ways = [(loop, attached) for loop in measurable() for attached in (False, True)]
    added: dict[str, dict[str, Figures]] = {}
    cpu: dict[str, dict[str, Figures]] = {}
    for number, (loop, attached) in enumerate(ways):
        who = "attached" if attached else "nobody"
        progress(f"{loop}, {who}", number / (len(ways) + 2))
        turns = loop_turns(loop, seconds, pairs, attached=attached)
        added.setdefault(loop, {})[who] = summary_of(shares(turns, "wall"))
        cpu.setdefault(loop, {})[who] = summary_of(shares(turns, "cpu"))
    progress("200 environments", len(ways) / (len(ways) + 2))
    many = alternate({"plain": lambda: cpu_time(PLAIN), "watched": lambda: cpu_time(WATCH)}, rounds)
    times = [watched / plain for watched, plain in zip(many["watched"], many["plain"], strict=True)]
    progress("startup", (len(ways) + 1) / (len(ways) + 2))
    startup = watch_startup(pairs=rounds, progress=lambda _what, _share: None)
    return {"seconds": seconds, "added": added, "cpu": cpu, "many": summary_of(times), "startup": startup}


def measurable() -> list[str]:
    """Return the trainings that can be measured: that of Stable-Baselines3 only if it is installed."""
    return [name for name in LOOPS if name != "sb3" or find_spec("stable_baselines3") is not None]


def shares(turns: Sequence[tuple[Turn, Turn]], clock: str) -> list[float]:
    """Return by how much an iteration took longer in the second turn of each pair, as a share of the first."""
    each = [[turn[clock] / turn["iterations"] for turn in pair] for pair in turns]
    return [watched / plain - 1 for plain, watched in each]


def loop_turns(loop: str, seconds: float, pairs: int, *, attached: bool) -> list[tuple[Turn, Turn]]:
    """Return the pairs of turns of a training, without `watch` and with it."""
    script = [str(SCRIPTS / "loops.py"), loop]
    app, terminal = None, -1
    with (
        closing(MeasuredProcess(loop, [*PLAIN, *script])) as plain,
        closing(MeasuredProcess(f"{loop}, watched", [*WATCH, *script])) as watched,
    ):
        try:
            if attached:
                app, terminal = on_terminal([sys.executable, "-P", "-m", "pac.tui", "attach", str(watched.pid)])
                threading.Thread(target=drain, args=(terminal,), daemon=True).start()
            for side in (plain, watched):  # the app joins in this time
                side.measure(2.0 if attached else SETTLING, 0.1)
            sides = {
                "plain": lambda: plain.measure(SETTLING, seconds),
                "watched": lambda: watched.measure(SETTLING, seconds),
            }
            turns = alternate(sides, pairs)
            if app is not None and app.poll() is not None:
                raise MeasurementFailed("the app did not stay attached")
            return list(zip(turns["plain"], turns["watched"], strict=True))
        finally:
            if app is not None:
                app.kill()
                app.wait()
                with contextlib.suppress(OSError):
                    os.close(terminal)


def cpu_time(command: Sequence[str]) -> float:
    """Return the CPU time of the script with many environments, in seconds."""
    with tempfile.TemporaryFile() as log:
        streams = [(os.POSIX_SPAWN_DUP2, log.fileno(), stream) for stream in (1, 2)]
        script = [*command, str(SCRIPTS / "many.py")]
        pid = os.posix_spawn(script[0], script, dict(os.environ), file_actions=streams)
        _, status, used = os.wait4(pid, 0)
        if status:
            log.seek(0)
            raise MeasurementFailed(f"the script failed:\n{log.read().decode(errors='replace').strip()}")
    return used.ru_utime + used.ru_stime
