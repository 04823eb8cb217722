"""Numbers that the infos of a watched training have only from some step on."""

from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from pac.envs.spaces.infos import LONGEST, MOST, MOST_ALIKE
from pac.training import watch
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.watching.infos import MAX_SEARCHES, InfoReader

from .scripted import session_of

LENGTH = 4
ACTIONS = np.array([0, 1])


class Walk(gymnasium.Env):
    """Reports where it is and parts of its reward from the first step on, and at the end whether it succeeded."""

    observation_space = gymnasium.spaces.Box(0, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_):
        self.at = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.at += 1
        over = self.at == LENGTH
        parts = {"alive": 1.0, "action": float(action)}
        info: dict[str, Any] = {"at": self.at, "parts": parts, "text": "x", "pair": np.zeros(2)}
        if over:
            info["succeeded"] = bool(action)
        return np.full(2, self.at, np.float32), 1.0, over, False, info


class Told(Walk):
    """Reports only where it is, from the reset on."""

    def reset(self, **_):
        return super().reset()[0], {"at": 0}

    def step(self, action):
        return *super().step(action)[:4], {"at": self.at}


@pytest.fixture(params=[AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
def envs(request):
    """Two walks with statistics of their episodes, watched."""
    walks = SyncVectorEnv([Walk] * 2, autoreset_mode=request.param)
    watched = watch(RecordEpisodeStatistics(walks))
    watched.reset(seed=1)
    yield watched
    watched.close()


def stepped(envs, steps) -> Any:
    """Return the script after so many steps, all counted and published."""
    for _ in range(steps):
        envs.step(ACTIONS)
    script = session_of(envs)
    script._flush()
    script.counter.mark()
    script.services.publish()
    return script


def names(script):
    return [item.name for item in script.services.task.info]


def test_numbers_of_the_first_step_are_shown_after_it(envs):
    """Those of a dict by their names in it; text and arrays are left out."""
    envs.step(ACTIONS)
    session_of(envs).view.has_viewers, session_of(envs).view.look = True, ViewRequest(focus=1, detail=True)
    envs.reset(seed=1)
    session_of(envs).process_soon()
    script = stepped(envs, 2)
    assert names(script) == ["at", "parts.alive", "parts.action"]
    seen = take_snapshot(TelemetryReader(script.directory), ViewRequest(focus=1, detail=True))
    assert seen.description.info == ("at", "parts.alive", "parts.action")
    assert seen.info.tolist() == [[2, 1, 0], [2, 1, 1]]
    assert seen.moment is not None
    assert seen.moment.info is not None
    assert seen.moment.info.tolist() == [2, 1, 1]


def test_numbers_of_an_end_are_those_of_the_ended_episode(envs):
    """They are means of episodes from then on, also if the step that ends an episode resets the environment."""
    script = stepped(envs, LENGTH)
    statistics = ("episode.r", "episode.l", "episode.t")
    assert set(names(script)) == {"at", "parts.alive", "parts.action", "succeeded", *statistics}
    figures = script.counter.counts.metrics()
    expected = {"at": LENGTH, "parts.action": 0.5, "succeeded": 0.5, "episode.r": LENGTH, "episode.l": LENGTH}
    assert {name: figures[f"info/{name}"] for name in expected} == expected


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_numbers_of_the_first_reset_are_known_at_once(mode):
    """They are seen at every step, at an end those of the ended episode."""
    with closing(watch(SyncVectorEnv([Told] * 2, autoreset_mode=mode))) as envs:
        envs.reset(seed=1)
        envs.step(ACTIONS)
        session_of(envs).view.has_viewers = session_of(envs).step_log.watched = True
        for _ in range(20):
            buffer = stepped(envs, 1).mirror.buffer
        assert names(session_of(envs)) == ["at"]
        assert np.array_equal(buffer["at"][2:22], buffer["episode_length"][2:22])


def test_what_was_counted_and_kept_stays_when_numbers_are_found(envs):
    """A viewer is sent to another segment, with the same steps, the same history and the same last episodes."""
    script = stepped(envs, LENGTH - 1)
    reader = TelemetryReader(script.directory)
    script.breakpoints = script.debugger.breakpoints.add("at > 99")
    history, before = script.debugger.history, take_snapshot(reader, ViewRequest())
    stepped(envs, 1)
    seen = take_snapshot(reader, ViewRequest())
    assert seen.generation > before.generation
    assert script.debugger.history is history
    assert history.now == LENGTH
    assert seen.state["steps"] == 2 * LENGTH
    assert seen.environments["last_length"].tolist() == [LENGTH, LENGTH]
    assert bytes(seen.breakpoints["text"][0]) == b"at > 99"


def test_a_condition_knows_numbers_that_were_found(envs):
    """It hits at the step at which it becomes true."""
    script, hits = stepped(envs, LENGTH), []
    script.debugger.on_breakpoint = lambda _text, env: hits.append(env)
    script.debugger.breakpoints.add("parts_action == 1 and at == 2")
    script.process_soon()
    while not hits:
        envs.step(ACTIONS)
    assert hits == [1]
    assert script.mirror.buffer["at"][script.mirror.buffer.order.newest].tolist() == [2, 2]


def test_numbers_without_room_are_reported_once():
    """Names that are too long, and more numbers than are shown."""
    envs = watch(SyncVectorEnv([Walk] * 2))
    envs.reset(seed=1)
    envs.step(ACTIONS)
    script: Any = session_of(envs)
    for count in (1, 2):
        script.find_numbers(
            [{"n" * (LONGEST + count): 1.0, **{f"x{index:c}": 1 for index in range(0x100, 0x100 + 40 * count)}}]
        )
    assert len(script.services.task.info) == MOST
    events = take_snapshot(TelemetryReader(script.directory), ViewRequest()).events
    (text,) = [event.text for event in events]
    assert text.startswith(f"these numbers in info are not shown: {'n' * 30}..., x")
    envs.close()


def test_a_long_name_is_reported():
    """Names that have room are read beside it."""
    found, left_out = InfoReader(1).find([{"n" * (LONGEST + 1): 1.0, "n" * LONGEST: 2.0}])
    assert found == ("n" * LONGEST,)
    assert f"at most {LONGEST} bytes" in left_out


def test_a_list_of_infos_is_read_by_environment():
    """Stable-Baselines3 has a dict for each environment, in which a number may be missing."""
    reader = InfoReader(2)
    infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False}, {"TimeLimit.truncated": False}]
    assert reader.skips(infos)
    infos[1] |= {"x": 2, "episode": {"r": 5.0}, "terminal_observation": {"a": 1.0}}
    assert not reader.skips(infos)
    assert reader.has_new_keys(infos)
    reader.names, _ = reader.find(infos)
    assert reader.names == ("x", "episode.r")
    assert np.array_equal(reader.read(infos), [[np.nan, 2], [np.nan, 5]], equal_nan=True)
    assert not reader.has_new_keys(infos)


