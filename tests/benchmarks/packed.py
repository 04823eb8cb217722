"""Measures packed pixels: decoding, distances, memory, and the parts of PPO on the task `frames`.

python -m tests.benchmarks packed --json
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch import Tensor

from pac.backends.core.layout import Layout
from pac.envs import Task, find
from pac.envs.fields import Array
from pac.envs.frames import kernels
from pac.envs.frames.driver import GAME
from pac.envs.frames.kernels import scene_of
from pac.envs.frames.layout import NAME
from pac.envs.frames.views import views
from pac.envs.native import compiler
from pac.envs.packed import packed_distances, unpack_pixels
from pac.envs.task import allocate
from pac.training.bench.facts import Progress, Results
from pac.training.bench.ppo_parts import ppo_parts
from pac.training.bench.turns import alternate, rate_of, timed
from pac.training.device import keep_memory
from pac.training.nets.decoding import DecodePixels

FRAMES, CHUNK = 1_024, 32
COMPARED = 8_192
LARGE, STEPS = 8_192, 128
THIRD = np.float32(1 / 3)


def measure_packed(*, rounds: int = 15, num_envs: tuple[int, ...] = (256, LARGE), progress: Progress) -> Results:
    """Measure packed pixels on one thread.

    Args:
        rounds: Number of alternating measurements of decoding and distances.
        num_envs: The values of N at which the parts of PPO are measured.
        progress: Called with the current measurement.

    Returns:
        `decoding` and `distance` with milliseconds of both sides and their `ratio`; `memory` in bytes; for each N
        in `parts` the rates and seconds of the parts of PPO, and the memory.
    """
    keep_memory()
    torch.set_num_threads(1)
    task, random = find(NAME), np.random.default_rng(0)
    shape = task.observation.stored_shape
    progress("decoding", 0.0)
    found: Results = {"decoding": _decoding(task, random.integers(0, 256, (FRAMES, *shape), np.uint8), rounds)}
    progress("distance", 0.1)
    found["distance"] = _distance(
        random.integers(0, 256, (COMPARED, *shape), np.uint8), task.observation.shape[-1], rounds
    )
    found["memory"] = _memory(task)
    found["parts"] = {}
    for number, count in enumerate(num_envs):
        progress(f"PPO, N = {count:,}", 0.2 + 0.8 * number / len(num_envs))
        found["parts"][str(count)] = _engine(task, count) | ppo_parts(task, count)
        gc.collect()
    return found


def _alternating(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each side; the first call of each is not counted."""
    times = alternate({name: partial(_milliseconds, work) for name, work in sides.items()}, rounds + 1)
    return {name: median(found[1:]) for name, found in times.items()}


def _milliseconds(work: Callable[[], object]) -> float:
    seconds, _ = timed(work)
    return 1000 * seconds


# -- decoding ---------------------------------------------------------------------------------------------------------


def _torch_shifts(stored: Tensor) -> Tensor:
    decoded = torch.empty(*stored.shape, 4, dtype=torch.uint8)
    for place in range(4):
        decoded[..., place] = (stored >> 2 * place) & 3
    return decoded.float().mul_(float(THIRD))


def _torch_spread(stored: Tensor) -> Tensor:
    words = stored.int()
    words = (words | words << 12) & 0x000F000F
    words = (words | words << 6) & 0x03030303
    return words.view(torch.uint8).float().mul_(float(THIRD))


def _numpy_shifts(stored: Tensor) -> Array:
    decoded = np.empty((*stored.shape, 4), np.float32)
    for place in range(4):
        np.multiply((stored.numpy() >> 2 * place) & 3, THIRD, out=decoded[..., place])
    return decoded


def _numpy_spread(stored: Tensor) -> Array:
    words = stored.numpy().astype(np.uint32)
    words |= words << 12
    words &= 0x000F000F
    words |= words << 6
    words &= 0x03030303
    return np.multiply(words.view(np.uint8), THIRD, dtype=np.float32)


WITHOUT_TABLE = {
    "torch, shifts": _torch_shifts,
    "torch, spread words": _torch_spread,
    "numpy, shifts": _numpy_shifts,
    "numpy, spread words": _numpy_spread,
}


