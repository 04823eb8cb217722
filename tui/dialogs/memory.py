"""The dialog of the memory: of each process over time, what each part is for, the GPU, and lines that allocate."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.worker import get_current_worker

from ...envs import PacError
from ...training.memory import Allocations, MemoryUse, ProcessUse, allocations_of, memory_use
from ...training.profile import Malformed
from ...training.session.control import TIMEOUT, SessionClient
from ..drawing.styles import FAINT, RED, TEXT, Row, styled
from ..views.memory import HALF, curve_rows, gpu_rows, head_rows, line_row, part_rows, process_row
from ..views.number_rows import hint, wrapped
from .dialog import ListDialog

PERIOD = 1.0
"""Seconds between two questions."""
SECONDS = 10.0
"""For how long allocations are followed."""
LEAST_CURVE, MOST_CURVE = 3, 16


class Memory(ListDialog[ProcessUse, None]):
    """Lists the processes, and shows below them what the memory is for and the selected process over time.

    Args:
        client: Makes a connection to the session that only this dialog uses, with a time limit in s.
    """

    heading, MOST_COLUMNS, FILLS = "Memory", 10_000, True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "gpu", "GPU over time"),
        Binding("l", "lines", "Lines that allocate"),
    ]

    @dataclass
    class Answered(Message):
        """The session has answered, or cannot."""

        answer: Mapping[str, Any] | None
        error: str = ""
        lines: bool = False

    def __init__(self, client: Callable[[float], SessionClient]) -> None:
        super().__init__()
        self._client = client
        self._use: MemoryUse | None = None
        self._gpu = self._asks = False
        self._found: Allocations | None = None

    def on_mount(self) -> None:
        """Ask as long as the dialog is open."""
        self._ask()

    @work(thread=True, exclusive=True)
    def _ask(self) -> None:
        worker = get_current_worker()
        try:
            with closing(self._client(TIMEOUT)) as client:
                while not worker.is_cancelled:
                    self.post_message(self.Answered(client.call("memory")))
                    time.sleep(PERIOD)
        except PacError as error:
            self.post_message(self.Answered(None, str(error)))

    @work(thread=True, exclusive=True, group="lines")
    def _ask_lines(self) -> None:
        try:
            with closing(self._client(SECONDS + TIMEOUT)) as client:
                self.post_message(self.Answered(client.call("allocations", seconds=SECONDS), lines=True))
        except PacError as error:
            self.post_message(self.Answered(None, str(error), lines=True))

    def on_memory_answered(self, message: Answered) -> None:
        """Show what was answered."""
        try:
            if message.lines:
                self._asks = False
                self._found = allocations_of({"": message.answer}) if message.answer is not None else None
            elif message.answer is not None:
                self._use = memory_use({"": message.answer})
            self.error = message.error or self.error * message.lines
        except Malformed as error:
            self.error = str(error)
        self.draw()

    def action_gpu(self) -> None:
        """Show the GPU in place of the parts, or the parts again."""
        self._gpu, self._found = not self._gpu, None
        self.draw()

    def action_lines(self) -> None:
        """Follow allocations, and list the lines; a second time, show the parts again."""
        if self._found is not None:
            self._found = None
        elif not self._asks:
            self._asks = True
            self._ask_lines()
        self.draw()

    @property
    def shown(self) -> list[ProcessUse]:
        """The processes."""
        return [] if self._use is None else list(self._use.processes)

    def _key(self, item: ProcessUse) -> int:
        return item.pid

    def _empty(self, width: int) -> list[Row]:
        return [*hint("asking the session", width), *super()._foot(None, width, 0)]

    def _head(self, width: int) -> list[Row]:
        return head_rows(self._use, width) if self._use is not None else []

    def _row(self, item: ProcessUse, width: int, *, selected: bool) -> Row:
        return process_row(self._use, item, width, selected=selected) if self._use is not None else ()

    def _foot(self, item: ProcessUse | None, width: int, room: int) -> list[Row]:
        error = super()._foot(item, width, room)
        height = max(room, self.size.height // 2) - len(error)
        return [*self._below_processes(item, width, height), *error]

    def _below_processes(self, item: ProcessUse | None, width: int, height: int) -> list[Row]:
        if self._use is None:
            return []
        if self._found is not None:
            return self._lines_found(self._found, width, height)
        if self._asks:
            return [(), (styled(f"following allocations for {SECONDS:.0f} s; everything is slower meanwhile", TEXT),)]
        if self._gpu:
            return [(), *gpu_rows(self._use.gpu, width, height - 1)]
        parts = [(styled("what it is", FAINT),), *part_rows(self._use, width)]
        note = gpu_rows(None, width, 1) if self._use.gpu is None else [(styled("g: the GPU over time", FAINT),)]
        left = height - len(parts) - len(note) - 2
        curve = curve_rows(item, width, min(MOST_CURVE, left)) if item is not None and left >= LEAST_CURVE else []
        return [*([()] if left >= 0 else []), *curve, *([()] if curve else []), *parts, *note]

    def _lines_found(self, found: Allocations, width: int, height: int) -> list[Row]:
        wide = 16 if width >= HALF else 10
        head = f"lines that have kept memory in {found.seconds:.0f} s: growth, bytes, objects, process, line"
        rows: list[Row] = [(styled(head, FAINT),), *(line_row(one, width, wide=wide) for one in found.large)]
        if not found.lines:
            rows.append((styled("none: what libraries allocate without Python, such as PyTorch, is not seen", TEXT),))
        end: list[Row] = [(styled(f"{name}: {text}", RED),) for name, text in found.silent.items()]
        end += [(styled(line, FAINT),) for line in wrapped(found.price, width)]
        return [(), *rows[: max(2, height - 1 - len(end))], *end]

    def _note(self, at: int, count: int) -> str | Row:
        lines = "l parts" if self._found is not None else "l lines that allocate"
        gpu = "g parts" if self._gpu else "g GPU"
        return f"{super()._note(at, count)}  {lines}  {gpu}"
