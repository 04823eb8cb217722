"""Tasks as data: fields, parameters, seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import (
    BadParameter,
    Field,
    NotConforming,
    Parameter,
    allocate,
    check,
    episode_seed,
    families,
    find,
)
from pac.envs.task import first_seats, seed_from

from ..programs import python


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_bits_decode_to_what_was_packed(bits):
    """A packed field holds one bit per element, the first in the lowest bit."""
    item = Field("mask", "uint8", (len(bits),), encoding="bits")
    packed = np.packbits(np.array(bits), bitorder="little")
    assert packed.shape == item.stored_shape
    assert item.row_bytes == len(packed)
    assert item.decode(packed).tolist() == [int(bit) for bit in bits]


@given(st.integers(0, 2**70), st.integers(0, 2**20), st.integers(0, 2**20))
def test_an_episodes_seed_has_64_bits(seed, env, episode):
    """It is a number below 2**64, and the next environment's and episode's are others."""
    own = episode_seed(seed, env, episode)
    assert 0 <= own < 2**64
    assert len({own, episode_seed(seed, env + 1, episode), episode_seed(seed, env, episode + 1)}) == 3


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**20), st.integers(0, 2**20), st.integers(0, 2**20))
def test_a_process_plays_the_episodes_of_its_environments_among_all(seed, first, env, episode):
    """Environment i of the seed from `first` on is environment `first + i`; from 0 on the seed is the same."""
    assert episode_seed(seed_from(seed, first), env, episode) == episode_seed(seed, first + env, episode)
    assert seed_from(seed, 0) == seed


def test_the_rows_of_environments():
    """Of a field per seat they are the first seats', and a field without slots is the same in all."""
    info = (Field("life", "int32", per="seat"), Field("stage", "int32"), Field("code", "int32", timed=False))
    task = replace(find("noop"), players=2, info=info)
    buffers = allocate(task, 3, 2)
    buffers["life"][1], buffers["stage"][1], buffers["code"][0] = range(6), range(3), 7
    assert [first_seats(task, buffers, item, 1).tolist() for item in info] == [[0, 2, 4], [0, 1, 2], [7] * 3]


def test_fresh_buffers():
    """Untimed fields have one slot, seats have rows of their own, and no episode has begun."""
    task = find("drmario")
    buffers = allocate(task, 3, 5)
    assert buffers["observation"].shape[:2] == (5, 3)
    assert buffers["bottle"].shape[:2] == (1, 3)
    assert (buffers["episode"] == -1).all()


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (Parameter("level", 0, 0, 20), "7", 7),
        (Parameter("rate", 0.5), "1e-3", 1e-3),
        (Parameter("fast", default=False), "yes", True),
        (Parameter("speed", "low", choices=("low", "hi")), "hi", "hi"),
    ],
)
def test_a_parameters_text_becomes_its_type(parameter, text, value):
    """The default's type is the parameter's."""
    assert parameter.parse(text) == value


@pytest.mark.parametrize(
    ("parameter", "text", "complaint"),
    [
        (Parameter("level", 0, 0, 20), "21", "0 to 20"),
        (Parameter("level", 0, 0, 20), "high", "expects a whole number"),
        (Parameter("fast", default=False), "ture", "expects true or false"),
        (Parameter("speed", "low", choices=("low", "hi")), "fast", "one of low, hi"),
    ],
)
def test_a_value_that_does_not_fit(parameter, text, complaint):
    """The error says what was expected and what came."""
    with pytest.raises(BadParameter, match=complaint):
        parameter.parse(text)


VARIANTS = (
    *("autochess:players=8,reward=v3", "frames:steps=20,tau=0.2", "gameboy:game=walk", "liars_dice:faces=2"),
    *("holdem:betting=fcpa", "holdem:stack=20,betting=wide", "noop:length=3", "treasure:bots=1,agents=3,turns=20"),
)


@pytest.mark.thorough
@pytest.mark.parametrize("spec", [*sorted(families()), *VARIANTS])
def test_every_registered_task_conforms(spec):
    """Each task keeps what trainers and backends rely on, with other parameters too."""
    check(find(spec), steps=60 if spec.startswith("holdem") else 200)


@pytest.mark.parametrize(
    ("liar", "promise"),
    [
        ("Generous", "sum of its terms"),
        ("Forgetful", "same bytes"),
        ("Stingy", "no legal action"),
        ("Wild", "finite"),
        ("Amnesiac", "outcome must be set exactly"),
    ],
)
def test_a_task_that_does_not_conform(monkeypatch, liar, promise):
    """The check names the promise that was broken."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with pytest.raises(NotConforming, match=promise):
        check(replace(find("drmario"), factory=f"liars:{liar}"))


def test_planes_that_are_told_to_be_uniform_are_looked_at():
    """A network relies on it, so the check says where it is not so."""
    task = find("drmario")
    with pytest.raises(NotConforming, match=r"planes 0\.\.3 .* uniform"):
        check(replace(task, observation=replace(task.observation, uniform=(0, 3))))


@pytest.mark.session
def test_describing_loads_no_rules():
    """Finding the tasks of this package loads neither torch, numba nor gymnasium."""
    heavy = "', '.join({'torch', 'numba', 'gymnasium'} & set(sys.modules))"
    code = f"import sys, pac.envs as e; [e.find(name) for name in e.families()]; sys.exit({heavy} or None)"
    result = python("-c", code)
    assert result.returncode == 0, result.stderr
