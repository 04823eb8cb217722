"""Measures DQN: its gradient steps against those of Stable-Baselines3, and a replay of images.

python -m tests.benchmarks dqn
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from pac.backends.core.layout import Layout
from pac.envs import Field, Task
from pac.envs.fields import DECIDES, Array
from pac.training.bench.facts import Progress, Results, ratios_of, summary_of
from pac.training.bench.measured_process import results_of
from pac.training.bench.turns import alternate, rate_of

OURS, SB3 = "ours", "sb3"
BATCH, HIDDEN = 64, 128
INPUTS, ACTIONS = 4, 2
TRANSITIONS = 20_000
LIMIT = 300.0
CALLS = 20
"""Calls between two readings of the clock."""
IMAGE, FRAMES, GATHERED = (84, 84), 4, 256
CAPACITY, SHARE, ROWS = 1_000_000, 10, 8


def measure_dqn(*, seconds: float = 3.0, rounds: int = 7, progress: Progress) -> Results:
    """Measure gradient steps and a replay.

    Args:
        seconds: Length of each measurement.
        rounds: Measurements of each, alternating.
        progress: Called with the current measurement.

    Returns:
        `gradient_steps`, per s, of both sides with one thread, the same network, batch and settings; `replay`, the
        memory of a million images, and the speed of gathering stacks, relative to copying as many bytes: once all of
        two stacks per transition, and once only the different frames among them.

    Raises:
        MeasurementFailed: A measurement failed, for instance because the extra `[peers]` is missing.
    """
    found: Results = {}
    for number, part in enumerate((gradient_steps, replay)):
        progress(f"DQN, {part.__name__.replace('_', ' ')}", number / 2)
        found[part.__name__] = results_of(part, seconds, rounds, limit=4 * seconds * rounds + LIMIT)
    return found


def gradient_steps(seconds: float, rounds: int) -> Results:
    """Return the gradient steps per second of both sides, alternating in this process."""
    return update_rates({OURS: _our_update(), SB3: _sb3_update()}, seconds, rounds)


def update_rates(sides: Mapping[str, Callable[[], object]], seconds: float, rounds: int) -> Results:
    """Return how often per second each side updates with one thread, alternating, and the ratio of the medians."""
    import torch

    torch.set_num_threads(1)
    for update in sides.values():
        _rate(update, seconds / 2)
    samples = alternate({side: partial(_rate, update, seconds) for side, update in sides.items()}, rounds)
    rates = {side: summary_of(found) for side, found in samples.items()}
    return {**rates, "ratio": rates[OURS]["median"] / rates[SB3]["median"]}


def _rate(update: Callable[[], object], seconds: float) -> float:
    """Return how often per second `update` can be called."""

    def several() -> int:
        for _ in range(CALLS):
            update()
        return CALLS

    return rate_of(several, seconds)


def _task(observation: Field) -> Task:
    return Task(spec="random", name="random", title="", factory="", observation=observation, num_actions=ACTIONS)


def random_replay(task: Task, capacity: int, *, stack: int = 1) -> tuple[Any, Array]:
    """Return a full replay of random transitions, and its observations `(S, R, *shape)`."""
    from pac.training.replay.replay import Replay
    from pac.training.replay.settings import ReplaySettings

    random, observation = np.random.default_rng(0), task.observation
    settings = ReplaySettings(capacity, stack=stack)
    slots = settings.slots(ROWS)
    buffer = Layout(task, ROWS, slots, ring=True).map()
    replay = Replay(task, buffer, settings, seed=0)
    buffer["active"][:] = DECIDES
    buffer["frames"][:] = 1
    shape = buffer["action"].shape
    buffer["action"][:] = random.uniform(-1, 1, shape) if task.bounds else random.integers(0, task.num_actions, shape)
    buffer["reward"][:] = random.normal(size=buffer["reward"].shape)
    buffer["terminated"][:] = random.random(buffer["terminated"].shape) < 1 / 200
    buffer["episode"][0] = 0
    for slot in range(slots):
        shape = buffer["observation"][slot].shape
        is_bytes = observation.dtype == "uint8"
        buffer["observation"][slot] = random.integers(0, 256, shape) if is_bytes else random.normal(size=shape)
        buffer["episode"][0] += buffer["terminated"][slot]
        replay.add()
    return replay, buffer["observation"]


def _our_update() -> Callable[[], object]:
    import torch

    from pac.training.device import keep_memory
    from pac.training.dqn.learner import QLearner
    from pac.training.dqn.settings import DqnSettings

    keep_memory()
    observation = Field("observation", "float32", (INPUTS,), per="seat")
    settings = DqnSettings(batch=BATCH, hidden=HIDDEN, layers=2, double=False, huber_loss=True)
    learner = QLearner(_task(observation), settings, torch.device("cpu"), 0)
    learner.source.open(random_replay(_task(observation), TRANSITIONS)[0])
    return lambda: learner.update(0)


def _sb3_update() -> Callable[[], object]:
    from stable_baselines3 import DQN
    from stable_baselines3.common.logger import configure

    model = DQN(
        "MlpPolicy",
        "CartPole-v1",
        learning_rate=2.5e-4,
        batch_size=BATCH,
        buffer_size=TRANSITIONS,
        policy_kwargs={"net_arch": [HIDDEN, HIDDEN]},
        seed=0,
        device="cpu",
    )
    model.set_logger(configure(format_strings=[]))
    random, buffer = np.random.default_rng(0), model.replay_buffer
    assert buffer is not None
    for _ in range(TRANSITIONS):
        before, after = random.normal(size=(2, 1, INPUTS)).astype("f4")
        action, done = random.integers(0, ACTIONS, (1, 1)), random.random(1) < 1 / 200
        buffer.add(before, after, action, random.normal(size=1), done, [{}])
    model.policy.set_training_mode(mode=True)
    # One step a call is how SB3 trains with its default settings; it logs after every call.
    return lambda: model.train(gradient_steps=1, batch_size=BATCH)


def replay(seconds: float, rounds: int) -> Results:
    """Return the memory of a replay of images, and the speed of gathering stacks relative to a copy."""
    from pac.training.device import keep_memory
    from pac.training.replay.settings import ReplaySettings

    keep_memory()
    observation = Field("observation", "uint8", IMAGE, per="seat")
    task, settings = _task(observation), ReplaySettings(CAPACITY, stack=FRAMES)
    slots = settings.slots(ROWS)
    beside = sum(
        int(np.prod(spec.shape)) * np.dtype(spec.dtype).itemsize for spec in settings.specs(task, slots, ROWS).values()
    )
    before = _resident()
    made, stored = random_replay(task, CAPACITY // SHARE, stack=FRAMES)
    taken = _resident() - before
    batch = made.sample(GATHERED)
    assert batch.frames is not None
    sizes = {"stacks": batch.observations.nbytes + batch.following.nbytes, "frames": batch.frames.nbytes}
    source, copy = stored.reshape(-1), np.empty(sizes["stacks"], np.uint8)
    random = np.random.default_rng(1)

    def plain_copy(size: int) -> None:
        start = int(random.integers(0, len(source) - size))
        np.copyto(copy[:size], source[start : start + size])

    work: dict[str, Callable[[], object]] = {
        "batches": lambda: made.sample(GATHERED),
        **{name: partial(plain_copy, size) for name, size in sizes.items()},
    }
    rates = alternate({name: partial(_rate, one, seconds / 4) for name, one in work.items()}, rounds)
    shares = {f"share_of_copy_{name}": ratios_of(rates["batches"], rates[name])["ratio"] for name in sizes}
    return {
        "bytes": Layout(task, ROWS, slots, ring=True).size + beside,
        "bytes_measured": taken * SHARE,
        "batches_per_second": summary_of(rates["batches"]),
        "gathered_bytes_per_second": sizes["stacks"] * summary_of(rates["batches"])["median"],
        **shares,
    }


def _resident() -> int:
    """Return the memory of this process, in bytes."""
    import psutil

    return int(psutil.Process().memory_info().rss)
