"""Any Gymnasium environment with Discrete actions and Box observations is a task."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest

from pac.backends.http_backend.messages import kept
from pac.backends.socket_backend.protocol import FrameSizes
from pac.envs import BadParameter, EnvironmentFailed, UnknownName, check, episode_seed, find
from pac.envs.errors import NoSuchEnvironment
from pac.envs.gym.adapted import SEED_BITS
from pac.envs.gym.probing import describe_here
from pac.envs.spaces.actions import UnsupportedSpaces
from pac.envs.spaces.drawing import BUDGET, shrink
from pac.envs.task import LIMITED, LIMITED_LARGE
from pac.envs.text import cells_of
from pac.envs.unknown import unknown_in

from .begun import begun


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spec",
    [
        "CartPole-v1",
        "CartPole-v1 + ClipReward:min_reward=0,max_reward=0.5",
        "faulty:Counter:length=4",
        "faulty:Masked",
        "faulty:MaskMethod",
        "faulty:Painted",
        "kinds:Telling",
    ],
)
def test_adapted_environments_conform(spec):
    """Adapted environments keep what every task promises."""
    check(find(spec), steps=60)


def test_a_step_is_the_environments_own_step():
    """Observations, rewards and ends are those of the environment itself, seeded per episode."""
    _, buffers, environments = begun("CartPole-v1")
    env = gymnasium.make("CartPole-v1")
    episode = 0
    observation, _ = env.reset(seed=episode_seed(3, 1, episode) & SEED_BITS)
    assert np.array_equal(buffers["observation"][0, 1], observation)
    for count in range(60):
        buffers["action"][0] = action = count % 3 == 0
        environments.step(0)
        observation, reward, terminated, truncated, _ = env.step(int(action))
        assert (buffers["reward"][0, 1], buffers["terminated"][0, 1]) == (reward, terminated)
        if terminated or truncated:
            assert np.array_equal(buffers["final_observation"][0, 1], observation)
            episode += 1
            observation, _ = env.reset(seed=episode_seed(3, 1, episode) & SEED_BITS)
        assert np.array_equal(buffers["observation"][0, 1], observation)
    assert episode > 0
    assert buffers["episode"][0, 1] == episode


def test_arguments_reach_the_environment():
    """What follows the name's last colon are keyword arguments, as the Python values they spell."""
    task = find("faulty:Counter:length=2,truncates=True")
    assert task.values == {"length": 2, "truncates": True}
    _, buffers, environments = begun("faulty:Counter:length=2,truncates=True")
    for _ in range(2):
        environments.step(0)
    assert buffers["truncated"].all()
    assert (buffers["outcome"] == 2).all()


@pytest.mark.parametrize("spec", ["faulty:Counter:length=2,truncates={}", "kinds:Tag,truncates={}"])
def test_a_step_that_ends_an_episode_in_both_ways_terminates_it(spec):
    """Everything that is written is the same as without the truncation, and not as without the termination."""
    both, terminated, truncated = (begun(spec.format(how))[1:] for how in ("'both'", False, True))
    ends = 0
    for step in range(12):
        for buffers, environments in (both, terminated, truncated):
            buffers["action"][:] = step % 2
            environments.step(0)
        for name, array in both[0].items():
            assert np.array_equal(array, terminated[0][name], equal_nan=True), name
        assert not (both[0]["terminated"] & both[0]["truncated"]).any()
        ends += not np.array_equal(both[0]["outcome"], truncated[0]["outcome"])
    assert ends == (6 if "Counter" in spec else 2)


def test_masks_from_info_and_from_a_method():
    """A mask in `info` or from `action_masks()` makes the task masked; otherwise it is not."""
    for spec, masks in (
        ("faulty:Masked", [[1, 0, 1, 0], [0, 1, 0, 1]]),
        ("faulty:MaskMethod", [[0, 1, 1, 1], [0, 0, 1, 1]]),
    ):
        task, buffers, environments = begun(spec)
        assert task.masked
        for expected in masks:
            mask = np.unpackbits(buffers["action_mask"][0, 0], count=4, bitorder="little")
            assert mask.tolist() == expected
            buffers["action"][0] = mask.argmax()
            environments.step(0)
    assert not find("CartPole-v1").masked


def test_the_numbers_of_infos_are_the_tasks_scalars():
    """Those of the first info, but for what a buffer calls so already; at an end those of the ended episode."""
    task, buffers, environments = begun("kinds:Telling")
    assert [item.name for item in task.info] == ["lives", "far", "speed"]
    reported = [[float(buffers[item.name][0, 1]) for item in task.info]]
    for _ in range(6):
        environments.step(0)
        reported.append([float(buffers[item.name][0, 1]) for item in task.info])
    expected = [[3 - count, count > 1, math.nan if count % 2 else count / 2] for count in (0, 1, 2, 3, 4, 5, 1)]
    assert np.array_equal(reported, expected, equal_nan=True)
    environments.reset(np.ones(2, np.bool_), 0)
    assert buffers["lives"].tolist() == [[3, 3]]


