"""The dialog of the memory: processes, parts, the GPU, and lines that allocate."""

from typing import Any

import pytest

from pac.training.diagnosis.memory import MIB
from pac.training.memory import memory_use
from pac.training.profile import Malformed
from pac.tui.dialogs.memory import Memory

from ..fake_session import screen_text, seen, until

CURVE = [[second - 100.0, (50 + second / 60) * MIB] for second in range(100)]
GPU = {
    "name": "NVIDIA H200",
    "throttled": ["power limit"],
    "total": 141 * 1024 * MIB,
    "clock_limit": 1980.0,
    "power_limit": 700.0,
    "curve": [[second - 100.0, 97.0, 2048.0 * MIB, 1200.0, None, 4.0] for second in range(100)],
}


def process(name, number, **values):
    """A process as a session answers."""
    common = {"own": 50 * MIB, "shared": 20 * MIB, "rate": 0.0, "steady": False, "curve": CURVE}
    envs = f"environments {4 * number - 3}-{4 * number}" if number else ""
    return {"process": name, "pid": 100 + number, "envs": envs, **common, **values}


def memory(**more):
    """The answer of a session with two workers, one of which leaks."""
    parts = [
        {"name": "replay", "detail": "1,000 slots x 8 rows x 1.0 KiB", "size": 8000 * 1024, "where": "shared"},
        {"name": "rest of this process", "detail": "interpreter", "size": 50 * MIB, "where": "session"},
    ]
    leaks = process("worker 2", 2, rate=1.0 * MIB, steady=True)
    return {
        "total": 16 << 30,
        "available": 180 * MIB,
        "processes": [process("session", 0, rate=None), process("worker 1", 1), leaks],
        "parts": parts,
        "gpu": None,
        **more,
    }


async def test_the_largest_growth_is_named_and_each_part_explained(fake, open_app):
    """In a small terminal, too; `g` shows the GPU over time, or that NVML has none."""
    fake.answers["memory"] = memory()
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("M")
        await until(lambda: isinstance(app.screen, Memory))
        await seen(app, "worker 2 grows most: +1.00 MiB/min, alone full in 3 h", "measuring", "no GPU: NVML")
        await seen(app, "replay", "7.8 MiB  shared, 1,000 slots x 8 rows x 1.0", "session (process 100)")
        fake.answers["memory"] = memory(gpu=GPU)
        await pilot.press("g")
        await seen(app, "NVIDIA H200  clock lowered: power limit", "97 %", "2.0 GiB of 141.0 GiB")
        await seen(app, "1,200 MHz of 1,980 MHz", "power       not known to NVML here")
        await pilot.press("escape")
        await until(lambda: len(fake.viewers) == 1)


async def test_lines_that_keep_memory_are_listed_on_demand(fake, open_app):
    """With what following them has cost, and processes that did not answer."""
    worker = {
        "process": "worker 2",
        "pid": 102,
        "seconds": 8.0,
        "cost": MIB,
        "lines": [["/home/me/envs.py", 31, 140_000, 280], ["/other.py", 1, 100, 1]],
    }
    silent = {"process": "worker 1", "pid": 101, "text": "no answer within 2 s"}
    fake.answers["memory"] = memory()
    fake.answers["allocations"] = {"processes": [worker, silent], "before": 2000.0, "during": 1500.0}
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("M")
        await seen(app, "what it is")
        await pilot.press("l")
        await seen(app, "+1.00 MiB/min  136.7 KiB      280  worker 2   /home/me/envs.py:31")
        await seen(app, "worker 1: no answer within 2 s", "1,500 steps/s while allocations were followed, 2,000 before")
        assert "/other.py" not in screen_text(app)
        await pilot.press("l")
        await seen(app, "what it is")


async def test_what_is_no_memory_is_refused(fake, open_app):
    """As an error is."""
    answers: tuple[dict[str, Any], ...] = ({}, memory(processes=[{"process": 3}]), memory(gpu={"name": 1}))
    for answer in answers:
        with pytest.raises(Malformed):
            memory_use({"": answer})
    fake.answers["memory"] = {}
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("M")
        await seen(app, "the session's answer cannot be read")
