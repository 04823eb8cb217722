"""Untrusted text in the app reaches the screen printable and without markup, whatever its source."""

from __future__ import annotations

import json
import time

import pytest
from textual.widgets import Static

from pac.envs import Field, Glyph, Outcome, Panel
from pac.training.session.viewers import Viewer
from pac.training.telemetry.blocks import TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Level, Phase
from pac.tui.dialogs.prompt import Prompt
from pac.tui.terminal.svg import lines_of

from ..toys import toy
from .attack_text import ATTACK, hostile, smuggled
from .fake_session import FakeSession, play, screen_text, seen

KEYS = [*"01i0tlwo", "R", "escape", "b", "escape", "1", "q", "escape"]
"""Keys to all views, the inspector, and the dialogs of runs, breakpoints and leaving."""

TASK = toy(
    spec=hostile("spec"),
    name=hostile("name"),
    title=hostile("title"),
    action_names=tuple(map(hostile, ("wait", "left", "right"))),
    outcomes=(Outcome(hostile("won"), "good"), Outcome(hostile("lost"), "bad")),
    reward_terms=(hostile("term"),),
    info=(Field(hostile("key"), "float32", ()),),
    headline=(hostile("key"),),
    slices={hostile("slice"): (0, 2)},
    panels=(
        Panel("cells", hostile("board"), "board", glyphs=(Glyph("\x1b\x9b", "\x1b", "#333333", "#000000"),), main=True),
        Panel("text", hostile("screen"), "screen"),
        Panel("bars", hostile("bars"), "forces", labels=(hostile("push"), hostile("pull"))),
        Panel("table", hostile("table"), "numbers", labels=(hostile("height"), hostile("speed"))),
    ),
    boards=(
        Field("board", "uint8", (4, 6), timed=False),
        Field("screen", "uint32", (3, 10), timed=False),
        Field("forces", "float32", (2,), timed=False),
        Field("numbers", "float32", (2,), timed=False),
    ),
)


FACTS = {name: hostile(name) for name in ("run", "trainer", "backend", "device", "version")}


class HostileSession(FakeSession):
    """A session in which every text attacks the terminal."""

    def _segment(self, num_envs):
        self.generation += 1
        description = describe(self.task, seed=7, pid=1, **FACTS)
        return TelemetryWriter(description, num_envs, self.generation, self.directory)

    def attack(self):
        """Write all texts of a session that are not in its description."""
        play(self)
        text = ATTACK.encode()
        self.history(**{hostile("metric"): [1.0, 2.0]})
        self.write("processes", role=b"worker", state=b"\x1b]0;P\x07", error=text)
        self.write("breakpoints", number=1, text=text)
        self.write("system", pulse=time.time(), gpus=1, gpu_name=text[:48])
        self.board("screen", [[0x1B, 0x9B, 0x202E, 0x200B, 0x7F, 0xD800, 0x2028, 7, 8, 13]] * 3)
        self.event(Level.ERROR, hostile("event"))
        self.viewers.join(Viewer(), hostile("viewer"))
        self.write("audience", viewers=2, controller=1, name=text[:48])
        with (self.directory / "session.log").open("a") as log:
            log.write(f"{ATTACK}\nValueError: {ATTACK}\n")
        self.say(backend=text[:24], device=text[:24], message=text)


@pytest.fixture
def hostile_session(runtime_directory, tmp_path, monkeypatch):
    """A session of hostile texts, and a run with hostile metadata."""
    run = tmp_path / "runs" / ATTACK.replace("/", "")
    run.mkdir(parents=True)
    card = {"task": hostile("task"), "trainer": hostile("trainer"), "state": hostile("state"), "started": 1.0}
    (run / "run.json").write_text(json.dumps({**card, "config": {"task": hostile("task")}}))
    monkeypatch.chdir(tmp_path)
    fake = HostileSession(runtime_directory, TASK)
    fake.attack()
    yield fake
    fake.close()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "phase",
    [Phase.PAUSED, *(pytest.param(phase, marks=pytest.mark.thorough) for phase in (Phase.RUNNING, Phase.FAILED))],
)
async def test_no_text_of_a_session_reaches_the_screen_raw(hostile_session, open_app, phase):
    """In all views and dialogs."""
    hostile_session.say(phase=phase)
    async with open_app(hostile_session, (200, 50)) as (app, pilot):
        for key in KEYS:
            await pilot.press(key)
            await seen(app, "PWNED")
            assert smuggled(screen_text(app)) == set(), key


@pytest.mark.thorough
async def test_messages_are_shown_as_they_are(fake, open_app):
    """Events, errors and notes: nothing in them is raw, or interpreted as markup."""
    async with open_app(fake, (200, 50)) as (app, _pilot):
        fake.event(Level.ERROR, hostile("event"))
        app.notify(hostile("note"), title=ATTACK, markup=True)
        await seen(app, "event\\x1b]0;PWNED", "note\\x1b]0;PWNED", "[@click=app.bell]x[/]")
        assert smuggled(screen_text(app)) == set()


async def test_a_question_and_an_error_are_shown_as_they_are(hostile_session, open_app):
    """Neither the question of a dialog nor the reason of a refusal is interpreted as markup."""
    hostile_session.refusal = ATTACK
    async with open_app(hostile_session, (200, 50)) as (app, pilot):
        await pilot.press("space")
        await seen(app, "[@click=app.bell]x[/]")
        app.push_screen(Prompt(hostile("question")))
        await seen(app, "question\\x1b]0;PWNED")
        assert smuggled(screen_text(app)) == set()


@pytest.mark.thorough
async def test_textuals_own_widgets_draw_printable_text_too(fake, open_app):
    """The last filter passes only printable characters, and columns keep their places."""
    async with open_app(fake, (100, 30)) as (app, _pilot):
        await app.mount(Static(f"a{ATTACK}", markup=False))
        await seen(app, "PWNED")
        assert smuggled(screen_text(app)) == set()
        assert all(strip.cell_length == 100 for strip in lines_of(app.screen))
