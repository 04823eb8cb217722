"""The variables `TRAINING_...`: what they stand for, and what is said of those that do nothing."""

import pytest

from pac.envs import BadParameter
from pac.training.flags import aliases, unused_flags


@pytest.mark.parametrize(
    ("name", "value", "key", "meant"),
    [
        ("TRAINING_NUM_ENVS", "5", "num_envs", "5"),
        ("TRAINING_TRANSPORT", "shm", "backend", "shm"),
        ("TRAINING_GPU_INFERENCE", "TRUE", "device", "auto"),
        ("TRAINING_GPU_INFERENCE", "0", "device", "cpu"),
    ],
)
def test_what_they_stand_for(name, value, key, meant):
    """Each is a key of the configuration by another name."""
    assert list(aliases({name: value})) == [(key, name, meant)]


@pytest.mark.parametrize("name", ["TRAINING_GPU_INFERENCE", "TRAINING_GPU_COMBAT"])
def test_neither_true_nor_false(name):
    """Another word is refused by the variable's name."""
    with pytest.raises(BadParameter, match=f"{name} expects true or false, got 'perhaps'"):
        list(aliases({name: "perhaps"}))


@pytest.mark.parametrize(
    ("environ", "part"),
    [
        ({"TRAINING_GPU_INFERENCE": "true"}, "runs on the CPU"),
        ({"TRAINING_GPU_COMBAT": "true"}, "fights run on the CPU"),
        ({"TRAINING_SOCKET_PATH": "/tmp/a.sock"}, "env-server"),
        ({"TRAINING_SHM_NAME": "mine"}, "cannot be guessed"),
    ],
)
def test_what_does_nothing_is_told(environ, part):
    """A variable that is set and has no effect is named in a sentence."""
    (sentence,) = unused_flags(environ, "cpu")
    assert sentence.startswith(next(iter(environ)))
    assert part in sentence


def test_what_does_as_it_says_is_not_told():
    """Nothing is said of flags that are off, or have what they ask for."""
    assert not unused_flags({"TRAINING_GPU_COMBAT": "false", "TRAINING_NUM_ENVS": "4"}, "cpu")
    assert not unused_flags({"TRAINING_GPU_INFERENCE": "true"}, "cuda:0")
