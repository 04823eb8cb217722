"""Nothing is called for being named as a task, unless it makes environments."""

from __future__ import annotations

import gymnasium
import pytest

from pac.envs import BadParameter, find

HERE = f"{__package__}.factories"


@pytest.mark.parametrize(
    "name",
    [
        "annotated",
        "unannotated",
        "annotated_for_checkers",
        "prefilled",
        "callable_object",
        "method",
        "Counter",
        "Wrapped",
    ],
)
def test_classes_and_functions_of_ones_own_make_environments(name):
    """A class, a function with or without annotation, a partial, an object, a class method, a wrapper."""
    assert find(f"{HERE}:{name}").num_actions == 4


@pytest.mark.filterwarnings("ignore:The old environment creation API:DeprecationWarning")
def test_pettingzoos_function_makes_environments():
    """It is installed and has no annotation, and is known by its name."""
    pytest.importorskip("pettingzoo")
    pytest.importorskip("pygame")
    assert find("pettingzoo.butterfly.cooperative_pong_v6:parallel_env").players == 2


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("os:system:command=touch {}", "has no return annotation"),
        ("os:mkdir:path={}", "has no return annotation"),
        ("os:makedirs:name={}", "has no return annotation"),
        ("pathlib:Path.touch:self={}", "has no return annotation"),
        ("subprocess:call:args=['touch', '{}']", "has no return annotation"),
        ("subprocess:Popen:args=['touch', '{}']", "got the class Popen"),
        ("numpy:savetxt:fname='{}',X=[1]", "has no return annotation"),
        (f"{HERE}:system:command=touch {{}}", "has no return annotation"),
        (f"{HERE}:rmtree:path={{}}", "has no return annotation"),
        (f"{HERE}:says_text", "got str by its annotation"),
        (f"{HERE}:NoEnvironment", "got the class NoEnvironment"),
        ("gymnasium.vector:SyncVectorEnv", "got the class SyncVectorEnv"),
    ],
)
def test_nothing_else_is_called(tmp_path, spec, text):
    """The error says what was expected, and nothing has happened."""
    file = tmp_path / "created"
    with pytest.raises(BadParameter, match=f"gymnasium.Env .*{text}"):
        find(spec.format(file))
    assert not file.exists()
    assert tmp_path.exists()


def test_arguments_are_data():
    """Values are read as literals; what is none is text, however deep its brackets are."""
    assert find("FrozenLake-v1,map_name=8x8").values == {"map_name": "8x8"}
    for text in ("__import__('os')", "[" * 2_000):
        with pytest.raises(BadParameter, match="could not be created"):
            find(f"CartPole-v1,length={text}")


def test_a_registered_environment_keeps_its_entry_point():
    """Gymnasium hands every argument to the environment."""
    for key in ("entry_point", "vector_entry_point", "additional_wrappers"):
        with pytest.raises(BadParameter, match=f"unexpected keyword argument '{key}'"):
            find(f"CartPole-v1,{key}=os:system")
    assert str(gymnasium.spec("CartPole-v1").entry_point).startswith("gymnasium.")
