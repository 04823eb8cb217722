"""The plan of a grid: which runs follow from seeds and settings with several values."""

import pytest

from pac.envs import BadParameter
from pac.envs.trust import accept
from pac.training.grid.plan import choices, planned, seeds_of

ENDS = {"task": "CartPole-v1", "steps": 100}


def plan(given, seeds=()):
    return planned({**ENDS, **given}, seeds, file=None, vouch=accept)


@pytest.mark.parametrize(("text", "seeds"), [("0..2", (0, 1, 2)), ("7", (7,)), ("1, 5,7..8", (1, 5, 7, 8))])
def test_seeds_are_numbers_and_ranges(text, seeds):
    assert seeds_of(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "2..0", "1,1", "0..5000", "-1", "1.5"])
def test_other_seeds_are_refused(text):
    with pytest.raises(BadParameter, match="--seeds"):
        seeds_of(text)


def test_a_value_that_fits_as_a_whole_is_one_value():
    """A schedule has commas, too."""
    given = {
        "ppo.learning_rate": "0:3e-4,1e6:1e-4",
        "ppo.clip": "0.1, 0.2",
        "steps": 5,
        "task": "drmario:level=1,speed=hi",
    }
    assert choices(given) == {"ppo.clip": ("0.1", "0.2")}


def test_all_combinations_are_trained():
    """Each with every seed, and under a name that says which it is."""
    grid = plan({"name": "g", "ppo.clip": "0.1,0.2", "ppo.gamma": "0.9,0.99"}, (0, 1))
    assert [member.name for member in grid.members][:3] == [
        "g-clip=0.1-gamma=0.9-s0",
        "g-clip=0.1-gamma=0.9-s1",
        "g-clip=0.1-gamma=0.99-s0",
    ]
    assert len(grid.members) == 8
    last = grid.members[-1]
    assert (last.group, last.config.seed) == ("clip 0.2, gamma 0.99", 1)
    assert last.config.settings == {"clip": "0.2", "gamma": "0.99"}


def test_all_runs_have_the_same_number_of_environments(monkeypatch):
    """Though its default depends on the cores, and each run gets only some."""
    monkeypatch.setattr("pac.training.loading.default_num_envs", lambda: 24)
    assert {member.config.num_envs for member in plan({}, (0, 1)).members} == {24}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": None}, "need an end"),
        ({"ppo.clip": "0.1,0.1"}, "the same"),
        ({"ppo.clip": "0.1,0.10"}, "the same"),
        ({"ppo.clip": "0.1,0.2", "trainer": "random"}, "setting of random"),
        ({"ppo.clip": "0.1,x"}, "got 'x'"),
        ({"ppo.clap": "1,2"}, "clap"),
        ({"breakpoints": ("any: reward > 1",)}, "leave out --break"),
        ({"until": "retrun > 5"}, "retrun"),
        ({"name": "a" * 300}, "longer than 255 bytes"),
    ],
)
def test_what_cannot_be_a_grid_is_refused(given, message):
    with pytest.raises(BadParameter, match=message):
        plan(given, (0,))
