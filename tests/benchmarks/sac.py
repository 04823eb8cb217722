"""Measures SAC against that of Stable-Baselines3: its gradient steps, and what it learns.

python -m tests.benchmarks sac
python -m tests.benchmarks returns FOLDER
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

import numpy as np

from pac.envs import Field, Task
from pac.training.bench.facts import Progress, Results
from pac.training.bench.measured_process import results_of
from pac.training.config import Config

from .dqn import LIMIT, OURS, SB3, TRANSITIONS, random_replay, update_rates
from .learning import OURS as OUR_SIDE
from .learning import SB3 as SB3_SIDE
from .learning import points_of
from .learning_checks import Checks

NUMBERS, ACTIONS = 17, 6
"""Those of HalfCheetah-v5."""
LAST = 3
"""Checks at the end of a training whose mean is its return."""
CHECKS = 10
TASKS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5")


def measure_sac(*, seconds: float = 3.0, rounds: int = 7, progress: Progress) -> Results:
    """Measure gradient steps.

    Args:
        seconds: Length of each measurement.
        rounds: Measurements of each, alternating.
        progress: Called with the current measurement.

    Returns:
        `gradient_steps`, per s, of both sides with one thread, the same networks, batch and settings.

    Raises:
        MeasurementFailed: A measurement failed, for instance because the extra `[peers]` is missing.
    """
    progress("SAC, gradient steps", 0.0)
    return {"gradient_steps": results_of(gradient_steps, seconds, rounds, limit=4 * seconds * rounds + LIMIT)}


def gradient_steps(seconds: float, rounds: int) -> Results:
    """Return the gradient steps per second of both sides, alternating in this process."""
    return update_rates({OURS: _our_update(), SB3: _sb3_update()}, seconds, rounds)


def _our_update() -> Callable[[], object]:
    import torch

    from pac.training.device import keep_memory
    from pac.training.sac.learner import SacLearner
    from pac.training.sac.settings import SacSettings

    keep_memory()
    observation, bounds = Field("observation", "float32", (NUMBERS,), per="seat"), ((-1.0, 1.0),) * ACTIONS
    task = Task(
        spec="random",
        name="random",
        title="",
        factory="",
        observation=observation,
        num_actions=ACTIONS,
        bounds=bounds,
    )
    learner = SacLearner(task, SacSettings(), torch.device("cpu"), 0)
    learner.source.open(random_replay(task, TRANSITIONS)[0])
    return lambda: learner.update(0)


def _sb3_update() -> Callable[[], object]:
    import gymnasium
    from gymnasium.spaces import Box
    from stable_baselines3 import SAC
    from stable_baselines3.common.logger import configure

    class Nothing(gymnasium.Env[np.ndarray, np.ndarray]):
        observation_space = Box(-np.inf, np.inf, (NUMBERS,), np.float32)
        action_space = Box(-1, 1, (ACTIONS,), np.float32)

    model = SAC("MlpPolicy", Nothing(), buffer_size=TRANSITIONS, seed=0, device="cpu")
    model.set_logger(configure(format_strings=[]))
    random, buffer = np.random.default_rng(0), model.replay_buffer
    assert buffer is not None
    for _ in range(TRANSITIONS):
        before, after = random.normal(size=(2, 1, NUMBERS)).astype("f4")
        action, done = random.uniform(-1, 1, (1, ACTIONS)).astype("f4"), random.random(1) < 1 / 200
        buffer.add(before, after, action, random.normal(size=1), done, [{}])
    model.policy.set_training_mode(mode=True)
    # One step a call is how SB3 trains with its default settings; it logs after every call.
    return lambda: model.train(gradient_steps=1, batch_size=256)


def compare_returns(
    folder: Path, *, tasks: Sequence[str] = TASKS, seeds: int = 3, steps: int = 100_000, progress: Progress
) -> Results:
    """Train both sides with the same seeds, alternately, each training in a process of its own with one thread.

    Args:
        folder: Gets a file for each training that has ended; such trainings are not repeated.
        tasks: Gymnasium environments.
        seeds: Trainings of each side on each task.
        steps: Decisions of a training.
        progress: Called with the current measurement.

    Returns:
        `rows`: for each task the median returns of both sides with their seeds' `low` and `high`, seconds of
        training in the median, and the ratio of returns above 0. A training's return is the mean of its last `LAST`
        checks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trainings = [(task, seed, side) for task in tasks for seed in range(seeds) for side in (OUR_SIDE, SB3_SIDE)]
    found: dict[tuple[str, str], list[list[Results]]] = {}
    for number, (task, seed, side) in enumerate(trainings):
        file = folder / f"{task}-{steps}-{side}-{seed}.json"
        progress(f"{task}, seed {seed}, {side}", number / len(trainings))
        if not file.exists():
            config = Config(task=task, trainer="sac", steps=steps, seed=seed, num_envs=1)
            points = list(points_of(side, config, Checks(steps, steps / CHECKS)))
            file.write_text(json.dumps(points))
        found.setdefault((task, side), []).append(json.loads(file.read_text()))
    rows = []
    for task in tasks:
        sides = {side: _summary(found[task, side]) for side in (OUR_SIDE, SB3_SIDE)}
        ours, theirs = (sides[side]["median"] for side in (OUR_SIDE, SB3_SIDE))
        rows.append({"task": task, **sides, "ratio": ours / theirs if min(ours, theirs) > 0 else None})
    return {"steps": steps, "seeds": seeds, "rows": rows}


def _summary(trainings: Sequence[Sequence[Results]]) -> Results:
    returns = [fmean(point["mean"] for point in points[-LAST:]) for points in trainings]
    return {
        "median": median(returns),
        "low": min(returns),
        "high": max(returns),
        "cpu_seconds": median(points[-1]["cpu_seconds"] for points in trainings),
    }
