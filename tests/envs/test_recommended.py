"""Recommended settings of Gymnasium environments, by id and by kind."""

from __future__ import annotations

import ale_py
import gymnasium
import pytest

from pac.envs import Field, find
from pac.envs.files import MIB, read_yaml
from pac.envs.recommended import TABLE, default_trainer, recommended
from pac.training.dqn.settings import DqnSettings, IqnSettings
from pac.training.ppo.settings import PpoSettings
from pac.training.sac.settings import SacSettings

VECTOR = Field("observation", "float32", (4,))
IMAGE = Field("observation", "uint8", (64, 64, 3))
SMALL_IMAGE = Field("observation", "uint8", (8, 8, 3))
ENTRIES = {trainer: table["environments"] for trainer, table in read_yaml(TABLE, MIB).items() if trainer != "wrappers"}


@pytest.mark.parametrize("name", sorted({name for entries in ENTRIES.values() for name in entries}))
def test_entries_are_gymnasium_ids(name):
    """An entry whose id Gymnasium does not know would never be used."""
    gymnasium.register_envs(ale_py)
    assert name in gymnasium.registry


@pytest.mark.parametrize("trainer", ["ppo", "dqn", "iqn"])
def test_an_environment_has_the_settings_of_its_id(trainer):
    """The task has them, with where they are from. IQN has those of DQN."""
    task = find("CartPole-v1")
    entries = ENTRIES["ppo" if trainer == "ppo" else "dqn"]
    assert dict(task.settings[trainer]) == entries["CartPole-v1"]
    assert task.settings_for[trainer] == "CartPole-v1"


def test_an_id_may_be_known_for_one_trainer_only():
    """The others have the settings of its kind."""
    found = recommended("Acrobot-v1", VECTOR, continuous=False)
    assert found["ppo"].source == "Acrobot-v1"
    assert found["dqn"].source == "vector observations"


@pytest.mark.parametrize("observation", [VECTOR, IMAGE])
@pytest.mark.parametrize(("trainer", "kind"), [("dqn", DqnSettings), ("iqn", IqnSettings), ("ppo", PpoSettings)])
def test_the_settings_of_a_kind_are_accepted(observation, trainer, kind):
    """Their names exist and their values fit."""
    for name in ("Mine-v0", "ALE/Mine-v5", "MiniGrid-Mine-v0", "VizdoomMine-v0"):
        kind.read(trainer, recommended(name, observation, continuous=False, wrapped=True)[trainer].settings)


@pytest.mark.parametrize(
    ("observation", "continuous", "trainers"),
    [(VECTOR, True, ["ppo", "sac"]), (IMAGE, True, ["ppo"]), (VECTOR, False, ["ppo", "dqn", "iqn"])],
)
def test_there_are_settings_of_trainers_that_can_learn_it(observation, continuous, trainers):
    """DQN needs choices, SAC continuous actions and no images."""
    found = recommended("Mine-v0", observation, continuous=continuous)
    assert list(found) == trainers
    if "sac" in found:
        SacSettings.read("sac", found["sac"].settings)


def test_an_environment_may_have_another_default_trainer_than_ppo():
    """By its id, also behind the module that registers it."""
    assert default_trainer("gymnasium_robotics:HalfCheetah-v5") == "sac"
    assert default_trainer("my_envs:Mine") == "ppo"


def test_the_module_before_an_id_does_not_matter():
    """`module:id` imports the module that registers the id."""
    assert recommended("my_envs:CartPole-v1", VECTOR, continuous=False)["dqn"].source == "CartPole-v1"


@pytest.mark.parametrize(
    ("observation", "continuous", "source"),
    [
        (VECTOR, False, "vector observations"),
        (SMALL_IMAGE, False, "vector observations"),
        (IMAGE, False, "image observations"),
        (VECTOR, True, "vector observations and continuous actions"),
    ],
)
def test_other_environments_have_the_settings_of_their_kind(observation, continuous, source):
    """The kind follows from the observation and the actions."""
    assert recommended("my_envs:Mine", observation, continuous=continuous)["ppo"].source == source


def test_continuous_actions_change_some_settings_of_a_kind():
    """There is no entropy bonus; the batch is that of the kind."""
    one, two = (recommended("Mine-v0", VECTOR, continuous=continuous)["ppo"].settings for continuous in (False, True))
    assert two["entropy_coefficient"] == 0 < one["entropy_coefficient"]
    assert one["batch"] == two["batch"]


def test_a_note_is_part_of_the_task():
    """The session shows it at its start. It is not a setting."""
    task = find("MountainCarContinuous-v0")
    assert "needs exploration" in task.note
    assert "note" not in task.settings["ppo"]


@pytest.mark.parametrize("shape", [(64, 64, 3), (4, 64, 64, 3)])
def test_only_single_images_are_normalized(shape: tuple[int, ...]) -> None:
    """Stacks of colored images would take much memory."""
    found = recommended("Unknown-v0", Field("observation", "uint8", shape, per="seat"), continuous=False)
    assert found["ppo"].settings.get("normalize_observation", False) is (len(shape) == 3)