def test_numbers_that_only_a_step_returns_are_scalars_too():
    """They are unknown until then, and the first episode begins as without looking for them."""
    task, buffers, environments = begun("kinds:TellingLater")
    assert [item.name for item in task.info] == ["lives", "far"]
    assert all(unknown_in(buffers[item.name]).all() for item in task.info)
    environments.step(0)
    assert buffers["lives"].tolist() == [[2, 2]]


def test_pictures_are_drawn_while_someone_looks():
    """An `rgb_array` becomes a small picture, of the environments that are looked at only."""
    task, buffers, environments = begun("faulty:Painted")
    assert (task.panels[0].kind, task.panels[0].main) == ("pixels", True)
    assert buffers["picture"].shape == (1, 2, 64, 96, 3)
    environments.step(0)
    assert not buffers["picture"].any()
    buffers["looked_at"][0, 1] = 1
    environments.step(0)
    assert not buffers["picture"][0, 0].any()
    assert buffers["picture"][0, 1, 0, 0].tolist() == [255, 0, 0]
    assert buffers["picture"][0, 1, -1, -1].tolist() == [0, 0, 200]


def test_one_picture_is_drawn_in_large_on_request():
    """What is rendered is drawn whole, of the environment for which that is requested, and sent by no server."""
    task, buffers, environments = begun("faulty:Painted")
    assert task.large is not None
    assert buffers["large"].shape == (1, 1, 200, 300, 3)
    buffers["looked_at"][0] = LIMITED
    environments.reset(np.zeros(2, np.bool_), 0)
    assert buffers["picture"].any()
    assert not buffers["large"].any()
    assert buffers["large_of"].item() == 0
    buffers["looked_at"][0, 1] = LIMITED_LARGE
    environments.reset(np.zeros(2, np.bool_), 0)  # draws at once what is requested
    assert buffers["large_of"].item() == 2
    red, blue = buffers["large"][0, 0, :100], buffers["large"][0, 0, 100:]
    assert (red == (255, 0, 0)).all()
    assert (blue == (0, 0, 200)).all()
    sent = {item.name for item in FrameSizes(task).records} | {*kept(task, look=True)}
    assert not sent & {"large", "large_of"}


def test_text_is_drawn_in_letters():
    """An `ansi` drawing is its letters and their colours."""
    task, buffers, environments = begun("kinds:Screen")
    assert (task.panels[0].kind, task.note) == ("text", "")
    buffers["looked_at"][:] = 1
    environments.step(0)
    drawn = cells_of("step\n \x1b[41m1\x1b[0m!", buffers["screen"].shape[2:])
    assert buffers["screen"][0, 1].tolist() == drawn.tolist()


def test_what_is_asked_for_is_drawn_once():
    """A drawing answers one question; the next step draws nothing, and no step is needed for another one."""
    _, buffers, environments = begun("kinds:Screen")
    buffers["looked_at"][0, 0] = 1
    environments.step(0)
    assert not buffers["looked_at"].any()
    shown = buffers["screen"].copy()
    environments.step(0)
    assert np.array_equal(buffers["screen"], shown)
    buffers["looked_at"][0, 0] = 1
    environments.reset(np.zeros(2, np.bool_), 0)
    assert not np.array_equal(buffers["screen"][0, 0], shown[0, 0])
    assert buffers["episode_length"].tolist() == [[2, 2]]


def test_a_request_that_can_wait_is_answered_within_the_budget(monkeypatch):
    """One that cannot wait is answered at once, and between two steps all are."""
    _, buffers, environments = begun("kinds:Screen")
    monkeypatch.setattr(BUDGET, "_open_at", math.inf)
    looked_at = buffers["looked_at"][0]
    looked_at[:] = LIMITED, 1
    environments.step(0)
    assert looked_at.tolist() == [LIMITED, 0]
    monkeypatch.setattr(BUDGET, "_open_at", 0.0)
    environments.step(0)
    assert not looked_at.any()
    monkeypatch.setattr(BUDGET, "_open_at", math.inf)
    looked_at[:] = LIMITED
    environments.reset(np.zeros(2, np.bool_), 0)
    assert not looked_at.any()


@pytest.mark.parametrize(("spec", "kind"), [("kinds:Blind", "text"), ("kinds:Unseen", "bars")])
def test_a_picture_that_needs_a_package(spec, kind):
    """What cannot be drawn for want of a package is drawn in the next best way, and the task says so."""
    task = find(spec)
    assert task.panels[0].kind == kind
    assert "painter is not installed" in task.note


def test_a_picture_is_shown_that_is_the_observation():
    """Who sees a picture and draws none is shown by what it sees."""
    task, buffers, environments = begun("kinds:Camera")
    buffers["looked_at"][:] = 1
    environments.step(0)
    assert task.panels[0].kind == "pixels"
    assert buffers["seen"][0, 1, 0, 0].tolist() == buffers["observation"][0, 1, 0, 0].tolist()


