"""Commands with any content: only those that fit their schema reach the session, and its sampler continues."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.backends.system.segment import new_directory, remove_directory
from pac.training.config import Config
from pac.training.session import system_sampler
from pac.training.session.commands import Commands
from pac.training.session.control import ControlServer
from pac.training.session.session import Session
from pac.training.session.training_setup import set_up
from pac.training.session.viewers import Viewer
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Level

from ...waiting import until

COMMANDS = sorted(name[3:] for name in dir(Commands) if name[:3] in {"as_", "do_"})
ARGUMENTS = (
    *("name", "first", "count", "focus", "seat", "curves", "detail", "back", "env", "text", "number", "sps"),
    *("num_envs", "action", "counts", "self", "viewer", "look"),
)
NUMBERS = st.integers(-3, 9) | st.integers() | st.sampled_from((10**400, 2**31, 2**63, -(2**63))) | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(), max_size=6) | st.just("x" * 3000),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=50,
)
REQUESTS = st.fixed_dictionaries({"command": st.sampled_from(COMMANDS) | VALUES}).flatmap(
    lambda fixed: st.dictionaries(st.sampled_from(ARGUMENTS) | st.text(max_size=3), VALUES, max_size=4).map(
        lambda more: {**more, **fixed}
    )
)


class Commanded:
    """A session that has not started, its sampler, and the answers of its control server."""

    def __init__(self, runs):
        self.session = Session(
            Config(task="noop", trainer="random", backend="inline", num_envs=4, runs_dir=runs), new_directory()
        )
        self.viewer = Viewer()
        made, viewers = self.session, self.session.services.viewers
        commands = Commands(
            made.setup, made.services, made.envs, made.record, made.checkpoints, live=made.live, kernels=made.kernels
        )
        self.server = ControlServer(made.directory, commands.handle, viewers)
        viewers.add(self.viewer)
        self.session.sampler.start()
        self._reader = TelemetryReader(self.session.directory)

    def answer(self, line: bytes) -> dict[str, Any]:
        """Return the answer to a line, as the viewer gets it."""
        answer: dict[str, Any] = json.loads(json.dumps(self.server._answer(self.viewer, line)))
        return answer

    def passes(self, count):
        """Wait until the sampler has written so many times."""
        for _ in range(count):
            before = self._reader.read("system")["pulse"]
            until(partial(self._wrote_after, before), "a pass of the sampler")

    def _wrote_after(self, before):
        return self._reader.read("system")["pulse"] > before

    def samples(self):
        """Wait until the sampler has written after now, without an error."""
        self.passes(1)
        assert not [event for event in self.session.events.recent if event[2] >= Level.ERROR]

    def close(self):
        self.session.sampler.stop()
        self.server.close()
        self.session.record.remove()
        remove_directory(self.session.directory)


@pytest.fixture
def commanded(runtime_directory, tmp_path, monkeypatch):
    """A session that is not training, whose sampler writes often."""
    for name in ("PERIOD", "SYSTEM_PERIOD"):
        monkeypatch.setattr(system_sampler, name, 0.005)
    made = Commanded(tmp_path)
    yield made
    made.close()


@pytest.mark.thorough
def test_commands_with_any_content_do_not_stop_the_sampler(commanded):
    """Each is executed, or refused with a sentence."""

    @given(REQUESTS)
    def send(request):
        answer = commanded.answer(json.dumps(request).encode())
        assert answer["ok"] or (answer["error"] and answer["title"] != "Command failed"), (request, answer)

    send()
    commanded.samples()


BAD = [
    ("join", "name", ["5", '"\\ud800"']),
    ("speed", "sps", ["NaN", "1e999", "-1", "true"]),
    ("episode", "env", ["0.5", "true", "9"]),
    ("restart", "num_envs", ["0", "1.5", "1" + "0" * 400, "1" + "0" * 9000]),
    ("step", "count", ["0", "99999999999999999999", '"3"']),
    ("sweep", "counts", ["[1.5]", "3"]),
    ("break", "text", ["5"]),
    *(("look", *look) for look in (("first", ["-1"]), ("count", ['"all"']), ("focus", ["0.5"]), ("everything", ["1"]))),
    ("look", "curves", ['["a", 5]']),
]
LINES = [
    *(f'{{"command": "{command}", "{argument}": {value}}}' for command, argument, values in BAD for value in values),
    '{"command": "join"}',
    '{"command": "join", "viewer": 1, "name": "x"}',
    '{"command": "act", "env": 0, "action": null}',
    '{"command": ["join"]}',
    '{"command": "dance"}',
    '{"command": "' + "x" * 60_000 + '"}',
    "[" * 60_000,
    "\xff{}",
]


@pytest.mark.thorough
@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_command_that_does_not_fit_is_refused_in_a_short_sentence(commanded, line):
    """For wrong types, values that are not finite, and numbers and texts of any length."""
    answer = commanded.answer(line.encode("latin-1"))
    if line == '{"command": "episode", "env": 0.5}':
        assert answer["error"] == "episode env: input should be a valid integer, got 0.5"
    assert not answer["ok"]
    assert answer["title"] != "Command failed"
    assert 10 < len(answer["error"]) < 600


def test_a_part_of_the_sampler_that_fails_is_reported_once(commanded, monkeypatch):
    """The other parts, and later passes, continue."""
    monkeypatch.setattr(commanded.session.sampler, "_write_viewers", _fail)

    def errors():
        return [text for _, _, level, _, text in commanded.session.events.recent if level >= Level.ERROR]

    until(errors, "a report")
    commanded.passes(2)
    assert errors() == ["the sampler thread failed in _fail: ValueError: broken"]


def _fail():
    raise ValueError("broken")


@pytest.mark.thorough
def test_a_setting_is_checked_before_it_is_changed(commanded):
    """The answer says what is expected, and which settings can be changed; the values wait for the training thread."""

    def answer(name, text):
        found = commanded.answer(json.dumps({"command": "set", "name": name, "text": text}).encode())
        return {name: found[name] for name in ("before", "after")} if found["ok"] else found["error"]

    assert answer("learning_rate", "1") == "random has no settings that can be changed while it trains"
    made = commanded.session
    setup = set_up(Config(task="noop", trainer="ppo"))
    made.live._kind, made.record._kind, made.record.settings = setup.kind, setup.kind, setup.settings
    assert answer("ppo.learning_rate", "1e-4") == {"before": "0.0003", "after": "0.0001"}
    assert answer("learning-rate", "1e-4") == "ppo.learning_rate is 0.0001 already"
    assert answer("clip", "0:0.3,1e6:0.1") == {"before": "0.2", "after": "0:0.3,1000000:0.1"}
    assert answer("target_kl", "0.5") == {"before": "none", "after": "0.5"}
    assert answer("target_kl", "none") == {"before": "0.5", "after": "none"}
    assert answer("gamma", "1.5") == "ppo.gamma expects a number above 0 and of at most 1, got '1.5'"
    assert answer("hidden", "8").startswith("hidden cannot be changed while it trains; these can: clip, entropy_")
    assert "Did you mean learning_rate" in answer("learning_rat", "1")
    assert made.live.take() == {"learning_rate": 0.0001, "clip": [[0, 0.3], [1000000, 0.1]], "target_kl": None}
    assert made.live.take() == {}
