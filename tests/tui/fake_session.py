"""A session's telemetry and socket without its process: a real segment and a real server, filled by the test."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.events import Key
from textual.keys import key_to_character
from textual.pilot import Pilot

from pac.envs import Field, Glyph, Outcome, Panel, Task, find
from pac.envs.unknown import UNKNOWN
from pac.training.session.control import CommandRefused, ControlServer
from pac.training.session.host import SessionFailed
from pac.training.session.viewers import Viewers
from pac.training.telemetry.blocks import TelemetryWriter
from pac.training.telemetry.description import Description, describe
from pac.training.telemetry.findings import Finding, write_findings
from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import STATE, Level, Phase
from pac.training.telemetry.segment_layout import blocks_of
from pac.tui.terminal.svg import lines_of

from ..toys import toy
from ..waiting import LIMIT

SIZES = [(80, 24), *(pytest.param(size, marks=pytest.mark.thorough) for size in ((200, 60), (40, 12), (20, 5)))]
"""Terminal sizes that every view and dialog must fit."""

FACTS = {"trainer": "ppo", "backend": "shm", "device": "cpu", "seed": 7, "version": "0.1.0", "pid": 1}

CHESS = toy(
    action_names=("wait", "left", "right"),
    outcomes=(Outcome("won", "good"), Outcome("lost", "bad")),
    panels=(
        Panel(
            "cells",
            "Board",
            "board",
            glyphs=(Glyph("..", ".", "#333333", "#000000"), Glyph("██", "#", "#ffffff", "#000000")),
            main=True,
        ),
        Panel("pixels", "Picture", "picture"),
        Panel("text", "Screen", "screen"),
        Panel("bars", "Forces", "forces", labels=("push", "pull")),
        Panel("table", "Numbers", "numbers", labels=("height", "speed")),
    ),
    boards=(
        Field("board", "uint8", (4, 6), timed=False),
        Field("picture", "uint8", (8, 8, 3), timed=False),
        Field("screen", "uint32", (3, 10), timed=False),
        Field("forces", "float32", (2,), timed=False),
        Field("numbers", "float32", (2,), timed=False),
    ),
)


class FakeSession:
    """A session whose state the test sets.

    Attributes:
        commands: The commands that the app has sent, without `look`.
        looks: What the app has requested.
        refusal: The answer to every command; commands are accepted if it is empty.
        answers: The answers to commands that have one, by command.
        others: All sessions of the group that are shown with it; none if it is shown alone.
        facts: More fields of the description in its next segments.
        code: The exit code of the session's process; None while it runs.
    """

    pid = 1

    def __init__(self, parent: Path, task: Task | str = "drmario", num_envs: int = 8) -> None:
        self.directory = Path(tempfile.mkdtemp(dir=parent))
        self.task = find(task) if isinstance(task, str) else task
        self.commands: list[tuple[str, dict[str, object]]] = []
        self.looks: list[dict[str, object]] = []
        self.refusal = ""
        self.answers: dict[str, dict[str, object]] = {}
        self.code: int | None = None
        self.killed = False
        self.facts: dict[str, object] = {}
        self.generation = 0
        self.events = 0
        self.others: list[FakeSession] = []
        self.random = np.random.default_rng(1)
        self.viewers = Viewers()
        self.server = ControlServer(self.directory, self.handle, self.viewers)
        self.writer = self._segment(num_envs)
        self._fill(num_envs)

    def handle(self, viewer, request):
        """Record a command."""
        if request["command"] == "join":
            return {"number": self.viewers.join(viewer, request["name"])}
        arguments = {key: value for key, value in request.items() if key != "command"}
        if request["command"] == "look":
            self.looks.append(arguments)
        else:
            self.commands.append((request["command"], arguments))
            if self.refusal:
                raise CommandRefused(self.refusal)
        return self.answers.get(request["command"])

    def _segment(self, num_envs: int) -> TelemetryWriter:
        self.generation += 1
        return TelemetryWriter(self._description(), num_envs, self.generation, self.directory)

    def _description(self) -> Description:
        return describe(self.task, run="toy-run", **FACTS, **self.facts)

    def _fill(self, num_envs: int) -> None:
        self.num_envs = num_envs
        unknown = {"baseline": UNKNOWN, "progress": UNKNOWN, "limit": UNKNOWN}
        self.say(phase=Phase.RUNNING, num_envs=num_envs, started=time.time(), **unknown)
        self.say(backend=b"shm", device=b"cpu", return_mean=-0.5, length_mean=40.0, fps=2400.0, sps=120.0)
        with self.writer.write("environments") as table:
            table["last_return"] = UNKNOWN
            table["worker"] = np.arange(num_envs) // max(1, num_envs // 2)

    def restart(self, num_envs: int) -> None:
        """Publish into a new segment."""
        before, self.writer = self.writer, self._segment(num_envs)
        self._fill(num_envs)
        before.hand_over(self.generation)

    def say(self, **values: object) -> None:
        """Write the state."""
        with self.writer.write("state") as state:
            STATE.put(state, {**values, "now": time.time()})

    def write(self, block: str, **values: object) -> None:
        """Write fields of a block, and the time into the state so that it is a new snapshot."""
        with self.writer.write(block) as array:
            if values:
                records: dict[str, Any] = {item.name: item.record for item in blocks_of(self._description(), 1)}
                records[block].put(array, values)
        self.say()

    def board(self, name: str, values: object) -> None:
        """Write all boards of a field."""
        with self.writer.write(f"board:{name}") as boards:
            boards[:] = values
        self.say()

    def shuffle(self) -> None:
        """Change every board and increase the counters."""
        for panel in self.task.panels:
            high = max(1, len(panel.glyphs)) if panel.kind == "cells" else 255
            with self.writer.write(f"board:{panel.field}") as boards:
                boards[:] = self.random.integers(0, high, boards.shape)
        self.say(steps=self.writer.array("state")["steps"] + self.num_envs)

    def process(self, row: int, role: str = "worker", **values: object) -> None:
        """Write a row of the table of processes."""
        with self.writer.write("processes") as table:
            table["role"][row], table["index"][row] = role.encode(), row
            for name, value in {"state": b"ready", "rate": UNKNOWN, **values}.items():
                table[name][row] = value
        self.say()

    def event(self, level: Level, text: str) -> None:
        """Log an event."""
        self.events += 1
        with self.writer.write("events") as events:
            events[(self.events - 1) % len(events)] = (self.events, time.time(), level, -1, text.encode())
        self.say()

    def findings(self, *findings: Finding) -> None:
        """Write the findings."""
        with self.writer.write("findings") as block:
            write_findings(block, findings)
        self.say()

    def history(self, **curves: list[float]) -> None:
        """Write metrics and their history, a point every 100 steps, 4,000 frames and a second."""
        with self.writer.write("metric_names") as names:
            names[: len(curves)] = [name.encode() for name in curves]
        with self.writer.write("metrics") as values:
            values[: len(curves)] = [points[-1] for points in curves.values()]
        with self.writer.write("metric_count") as count:
            count[...] = len(curves)
        with self.writer.write("history") as history:
            for column, points in enumerate(curves.values()):
                history[:3, : len(points)] = np.outer((100, 1, 4000), np.arange(1, len(points) + 1))
                history[3 + column, : len(points)] = points
        self.say()

    def scaling(self, **fps: float) -> None:
        """Write what was measured at `n1`, `n2`, ..."""
        with self.writer.write("scaling") as block:
            for index, (name, value) in enumerate(fps.items()):
                block[index] = (int(name[1:]), 3, value, value, value, 6.0)
        self.say(baseline=fps["n1"])

    def poll(self) -> int | None:
        """As a running session."""
        return self.code

    def report(self) -> dict[str, object]:
        """As a running session."""
        if self.code:
            raise SessionFailed("Session failed", "the test said so")
        return {"task": self.task.spec}

    def terminate(self) -> None:
        """As a running session."""
        self.commands.append(("terminate", {}))

    def kill(self) -> None:
        """As a running session."""
        self.killed = True

    def close(self) -> None:
        """Stop listening, remove the segment."""
        self.server.close()
        self.writer.unlink()


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for a condition."""
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit, f"still waiting for {what or condition}"
        await asyncio.sleep(0.002)