def test_without_a_picture_the_observation_is_drawn():
    """Numbers are drawn as bars, one per element."""
    task, buffers, environments = begun("faulty:Counter")
    assert (task.panels[0].kind, task.panels[0].labels) == ("bars", ("0", "1", "2"))
    buffers["looked_at"][:] = 1
    buffers["action"][:] = 2
    environments.step(0)
    assert buffers["bars"][0, 0].tolist() == buffers["observation"][0, 0].tolist()


def test_shrinking_takes_the_mean():
    """Each small pixel is the mean of the area it covers, also where the sizes don't divide."""
    picture = np.zeros((5, 4, 3), np.uint8)
    picture[:2] = 100
    assert shrink(picture, (1, 1))[0, 0].tolist() == [40, 40, 40]
    assert shrink(picture, (5, 4)).tolist() == picture.tolist()


def test_an_exception_names_environment_and_action():
    """An environment that raises is named, with its action and the original exception as the cause."""
    _, buffers, environments = begun("faulty:Fragile:how=raise,at=0")
    buffers["action"][0] = [1, 2]
    with pytest.raises(
        EnvironmentFailed, match="environment 1 of faulty:Fragile raised ValueError: bad card"
    ) as caught:
        environments.step(0)
    assert (caught.value.environment, caught.value.action) == (0, 1)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (
            "four",
            r"environment 1 of faulty:Careless must return from step: .* \(ValueError: not enough values",
        ),
        ("reward", r"must return from step: .* reward, which is a number, .* \(TypeError"),
        ("exit", "environment 1 of faulty:Careless raised SystemExit: 3"),
    ],
)
def test_a_result_of_another_form(how, text):
    """What a step must return is said; an environment that exits is named, too."""
    _, _, environments = begun(f"faulty:Careless:how={how}")
    with pytest.raises(EnvironmentFailed, match=text):
        environments.step(0)


def test_a_first_reset_of_another_form():
    """As environments of the old Gym have it."""
    with pytest.raises(BadParameter, match=r"too many values.*it must return, from reset: observation and info"):
        begun("faulty:Careless:how=old")


def test_an_observation_of_another_shape():
    """An observation of another shape than that of its space is an error that names both."""
    _, _, environments = begun("faulty:Shapeshifter:length=1")
    with pytest.raises(EnvironmentFailed, match=r"observations of shape \(3,\) and returned one of shape \(4,\)"):
        environments.step(0)


@pytest.mark.parametrize(
    ("spec", "kind", "text"),
    [
        ("CartPole-v9", UnknownName, "CartPole-v1"),
        ("faulty:Contour", BadParameter, r"unknown name in faulty 'Contour'\. Did you mean Counter\?"),
        ("no_such_module:Env", BadParameter, "no module named 'no_such_module'"),
        ("faulty:not_an_environment", BadParameter, r"gymnasium\.Env or a parallel .* got int"),
        ("drmario:", BadParameter, "'drmario:' is not an environment"),
        (":", BadParameter, "is not an environment"),
        ("./faulty:Counter", BadParameter, "is not an environment"),
        ("faulty:SEED", BadParameter, "unknown name in faulty 'SEED'"),
        ("faulty:HERE", BadParameter, "class or a callable"),
        ("faulty:Counter:size=3", BadParameter, "unexpected keyword argument 'size'"),
        ("kinds:Typist", UnsupportedSpaces, r"actions Text\(.*can be trained on: wrap"),
        ("kinds:Notes", UnsupportedSpaces, r"observations Sequence\(.* in book.pages; Box"),
        ("kinds:Mixed", UnsupportedSpaces, r"mix choices and continuous numbers; a policy has only one of them"),
        ("MiniGrid-Nothing-v0", BadParameter, r"module minigrid; use minigrid:MiniGrid-Nothing-v0"),
        ("kinds:Needy", BadParameter, "could not be created with {}: ModuleNotFoundError: No module"),
        ("kinds:unlike", UnsupportedSpaces, r"Discrete\(2\) for a and Discrete\(3\) for b; one policy plays all"),
    ],
)
def test_what_cannot_be_a_task(spec, kind, text):
    """Each reason is an error of its own that says what was expected."""
    with pytest.raises(kind, match=text):
        find(spec)


def test_an_unknown_environment_lists_the_known_ones():
    """The error carries the registered ids."""
    with pytest.raises(NoSuchEnvironment) as caught:
        describe_here("Nothing-v0", "Nothing-v0", {})
    assert "CartPole-v1" in caught.value.known


def test_the_working_directory_is_importable(tmp_path, monkeypatch):
    """A module in the working directory can be named even where the interpreter does not look there by itself."""
    (tmp_path / "homemade_env.py").write_text("from faulty import Counter as Mine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [entry for entry in __import__("sys").path if entry not in {"", str(tmp_path)}])
    assert find("homemade_env:Mine").title == "Mine"
