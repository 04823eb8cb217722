"""The processes of a training that torchrun has started, which communicate over `torch.distributed`."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass
from datetime import timedelta
from functools import partial
from threading import Thread
from typing import Any, TypeVar, cast

import psutil
import torch
import torch.distributed as dist
from torch import Tensor

from .ranks import RankLost, Ranks

Value = TypeVar("Value")
FOREVER = timedelta(days=365)
"""Time limit of a collective: while one rank is paused, the others wait for it. A rank that dies closes its sockets."""
GONE = 5.0
"""How long to look for the process that a failed collective was waiting for, in s."""
NAME_BYTES = 256
FAILED, MOST_REASON = "pac/failed/", 500
"""Keys of the store under which ranks say why they fail, and how many characters."""
POLL, PERIOD = 50e-6, 0.05
"""Seconds between two looks whether a collective is complete; seconds between two calls meanwhile."""


class TorchRanks(Ranks):
    """This process as one rank of those that torchrun has started, after all of them have joined.

    Sums are computed in the order of the ring that gloo uses, which is the same on all ranks.
    """

    def __init__(self) -> None:
        dist.init_process_group("gloo", timeout=FOREVER)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        me = json.dumps([socket.gethostname()[: NAME_BYTES // 2], os.getpid()]).encode()
        self._store = dist.distributed_c10d._get_default_store()  # noqa: SLF001 - there is no public name
        self._members = [tuple(json.loads(line)) for line in self._gathered(me)]

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all ranks, in place; one message per type.

        Raises:
            RankLost: Another rank has ended.
        """
        for kind in dict.fromkeys(tensor.dtype for tensor in tensors):
            same = [tensor for tensor in tensors if tensor.dtype == kind]
            flat = torch.cat([tensor.detach().reshape(-1).cpu() for tensor in same])
            self._together(partial(dist.all_reduce, flat))
            parts = torch.split(flat, [tensor.numel() for tensor in same])
            for tensor, part in zip(same, parts, strict=True):
                tensor.detach().copy_(part.view(tensor.shape))

    def totals(self, numbers: Sequence[int]) -> list[int]:
        tensor = torch.tensor(numbers, dtype=torch.int64)
        self._together(lambda: dist.all_reduce(tensor))
        return [int(number) for number in tensor]

    def maximum(self, number: int, waiting: Callable[[], None] = lambda: None) -> int:
        tensor = torch.tensor(number, dtype=torch.int64)
        self._together(lambda: _wait(dist.all_reduce(tensor, dist.ReduceOp.MAX, async_op=True), waiting))
        return int(tensor)

    def from_writer(self, value: Value) -> Value:
        """Return the value that the rank which writes the run has passed: JSON data, or a dataclass of it."""
        data = asdict(cast("Any", value)) if is_dataclass(value) else value
        sent = json.dumps(data).encode() if self.is_writer else b""
        size = self.maximum(len(sent))
        tensor = torch.zeros(size, dtype=torch.uint8)
        if self.is_writer:
            tensor = torch.frombuffer(bytearray(sent), dtype=torch.uint8)
        self._together(lambda: dist.broadcast(tensor, 0))
        got = json.loads(bytes(tensor.tolist()))
        if not is_dataclass(value):
            return cast("Value", got)
        lists = {field.name for field in fields(value) if isinstance(getattr(value, field.name), tuple)}
        made: Any = type(value)
        return cast("Value", made(**{name: tuple(item) if name in lists else item for name, item in got.items()}))

    def leave(self, reason: str = "") -> None:
        """Close the connections to the other ranks, which then raise `RankLost` with the reason, if there is one."""
        if not dist.is_initialized():
            return
        if reason:
            with suppress(RuntimeError):  # the store is gone, too
                self._store.set(f"{FAILED}{self.rank}", reason[:MOST_REASON])
        dist.destroy_process_group()

    def _gathered(self, line: bytes) -> list[bytes]:
        """Return the line of every rank, of at most `NAME_BYTES` bytes."""
        own = torch.zeros(NAME_BYTES, dtype=torch.uint8)
        own[: len(line)] = torch.frombuffer(bytearray(line), dtype=torch.uint8)
        found = [torch.zeros_like(own) for _ in range(self.size)]
        dist.all_gather(found, own)
        return [bytes(each.tolist()).rstrip(b"\0") for each in found]

    def _together(self, collective: Callable[[], object]) -> None:
        begun = time.perf_counter()
        try:
            collective()
        except RuntimeError as error:
            raise RankLost(self._lost(str(error))) from error
        finally:
            self.waited += time.perf_counter() - begun

    def _reason(self) -> str:
        """Return which rank has failed and why, if one has said so."""
        found: list[str] = []

        def read() -> None:
            with suppress(RuntimeError):  # the store's machine is gone
                for rank in range(self.size):
                    if rank != self.rank and self._store.check([key := f"{FAILED}{rank}"]):
                        text = self._store.get(key).decode(errors="replace")
                        found.append(f"rank {rank} of {self.size} has failed: {text}")
                        return

        reader = Thread(target=read, daemon=True)
        reader.start()
        reader.join(GONE)
        return found[0] if found else ""

    def _lost(self, reason: str) -> str:
        """Return which ranks have failed or ended, as far as this machine can know."""
        if said := self._reason():
            return said
        host = socket.gethostname()[: NAME_BYTES // 2]
        here = {rank: pid for rank, (where, pid) in enumerate(self._members) if where == host and rank != self.rank}
        alive = [psutil.Process(pid) for pid in here.values() if psutil.pid_exists(pid)]
        psutil.wait_procs(alive, timeout=0 if len(alive) < len(here) else GONE)
        gone = [rank for rank, pid in here.items() if not _runs(pid)]
        if gone:
            names = " and ".join(f"rank {rank} (process {here[rank]})" for rank in gone)
            return f"{names} of {self.size} has ended; the others cannot go on without it"
        others = sorted({where for where, _ in self._members if where != host})
        where = f", perhaps on {', '.join(others)}" if others else ""
        return f"the connection to another rank has failed{where}: {reason}"


def _wait(work: Any, waiting: Callable[[], None]) -> None:
    """Wait for a collective, with a call of `waiting` every `PERIOD` seconds."""
    due = time.monotonic() + PERIOD
    while not work.is_completed():
        time.sleep(POLL)
        if time.monotonic() >= due:
            waiting()
            due = time.monotonic() + PERIOD
    work.wait()


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
