"""Environments that start processes when they are made and never end them; their numbers go into a file."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from ..backends.faulty import Counter

SLEEP = ["sleep", "7777"]
DAEMON = "sleep 7777 >/dev/null 2>&1 & echo $!"


class Parent(Counter):
    """Starts processes in one of several ways."""

    def __init__(self, file: str, how: str = "child") -> None:
        super().__init__()
        self.file = Path(file)
        getattr(self, how)()

    def note(self, pid: int) -> None:
        with self.file.open("a") as file:
            file.write(f"{pid}\n")

    def child(self) -> None:
        self.note(os.spawnvp(os.P_NOWAIT, SLEEP[0], SLEEP))

    def fork(self) -> None:
        if pid := os.fork():
            self.note(pid)
        else:
            os.execvp(SLEEP[0], SLEEP)

    def thread(self) -> None:
        thread = threading.Thread(target=self.child)
        thread.start()
        thread.join()

    def session(self) -> None:
        self.note(subprocess.Popen(SLEEP, start_new_session=True).pid)

    def shell(self) -> None:
        """A shell that has a child, which is what is noted."""
        shell = subprocess.Popen(["sh", "-c", "sleep 7777 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
        assert shell.stdout
        self.note(int(shell.stdout.readline()))
        self.note(shell.pid)

    def daemon(self) -> None:
        """A session of its own whose parent has ended."""
        found = subprocess.run(["sh", "-c", DAEMON], check=True, capture_output=True, text=True, start_new_session=True)
        self.note(int(found.stdout))

    def failure(self) -> None:
        self.child()
        raise RuntimeError("no licence found")
