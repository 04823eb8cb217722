"""Which tasks may run code that is not installed as a task."""

import sys

import pytest

from pac.envs.trust import NotTrusted, accept, check_trusted, may_run_code, refuse


@pytest.mark.parametrize(
    "spec",
    [
        "drmario",
        "drmario:level=5,speed=hi",
        "kuhn",
        "CartPole-v1",
        "ALE/Breakout-v5,frameskip=4",
        "FrozenLake-v1,map_name=8x8,is_slippery=False,success_rate=0.5",
        "FrozenLake-v1,desc=['SFH', 'FFG']",
        "NoSuchEnvironment-v0",
    ],
)
def test_named_and_registered_tasks_run_no_other_code(spec):
    """Whatever plain values they are given."""
    assert not may_run_code(spec)


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
        "SomeEnv-v0,policy=some_module.policies",
        "SomeEnv-v0,config={'path': '..'}",
    ],
)
def test_what_names_a_module_or_a_file_may(spec):
    """It is found out without an import, and refused unless somebody vouches for it."""
    before = set(sys.modules)
    assert may_run_code(spec)
    with pytest.raises(NotTrusted, match="names the task"):
        check_trusted(spec, "a file", refuse)
    check_trusted(spec, "a file", accept)
    assert set(sys.modules) == before
