"""Starts `pac-tui watch --exit` many times on a short script in a pseudo-terminal: `python tests/tui/watch_starts.py`.

The script steps an environment for 0.2 s, closes it and exits with code 3. Each start must return that code, print what
the script has printed, and leave no process and no file behind.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

SCRIPT = """
import sys, time
import gymnasium, numpy

class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return numpy.zeros(2, "f4"), {}

    def step(self, action):
        return numpy.zeros(2, "f4"), 1.0, False, False, {}

env = Line()
env.reset(seed=0)
begun = time.monotonic()
while time.monotonic() - begun < float(sys.argv[1]):
    env.step(0)
env.close()
print("closed", flush=True)
sys.exit(3)
"""
LIMIT = 60.0  # s for one start
GONE = 5.0  # s in which processes and files must be gone after the end


def start(script: Path, runtime: Path, seconds: float) -> tuple[int, bytes]:
    """Run the script once under the app; return the exit code, and all that was drawn."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pac.tui", "watch", "--exit", str(script), str(seconds)]
    variables = {**os.environ, "PAC_RUNTIME_DIR": str(runtime), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, cwd=script.parent, start_new_session=True
    )
    os.close(theirs)
    drawn, limit = b"", time.monotonic() + LIMIT
    with contextlib.suppress(OSError):  # the terminal's other end was closed
        while time.monotonic() < limit and (select.select([ours], [], [], 0.1)[0] or process.poll() is None):
            if select.select([ours], [], [], 0)[0]:
                drawn += os.read(ours, 1 << 16)
    os.close(ours)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(max(0.1, limit - time.monotonic())), drawn
    process.kill()
    return process.wait(), drawn


def left(runtime: Path) -> list[str]:
    """Return the files in the runtime directory and the processes that use it, once some time has passed."""
    limit = time.monotonic() + GONE
    while True:
        found = [str(path) for path in runtime.glob("pac-*/*")]
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("PAC_RUNTIME_DIR") == str(runtime) and process.pid != os.getpid():
                    found.append(f"{process.pid} {' '.join(process.cmdline())}")
        if not found or time.monotonic() > limit:
            return found
        time.sleep(0.1)


def main() -> int:
    """Start it as often as asked; print how it ended; return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.2, help="how long the script steps")
    parser.add_argument("--to", type=float, help="until how long, evenly: some scripts end while the app opens")
    asked = parser.parse_args()
    codes: Counter[int] = Counter()
    opened = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        script, runtime = Path(folder, "train.py"), Path(folder, "runtime")
        script.write_text(SCRIPT)
        runtime.mkdir(mode=0o700)
        begun = time.monotonic()
        for number in range(asked.count):
            more = ((asked.to or asked.seconds) - asked.seconds) * number / max(1, asked.count - 1)
            code, drawn = start(script, runtime, asked.seconds + more)
            codes[code] += 1
            opened += b"\x1b[?1049h" in drawn
            remains = left(runtime)
            if code != 3 or b"closed" not in drawn or remains:
                wrong += 1
                print(f"start {number + 1}: exit code {code}, left behind: {remains}, drawn: {drawn[-2000:]!r}")  # noqa: T201 - a command
        each = (time.monotonic() - begun) / max(1, asked.count)
    ended = f"the app opened in {opened}; exit codes {dict(codes)}; {wrong} wrong"
    print(f"{asked.count} starts, {each:.2f} s each; {ended}")  # noqa: T201 - as above
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