def test_a_key_in_a_known_dict_is_found():
    """A part of the reward that is seldom given."""
    reader = InfoReader(1)
    reader.names, _ = reader.find([{"parts": {"alive": 1.0}}])
    assert reader.has_new_keys([{"parts": {"alive": 1.0, "fall": -1.0}}])
    assert reader.find([{"parts": {"alive": 1.0, "fall": -1.0}}])[0] == ("parts.fall",)


def test_a_batch_without_a_mask_is_of_all_environments():
    """A script's own class of environments may have keys that begin like masks and are none."""
    reader, infos = InfoReader(2), {"x": np.array([1.0, 2.0]), "_x": "meters", "y": np.array([3, 4])}
    reader.names, _ = reader.find(infos)
    assert reader.names == ("x", "y")
    assert reader.read(infos).tolist() == [[1, 2], [3, 4]]


def test_keys_that_change_all_the_time_are_not_looked_at_for_ever():
    """A search costs more than a step may."""
    reader = InfoReader(1)
    searches = 0
    for step in range(2 * MAX_SEARCHES):
        infos = [{f"text {step}": "x"}]
        if reader.has_new_keys(infos):
            reader.find(infos)
            searches += 1
    assert searches == MAX_SEARCHES


def test_parts_of_rewards_come_first_and_counters_do_not_take_all_the_room():
    """Names that differ only in digits are few; more would not fit on a screen."""
    reader = InfoReader(1)
    infos = [{**{f"step {index}": 1.0 for index in range(400)}, **{f"{index:c}": 1.0 for index in range(97, 123)}}]
    infos[0]["reward_x"] = 2.0
    reader.names, left_out = reader.find(infos)
    assert reader.names[0] == "reward_x"
    assert [name for name in reader.names if name.startswith("step")] == [
        f"step {index}" for index in range(MOST_ALIKE)
    ]
    assert "step 8" in left_out


def test_infos_of_any_form_do_no_harm():
    """What is no number is left out, and a number that is too large is unknown."""
    info: dict[Any, Any] = {"": 1, 7: 2.0, ("a", 1): 3, "text": "x", "none": None, "huge": np.zeros(10_000), "ok": True}
    info |= {"big": 2**2000, "one": np.array([4.5]), "deep": {"er": {"est": 1}}, "\x1b[31m": 5.0, "z": 1j, "reward": 9}
    info["itself"] = {"again": info}
    reader = InfoReader(1)
    reader.names = reader.find([info])[0]
    found = dict(zip(reader.names, reader.read([info])[:, 0].tolist(), strict=True))
    assert {name: found[name] for name in ("ok", "one", "deep.er.est", "\x1b[31m")} == {
        "ok": 1.0,
        "one": 4.5,
        "deep.er.est": 1.0,
        "\x1b[31m": 5.0,
    }
    assert np.isnan(found["big"])
    assert not {"text", "none", "huge", "z", "reward", ""} & set(found)


def test_batches_may_be_tensors_lists_or_one_number_for_all():
    """As vector environments of scripts return them; a mask says which environments have one."""
    reader = InfoReader(2)
    infos: dict[str, Any] = {"list": [1, 2], "all": 0.5, "masked": np.array([3.0, 0.0])}
    infos |= {"_masked": np.array([True, False]), "tensor": pytest.importorskip("torch").tensor([4.0, 5.0])}
    reader.names = reader.find(infos)[0]
    found = dict(zip(reader.names, reader.read(infos).tolist(), strict=True))
    assert found["list"] == [1, 2]
    assert found["all"] == [0.5, 0.5]
    assert found["tensor"] == [4, 5]
    assert found["masked"][0] == 3
    assert np.isnan(found["masked"][1])