def screen_text(app) -> str:
    """Return the text of the screen, or of a dialog and the screens below it."""
    return "\n".join(line.text for screen in app.screen_stack for line in lines_of(screen))


class Keys(Pilot[int]):
    """A pilot that waits until messages are handled, not until the process is idle, which depends on the machine."""

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.app.post_message(Key(key, key_to_character(key)))
            await self.pause()

    async def pause(self, delay: float | None = None, rounds: int = 3) -> None:
        """Wait until messages are handled that others cause, through the app, a screen, its widgets and a dialog."""
        for _ in range(rounds):
            await super().pause(delay or 0)


@asynccontextmanager
async def run(app, size):
    """Run an app in a terminal of some size, and yield what presses keys."""
    async with app.run_test(size=size, notifications=True):
        yield Keys(app)


async def seen(app, *texts):
    """Wait until all texts are on the screen."""

    def missing():
        shown = screen_text(app)
        return [text for text in texts if text not in shown]

    try:
        await until(lambda: not missing())
    except AssertionError:
        pytest.fail(f"missing {missing()} on\n{screen_text(app)}")


def at_step(fake, block, step, *, now=100, env=2, **values):
    """Publish the moment of environment 3 after a step."""
    record = {
        "env": env, "step": step, "now": now, "source": MomentSource.NOW, "full": 1, "acted": 1, "decided": 1,
        "episode": 4, "episode_length": step - 60, "reward": 0.5, "action": 3, "next_action": 12, "value": 0.25,
        "reward_terms": (0.5, 0.0, 0.0), "terms": (1.0, 0.0, -1.0), **values,
    }  # fmt: skip
    fake.write(block, **record)


def paused(fake, **values):
    """Pause the session at step 100, with a hundred stored steps."""
    ends, rewards = np.zeros((2, 100))
    ends[59], rewards[79] = 1, 0.5
    fake.write("line", env=2, now=100, ends=ends, rewards=rewards)
    at_step(fake, "detail", 100, **values)
    fake.say(phase=Phase.PAUSED)


def play(fake):
    """Publish the state of a session that has run for a while."""
    fake.shuffle()
    fake.say(episodes=12, fps=2400.0, steps=123456, training_seconds=3723.0)
    fake.scaling(n1=750.0, n4=1800.0, n8=2400.0)
    fake.write("times", wall=2.0, steps=240, environment=0.5, transport=0.25, inference=0.5, learner=0.5, python=0.15)
    fake.history(
        return_mean=list(np.linspace(-1, 1, 50)),
        **{"loss/policy": list(np.geomspace(0.4, 0.2, 50)), "info/viruses": list(np.linspace(4, 3, 50))},
    )
    with fake.writer.write("outcomes") as outcomes:
        outcomes[:3] = 0, 3, 9
