"""Which values of a file need trust: those that may name code, a server, or a file."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from pac.envs import Names, Parameter, TaskFamily, families, find
from pac.envs.naming import declared
from pac.envs.poker.sizes import PRESETS
from pac.envs.trust import NotTrusted, accept, check_trusted, doubt_about, refuse


@pytest.mark.parametrize(
    "spec",
    [
        "drmario",
        "drmario:level=5,speed=hi",
        "kuhn",
        "gameboy:game=walk,tau=0.1",
        "holdem:betting=fcpa",
        "CartPole-v1",
        "ALE/Breakout-v5,frameskip=4",
        "FrozenLake-v1,map_name=8x8,is_slippery=False,success_rate=0.5",
        "FrozenLake-v1,desc=['SFH', 'FFG']",
        "NoSuchEnvironment-v0",
        "ALE/Breakout-v5 + atari + ClipReward:min_reward=-1,max_reward=1 + ResizeObservation:shape=(84, 84)",
    ],
)
def test_named_and_registered_tasks_run_no_other_code(spec):
    """Whatever plain values they are given."""
    assert not doubt_about(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "os:system:command=touch X",
        "some_module:SomeEnv",
        "some_module:SomeEnv,size=3",
        "some_module:Registered-v0",
        "CartPole-v1:some_module",
        "GymV26Environment-v0,env_id=some_module:Old-v0",
        "pac/DrMario-v0,task=some_module:SomeEnv",
        "pac/DrMario-v0,level=1,task='some_module:SomeEnv'",
        "Ant-v5,xml_file=/tmp/model.xml",
        "Ant-v5,xml_file=model.xml",
        "Ant-v5,xml_file='model' '.xml'",
        "SomeEnv-v0,policy=some_module.policies",
        "SomeEnv-v0,config={'path': '..'}",
        "gameboy:rom=game.gb",
        "gameboy:game=../game",
        "holdem:betting=sizes",
        "CartPole-v1 + some_module:Wrapper",
        "CartPole-v1 + RecordVideo:video_folder=videos",
        "CartPole-v1 + TransformReward:func=print + ClipReward",
    ],
)
def test_what_names_a_module_or_a_file_may(spec):
    """It is found out without an import, and refused unless somebody vouches for it."""
    before = set(sys.modules)
    assert doubt_about(spec)
    with pytest.raises(NotTrusted, match="names the task"):
        check_trusted("task", spec, Names.TASK, "a file", refuse)
    check_trusted("task", spec, Names.TASK, "a file", accept)
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    "value", ["atari; some_module:Wrapper", ["some_module:Wrapper"], ["RecordVideo:video_folder=a"]]
)
def test_wrappers_of_a_file_need_trust_like_those_of_a_task(value):
    """Gymnasium's own with numbers do not."""
    with pytest.raises(NotTrusted, match="names the wrap"):
        check_trusted("wrap", value, Names.WRAPPERS, "a file", refuse)
    check_trusted("wrap", ["none", "ClipReward:min_reward=-1,max_reward=1"], Names.WRAPPERS, "a file", refuse)


@pytest.mark.parametrize("file", ["model", "model.py"])
def test_a_plain_word_may_be_a_file_that_is_here(tmp_path, monkeypatch, file):
    """An environment could open or import it."""
    monkeypatch.chdir(tmp_path)
    assert not doubt_about("Ant-v5,xml_file=model")
    (tmp_path / file).symlink_to("nowhere")
    assert doubt_about("Ant-v5,xml_file=model")
    assert not doubt_about("Ant-v5,frame_skip=5")


def test_every_parameter_of_a_built_in_task_declares_what_it_names():
    """Text without a declaration needs trust, so that a parameter that is added later is not forgotten."""
    texts = [one for family in families().values() for one in family.parameters if isinstance(one.default, str)]
    assert {one.name for one in texts if one.names is not Names.ANYTHING or not one.choices} == {
        "rom",
        "game",
        "betting",
    }
    assert {one.names for one in texts if not one.choices} == {Names.FILE}


def test_own_values_are_those_that_are_built_in():
    """The presets of bet sizes name no file."""
    (betting,) = (one for one in families()["holdem"].parameters if one.name == "betting")
    assert set(betting.own) == set(PRESETS)


def test_a_parameter_of_a_package_needs_trust_unless_it_declares_that_it_names_nothing(monkeypatch):
    """Only for values other than the default."""
    parameters = Parameter("map", "small"), Parameter("color", "red", names=Names.NOTHING), Parameter("size", 3)
    monkeypatch.setitem(families(), "mazes", TaskFamily("mazes", "Mazes", find, parameters))
    assert not doubt_about("mazes:color=a/b,size=4,map=small")
    assert "map" in doubt_about("mazes:map=large")


@pytest.mark.parametrize(
    "annotation",
    [int, float | None, tuple[int, ...], tuple[tuple[int, float], ...], Literal["a", "b"], dict[int, bool], type(None)],
)
def test_what_holds_no_text_names_nothing(annotation):
    """A choice of words holds no other text."""
    assert declared(annotation) is Names.NOTHING


@pytest.mark.parametrize(
    "annotation", [str, str | None, Path, Any, bytes, dict[str, int], list[str | None], dict, object]
)
def test_text_without_a_declaration_may_name_anything(annotation):
    """It needs trust, until it is declared."""
    assert declared(annotation) is declared(Annotated[annotation, "else"], {}) is Names.ANYTHING
    assert declared(annotation, {"names": "file"}) is Names.FILE


def test_a_folder_below_the_current_one_needs_no_trust(tmp_path, monkeypatch):
    """One outside does, also behind a link."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").symlink_to("/")
    doubted = ["/", "..", "out", "out/tmp", "a/../..", "a\0b"]
    assert not any(map(Names.FOLDER.doubt, ["runs", "a/b", tmp_path / "runs", "a/../b"]))
    assert all(map(Names.FOLDER.doubt, doubted))


def test_a_few_processes_per_core_need_no_trust():
    """Many do; what is no number is refused elsewhere."""
    assert not any(map(Names.PROCESSES.doubt, (1, "16", "many", None)))
    assert all(map(Names.PROCESSES.doubt, (10**5, "100000", 1e300)))
