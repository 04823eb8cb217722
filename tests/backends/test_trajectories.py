"""Same seed, same actions: the same bytes on every backend, on any number of workers."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import cache

import numpy as np
import pytest

from pac.backends import BACKENDS, make
from pac.envs import find
from pac.envs.task import LIMITED
from pac.training.bench.backends.rates import RandomLegal

from .playing import trajectory

STEPS = 40
RING = 7
"""Number of slots of those buffers that are a ring."""
NATIVE = "drmario:level=2"
NATIVE_GAMES = (NATIVE, "autochess", "kuhn", "treasure", "frames", "CartPole-v1", "noop")
MANY = [(NATIVE, backend, *size, 5) for backend in ("socket", "shm") for size in ((1, 1), (7, 3))]


@cache
def reference(spec: str, num_envs: int) -> list[bytes]:
    """Return the trajectory of one process that steps in place."""
    with closing(make(find(spec), num_envs, "inline", seed=11)) as envs:
        return trajectory(envs, STEPS)


@pytest.mark.parametrize(
    ("spec", "backend", "num_envs", "workers", "slots"),
    [
        *((spec, "inline", 5, 1, RING) for spec in NATIVE_GAMES),
        *((NATIVE, "threads", *sizes) for sizes in ((5, 1, 5), (5, 3, RING), (2, 7, 5))),
        *((NATIVE, backend, 5, 2, RING) for backend in ("shm", "socket", "http")),
        *(("autochess:players=8", backend, 3, 2, 5) for backend in ("socket", "http")),
        *(("kinds:Tag", backend, 3, 2, 5) for backend in ("shm", "socket", "http")),
        *((f"kinds:{name}", backend, 3, 2, 5) for name in ("Arm", "Levers") for backend in ("socket", "http")),
        *(("kinds:Camera", "shm", 3, 2, 5), ("kinds:Camera", "http", 3, 2, 1), ("kinds:Blind", "socket", 3, 2, 5)),
        *(
            ("faulty:MaskMethod", "shm", 5, 1, 2),
            ("faulty:Masked", "http", 5, 3, 1),
            ("faulty:Counter", "socket", 5, 2, 5),
            *(("faulty:Painted", backend, 3, 2, 5) for backend in ("shm", "socket")),
        ),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in MANY),
    ],
)
def test_trajectories_equal_those_of_one_process(spec, backend, num_envs, workers, slots):
    """Whatever is played, by however many, in which slots: all fields have the bytes of `inline` in place."""
    options = {"slots": slots, "ring": slots == RING, "workers": workers}
    with closing(make(find(spec), num_envs, backend, seed=11, strict=True, **options)) as envs:
        assert trajectory(envs, STEPS) == reference(spec, num_envs)


def test_a_seed_restarts_the_episodes():
    """Resetting with a seed begins at episode 0 of that seed, whatever was played before."""
    with closing(make(NATIVE, 3, "inline", seed=1)) as envs, closing(make(NATIVE, 3, "inline", seed=9)) as other:
        trajectory(envs, STEPS)
        envs.reset(seed=9)
        other.reset()
        for name in envs.buffer.keys() - {"action", "heartbeat", "final_observation"}:
            assert np.array_equal(envs.buffer[name], other.buffer[name]), name


@pytest.mark.parametrize(
    ("backend", "spec"),
    [
        *((backend, "kuhn") for backend in ("threads", "device")),
        *((backend, "faulty:Counter") for backend in BACKENDS if backend not in {"threads", "device"}),
    ],
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
            for _ in range(10):
                choose(whole, 0)
                for half in halves:
                    seats = slice(half.first_env * task.players, (half.first_env + half.environments) * task.players)
                    half.buffer["action"][0] = whole.buffer["action"][0][seats]
                for envs in (whole, *halves):
                    envs.advance(0)
                for name in whole.buffer.keys() - {"state"}:
                    both = np.concatenate([half.buffer[name][0] for half in halves])
                    assert both.tobytes() == whole.buffer[name][0].tobytes(), name
            assert whole.buffer["episode"].max() > 0


@pytest.mark.session
def test_the_time_that_workers_draw_is_known():
    """Of boards that viewers display."""
    with closing(make(find("CartPole-v1"), 2, "shm", slots=4)) as envs:
        envs.start()
        assert envs.drawing_seconds == 0
        envs.buffer["looked_at"][0] = LIMITED
        envs.advance(0)
        assert envs.drawing_seconds > 0


@pytest.mark.session
@pytest.mark.parametrize("backend", ["inline", "shm", "socket", "http"])
def test_a_request_is_answered_by_one_board(backend):
    """The request of one environment is reset once its board came, and later steps draw nothing."""
    with closing(make(find("CartPole-v1"), 2, backend, slots=4)) as envs:
        envs.start()
        pictures, requests = envs.buffer["picture"][0], envs.buffer["looked_at"][0]
        assert not pictures.any()
        requests[1] = 1
        envs.advance(0)
        assert not requests.any()
        assert pictures[1].any()
        assert not pictures[0].any()
        pictures[1] = 0
        envs.advance(1)
        assert not pictures.any()
