"""A process that answers requests, which are lines of text, by lines of JSON. This file has both of its ends."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from ..backends.workers.worker import instructions_with, read_instructions
from ..envs import apart
from ..envs.titles import set_title


class AskedProcess:
    """Starts a process and reads its answers in a thread.

    Args:
        module: The program.
        setup: What it gets first.
        title: Name of the thread.
        heard: Called in the thread when an answer has come.
        errors: Where stderr goes.

    Attributes:
        answers: The lines of its answers, and None at its end.
    """

    def __init__(
        self,
        module: str,
        setup: Mapping[str, Any],
        title: str,
        *,
        heard: Callable[[], None] = lambda: None,
        errors: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        self.process: subprocess.Popen[str] = apart.start(
            module, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._requests, self._lines = self.process.stdin, self.process.stdout
        self.answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._heard = heard
        self.ask(instructions_with(**setup))
        threading.Thread(target=self._read, name=title, daemon=True).start()

    def ask(self, line: str) -> bool:
        """Send a line; return false if the process has ended."""
        try:
            self._requests.write(line)
            self._requests.flush()
        except BrokenPipeError:
            return False
        return True

    def _read(self) -> None:
        with self._lines:
            for line in self._lines:
                self._heard()
                self.answers.put(line)
        self.answers.put(None)

    def close(self) -> None:
        """End the process."""
        apart.kill(self.process)
        with suppress(OSError):  # what was not written yet
            self._requests.close()


def begin_to_answer(title: str) -> tuple[Mapping[str, Any], IO[str]]:
    """Return what such a process gets first, and where it writes its answers. What else it prints is no answer."""
    setup = read_instructions()
    set_title(title)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return setup, answers
