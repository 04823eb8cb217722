"""Environments of ViZDoom, as they are prepared for learning."""

import gymnasium
import numpy as np
import pytest

from pac.envs import BadParameter, find
from pac.envs.gym.doom import DoomScreen, reduced
from pac.envs.gym.making import create

pytest.importorskip("vizdoom")

BASIC = "vizdoom.gymnasium_wrapper:VizdoomBasic-v1"
OWN = """
from gymnasium.envs.classic_control import CartPoleEnv


class VizdoomMine(CartPoleEnv):
    def __init__(self):
        super().__init__()
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """The engine writes its settings into the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("height", "width", "factor"), [(240, 320, 4), (125, 161, 2), (61, 80, 1)])
def test_a_pixel_is_the_mean_of_a_square(height, width, factor):
    """Rounded, for each color; pixels that do not fill a square are left out."""
    picture = np.random.default_rng(0).integers(256, size=(height, width, 3), dtype=np.uint8)
    seen = reduced(picture, factor)
    assert seen.shape == (height // factor, width // factor, 3)
    for row, column in np.ndindex(seen.shape[:2]):
        square = picture[row * factor : (row + 1) * factor, column * factor : (column + 1) * factor]
        assert seen[row, column].tolist() == np.floor(square.mean((0, 1)) + 0.5).tolist()


def test_pictures_are_reduced_and_variables_are_in_hundreds():
    """Labels are numbers of things, which have no mean: they stay, as does what else is observed."""
    env = DoomScreen(gymnasium.make(BASIC, depth_buffer_enabled=True, labels_buffer_enabled=True))
    try:
        (seen, _), (plain, _) = env.reset(seed=1), env.env.reset(seed=1)
        assert env.observation_space.contains(seen)
        assert np.array_equal(seen["screen"], reduced(plain["screen"], 4))
        assert np.array_equal(seen["depth"], reduced(plain["depth"], 4))
        assert np.array_equal(seen["labels"], plain["labels"])
        assert np.allclose(seen["gamevariables"] * 100, plain["gamevariables"])
    finally:
        env.close()


def test_environments_of_vizdoom_are_wrapped():
    """They have settings of their own, and --wrap none leaves them as they are."""
    task, plain = find(BASIC), find(f"{BASIC} + none")
    assert task.wrappers == ("DoomScreen",)
    assert [shape for _, shape in task.observation.images] == [(60, 80, 3)]
    assert task.settings_for["ppo"] == "ViZDoom"
    assert "--wrap none" in task.note
    assert [shape for _, shape in plain.observation.images] == [(240, 320, 3)]


def test_an_own_environment_with_such_a_name_is_not_wrapped(tmp_path, monkeypatch):
    """It need not take ViZDoom's arguments."""
    (tmp_path / "own_doom.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    task = find("own_doom:VizdoomMine")
    assert not task.wrappers
    assert task.observation.shape == (4,)


@pytest.mark.parametrize(
    ("wrappers", "given", "frames"),
    [(("DoomScreen",), {}, 4), (("DoomScreen",), {"frame_skip": 2}, 2), ((), {}, 1)],
)
def test_an_action_lasts_four_frames_unless_others_are_given(wrappers, given, frames):
    """Each frame costs a point."""
    env = create(BASIC, given, None, wrappers)
    try:
        env.reset(seed=0)
        assert env.step(0)[1] == -frames
    finally:
        env.close()


def test_other_environments_cannot_have_it():
    """It says what it is for."""
    with pytest.raises(BadParameter, match="for environments of ViZDoom"):
        find("CartPole-v1 + DoomScreen")
