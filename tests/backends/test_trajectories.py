"""Same seed, same actions: the same bytes on every backend, on any number of workers."""

from __future__ import annotations

from contextlib import ExitStack, closing

import numpy as np
import pytest

from pac.backends import BACKENDS, make
from pac.envs import Task, find
from pac.training.bench.backends.rates import RandomLegal

SLOTS = 5
STEPS = 40


def play(
    task: Task, backend: str, num_envs: int, workers: int | None = None, slots: int = SLOTS, *, ring: bool = False
) -> list[bytes]:
    """Return all fields after every step, as bytes."""
    seen = []
    with closing(make(task, num_envs, backend, slots=slots, seed=11, workers=workers, strict=True, ring=ring)) as envs:
        envs.start()
        choose, slot = RandomLegal(task, envs.num_envs), 0
        for _ in range(STEPS):
            if envs.order.full:
                envs.carry()
                slot = 0
            choose(envs, slot)
            envs.advance(slot)
            slot = envs.order.newest
            at = {"action": envs.order.acted(slot)}
            seen.append(
                b"".join(array[at.get(name, slot) % len(array)].tobytes() for name, array in envs.buffer.items())
            )
    return seen


@pytest.mark.parametrize(
    ("backend", "num_envs", "workers"),
    [
        ("threads", 5, 1),
        ("threads", 5, 3),
        ("threads", 2, 7),
        ("shm", 5, 2),
        ("socket", 5, 2),
        ("http", 5, 2),
        pytest.param("socket", 1, 1, marks=pytest.mark.slow),
        pytest.param("socket", 7, 3, marks=pytest.mark.slow),
        pytest.param("shm", 1, 1, marks=pytest.mark.slow),
        pytest.param("shm", 7, 3, marks=pytest.mark.slow),
    ],
)
def test_a_native_game_is_equal_on_all_backends(backend, num_envs, workers):
    """The built-in game's trajectories don't depend on backend and slices."""
    task = find("drmario:level=2")
    assert play(task, backend, num_envs, workers) == play(task, "inline", num_envs)


@pytest.mark.parametrize(
    ("spec", "backend"),
    [
        *(
            (spec, "inline")
            for spec in ("drmario:level=2", "autochess", "kuhn", "treasure", "frames", "CartPole-v1", "noop")
        ),
        *(("drmario:level=2", backend) for backend in ("threads", "shm", "socket", "http")),
    ],
)
def test_a_ring_has_the_trajectories_of_one_slot(spec, backend):
    """In a ring, the newest slot has what environments stepped in place have, last observations included."""
    task = find(spec)
    assert play(task, backend, 5, 2, slots=7, ring=True) == play(task, "inline", 5, slots=1)


@pytest.mark.parametrize("backend", ["socket", "http"])
@pytest.mark.parametrize("spec", ["autochess", "autochess:players=8"])
def test_eight_seats_are_equal_behind_servers(spec, backend):
    """What a game of eight seats publishes comes over the wire whole."""
    task = find(spec)
    assert play(task, backend, 3, 2) == play(task, "inline", 3)


@pytest.mark.parametrize("backend", ["shm", "socket", "http"])
@pytest.mark.parametrize(("name", "workers", "slots"), [("Counter", 2, SLOTS), ("Masked", 3, 1), ("MaskMethod", 1, 2)])
def test_a_python_environment_is_equal_on_all_backends(toy, backend, name, workers, slots):
    """A Gymnasium environment's trajectories, its masks included, don't depend on backend and slices."""
    task = toy(name)
    assert play(task, backend, 5, workers, slots) == play(task, "inline", 5, slots=slots)


@pytest.mark.parametrize("backend", ["shm", "socket", "http"])
@pytest.mark.parametrize("name", ["Arm", "Levers", "Camera", "Blind", "Tag"])
def test_every_kind_of_environment_is_equal_on_all_backends(backend, name):
    """Whatever its actions and observations are, and however many play it, one elsewhere is one in this process."""
    task = find(f"kinds:{name}")
    assert play(task, backend, 3, 2) == play(task, "inline", 3)


@pytest.mark.parametrize("backend", ["inline", "threads", "device", "shm", "socket", "http"])
def test_a_seed_restarts_the_episodes(toy, backend):
    """Resetting with a seed begins at episode 0 of that seed, whatever was played before."""
    task = toy("Counter") if backend in {"shm", "socket", "http"} else find("drmario")
    with (
        closing(make(task, 3, backend, seed=1, workers=2)) as envs,
        closing(make(task, 3, "inline", seed=9)) as other,
    ):
        first, _ = other.reset()
        envs.reset()
        envs.step(envs.action_masks().argmax(axis=1))
        observations, _ = envs.reset(seed=9)
        assert np.array_equal(observations, first)
        assert envs.buffer["episode"].tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(
    ("backend", "spec"),
    [(name, "drmario:level=2") for name in BACKENDS] + [(name, "CartPole-v1") for name in ("inline", "shm", "http")],
)
def test_two_halves_equal_the_whole(backend, spec):
    """Environment i of a process is environment `first_env + i` of a process that has all of them, also after a reseed.

    Only the field `state` differs, because it contains the seed.
    """
    task, first = find(spec), 2
    with ExitStack() as stack:
        whole, *halves = (
            stack.enter_context(closing(make(task, count, name, seed=11, first_env=start, workers=2, strict=True)))
            for count, name, start in ((5, "inline", 0), (first, backend, 0), (5 - first, backend, first))
        )
        choose = RandomLegal(task, whole.num_envs)
        for seed in (None, 12):
            for envs in (whole, *halves):
                envs.reset(seed=seed)
            for _ in range(STEPS):
                choose(whole, 0)
                for half in halves:
                    half.buffer["action"][0] = whole.buffer["action"][0][half.first_env :][: half.environments]
                for envs in (whole, *halves):
                    envs.advance(0)
                for name in whole.buffer.keys() - {"state"}:
                    both = np.concatenate([half.buffer[name][0] for half in halves])
                    assert both.tobytes() == whole.buffer[name][0].tobytes(), name
        assert whole.buffer["episode"].max() > 0