def _decoding(task: Task, images: Array, rounds: int) -> Results:
    """Compare the network's decoding with the fastest code without a table, both at once and in chunks."""
    stored, decode = torch.from_numpy(images), DecodePixels(task.observation)
    for name, other in WITHOUT_TABLE.items():
        same = np.allclose(np.asarray(other(stored)).reshape(FRAMES, -1), decode(stored).flatten(1).numpy())
        assert same, f"{name} decodes other values"

    def at_once(work: Callable[[Tensor], object], chunk: int) -> Callable[[], None]:
        def run() -> None:
            for part in torch.split(stored, chunk):
                work(part)

        return run

    sides: dict[str, Callable[[Tensor], object]] = {"table": decode, **WITHOUT_TABLE}
    times = _alternating(
        {f"{name}, {chunk}": at_once(work, chunk) for name, work in sides.items() for chunk in (CHUNK, FRAMES)}, rounds
    )
    ours = min(value for name, value in times.items() if name.startswith("table"))
    fastest = min((name for name in times if not name.startswith("table")), key=times.__getitem__)
    return {
        "frames": FRAMES,
        "table_ms": ours,
        "fastest_ms": times[fastest],
        "fastest": fastest,
        "ratio": times[fastest] / ours,
    }


# -- distances --------------------------------------------------------------------------------------------------------


def _distance(images: Array, width: int, rounds: int) -> Results:
    """Compare the table of byte pairs with unpacking and subtracting, in parts that fit into a cache."""
    goal = images[0].copy()
    shades = unpack_pixels(goal, width)

    def unpacked() -> Array:
        sums = []
        for first in range(0, len(images), CHUNK):
            pixels = unpack_pixels(images[first : first + CHUNK], width)
            difference = np.maximum(pixels, shades) - np.minimum(pixels, shades)
            sums.append(difference.reshape(len(pixels), -1).sum(axis=1, dtype=np.uint32))
        return np.concatenate(sums)

    assert np.array_equal(packed_distances(images, goal), unpacked())
    times = _alternating({"packed_ms": lambda: packed_distances(images, goal), "unpacked_ms": unpacked}, rounds)
    return {"frames": len(images), **times, "ratio": times["unpacked_ms"] / times["packed_ms"]}


# -- memory -----------------------------------------------------------------------------------------------------------


def _memory(task: Task) -> Results:
    """Return the bytes of two rollouts, and of their observations and last observations."""
    slots = 2 * (STEPS + 1)
    layout = Layout(task, LARGE, slots, rollouts=2)
    learner = 2 * 4 * LARGE * (3 * STEPS + 1)  # values, also of last observations, and log-probabilities
    observations = slots * LARGE * task.observation.row_bytes
    last = 2 * LARGE * task.observation.row_bytes  # those of one step, and the table of `FinalValues`
    return {
        "num_envs": LARGE,
        "steps": STEPS,
        "two_rollouts": layout.size + learner + last // 2,
        "observations": observations,
        "last_observations": last,
        "unpacked_observations": 4 * observations,
    }


# -- the parts of PPO -------------------------------------------------------------------------------------------------


@compiler(Path(kernels.__file__).parent)
def draw_all(table: Array, num_envs: int) -> None:
    """Draw the pictures of all environments into slot 0."""
    v = views(table)
    for env in range(num_envs):
        kernels.draw_picture(scene_of(v, env), v.observation[0, env])


def _engine(task: Task, num_envs: int) -> Results:
    buffers = allocate(task, num_envs, 2)
    envs = GAME(task, 0, num_envs, buffers, 0)
    envs.reset(np.ones(num_envs, np.bool_), 0)
    buffers["action"][:] = np.random.default_rng(0).integers(task.num_actions, size=buffers["action"].shape)

    def step() -> int:
        envs.step(0)
        envs.step(1)
        return 2 * num_envs

    def draw() -> int:
        draw_all(envs.table, num_envs)
        return num_envs

    for work in (step, draw):
        work()
    return {"environment_steps_per_second": rate_of(step, 1.0), "rendered_frames_per_second": rate_of(draw, 1.0)}
