"""The environment variables `TRAINING_...`: other names of keys, and warnings about those without effect."""

import pytest

from pac.envs import BadParameter
from pac.training.loading import load, unused_variables


@pytest.mark.parametrize(
    ("name", "value", "key", "loaded"),
    [
        ("TRAINING_NUM_ENVS", "5", "num_envs", 5),
        ("TRAINING_TRANSPORT", "inline", "backend", "inline"),
        ("TRAINING_GPU_INFERENCE", "TRUE", "device", "auto"),
        ("TRAINING_GPU_INFERENCE", "0", "device", "cpu"),
    ],
)
def test_each_sets_a_key(name, value, key, loaded):
    """Each variable is another name of a key of the configuration, and the source of its value."""
    found = load(environ={name: value})
    assert getattr(found.config, key) == loaded
    assert found.origins[key].label == name


@pytest.mark.parametrize(
    ("environ", "part"),
    [
        ({"TRAINING_GPU_INFERENCE": "true"}, "runs on the CPU"),
        ({"TRAINING_GPU_COMBAT": "true"}, "fights run on the CPU"),
        ({"TRAINING_SOCKET_PATH": "/tmp/a.sock"}, "env-server"),
        ({"TRAINING_SHM_NAME": "mine"}, "random name"),
    ],
)
def test_a_variable_without_effect(environ, part):
    """The warning about a variable without effect contains its name and the reason."""
    (sentence,) = unused_variables(environ, "cpu")
    assert sentence.startswith(next(iter(environ)))
    assert part in sentence


def test_no_warning_about_a_variable_with_effect():
    """Switches that are off, and variables that have their effect, cause no warning. Other values are refused."""
    assert not unused_variables({"TRAINING_GPU_COMBAT": "false", "TRAINING_NUM_ENVS": "4"}, "cpu")
    assert not unused_variables({"TRAINING_GPU_INFERENCE": "true"}, "cuda:0")
    for name in ("TRAINING_GPU_INFERENCE", "TRAINING_GPU_COMBAT"):
        with pytest.raises(BadParameter, match=f"{name} expects true or false, got 'perhaps'"):
            load(environ={name: "perhaps"})
