"""Measures the return of a policy during training, with several seeds, each in its own process.

All environments are in that process, and PyTorch has one thread. So only the seconds depend on the number of cores and
on their load.

    python -m tests.benchmarks learning --task CartPole-v1 --steps 100000
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from statistics import fmean, median
from typing import Any

from pac.backends.core.status import WorkerState
from pac.backends.system.segment import own_directory
from pac.envs import BadParameter, Task, find
from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.measured_process import MeasurementFailed, last_line
from pac.training.config import Config
from pac.training.loading import effective_settings, trainer_of
from pac.training.lone_training import LoneTraining, maker
from pac.training.playing import play_episodes
from pac.training.session.gate import Gate
from pac.training.session.trainer_processes import ProcessSupervisor
from pac.training.telemetry.events import EventLog
from pac.training.trainer import Context, Timer, Trainer
from pac.training.trainers import build_trainer

from .learning_checks import EPISODES, PLAYED_SEED, Checks, LearningCurve, Report
from .learning_peers import CLEANRL_SETTINGS, SB3_SETTINGS, train_cleanrl, train_sb3

TRAINERS = ("ppo", "dqn", "iqn", "sac", "independent")
NUM_ENVS = 8
CHECKS = 20
"""Checks of a training by default."""
OURS, SB3, CLEANRL = "pac-tui", "SB3", "CleanRL"
DQN = ("dqn", "independent")
"""Trainers that are compared with CleanRL's DQN."""
CLEANRL_TRAINS = (*DQN, "ppo")
START_LIMIT = 120.0
"""Seconds in which all processes must have started."""
POLL = 0.05


class ProcessesAlone:
    """Starts and supervises the processes of a trainer. Their gate is always open.

    Args:
        task: The task of the training.

    Attributes:
        start: Starts processes, see `pac.training.trainer.StartProcesses`.
    """

    def __init__(self, task: Task) -> None:
        self._gate = Gate(own_directory())
        self._supervisor = ProcessSupervisor(task, own_directory(), EventLog())
        self.start = self._supervisor.start

    def wait_until_ready(self) -> None:
        """Wait until all processes run, so that their imports do not count as training.

        Raises:
            ProcessFailed: A process failed.
            MeasurementFailed: They did not start within `START_LIMIT` seconds.
        """
        end = time.monotonic() + START_LIMIT
        while any(status.state == WorkerState.STARTING for status in self._supervisor.statuses()):
            self.check()
            if time.monotonic() > end:
                raise MeasurementFailed(f"the learners did not start within {START_LIMIT:.0f} s")
            time.sleep(POLL)

    def check(self) -> None:
        self._supervisor.poll()
        self._supervisor.check()

    def close(self) -> None:
        self._supervisor.close()
        self._gate.close()
        (own_directory() / "gate").unlink()


def learning(
    config: Config,
    *,
    seeds: int,
    goal: float | None = None,
    every: int | None = None,
    stop: bool = False,
    sb3: bool = False,
    cleanrl: bool = False,
    progress: Progress,
) -> Results:
    """Train with each seed, and play with the most likely actions from time to time.

    Args:
        config: The task, the settings, `steps` and the first seed.
        seeds: Number of seeds.
        goal: A mean return; the result contains when it was first reached.
        every: Decisions between two checks; by default, a training has `CHECKS`.
        stop: Whether to end a training when the goal is reached.
        sb3: Whether Stable-Baselines3 trains too, alternately.
        cleanrl: Whether a loop like CleanRL's trains too, alternately, with CleanRL's settings. With dqn and
            independent, pac-tui then has the same settings.
        progress: Called with the current measurement.

    Returns:
        For each of the `sides`: `runs`, whose `points` have decisions, seconds of training and mean return; `final`,
        the last mean returns of all seeds; `best`, their highest; and with a goal the medians `decisions`, `seconds`
        and `cpu_seconds` until it was reached, None if most seeds did not reach it.

    Raises:
        BadParameter: There is no limit of steps, the trainer is unknown, or a peer does not train it or the task.
        MeasurementFailed: A training failed.
    """
    if config.steps is None:
        raise BadParameter("a training needs an end; set --steps, for instance to 100000")
    if stop and goal is None:
        raise BadParameter("--stop ends trainings at a goal; set --goal, for instance to 475")
    checks = Checks(config.steps, every or config.steps / CHECKS, goal if stop else None)
    sides = _sides(config, sb3=sb3, cleanrl=cleanrl)
    if cleanrl and trainer_of(config) in DQN:
        config = config.model_copy(update={"settings": {**CLEANRL_SETTINGS, **config.settings}})
    runs: dict[str, list[Results]] = {side: [] for side in sides}
    for number in range(seeds * len(sides)):
        side, seed = sides[number % len(sides)], config.seed + number // len(sides)
        points: list[Results] = []
        for point in points_of(side, config.model_copy(update={"seed": seed}), checks):
            points.append(point)
            share = min(1.0, point["decisions"] / checks.steps)
            progress(f"{side}, seed {seed}, {point['mean']:g}", (number + share) / (seeds * len(sides)))
        runs[side].append({"seed": seed, "points": points})
    return {
        "task": config.task,
        "steps": config.steps,
        "every": checks.every,
        "num_envs": config.num_envs or NUM_ENVS,
        "settings": effective_settings(config),
        "goal": goal,
        "sides": {side: summary(found, goal) for side, found in runs.items()},
    }


def _sides(config: Config, *, sb3: bool, cleanrl: bool) -> list[str]:
    """Return the programs that train."""
    trainer = trainer_of(config)
    if trainer not in TRAINERS:
        raise BadParameter(f"learning is measured for the trainers {', '.join(TRAINERS)}, got {trainer}")
    if sb3 and (trainer, config.task) not in SB3_SETTINGS:
        known = ", ".join(f"{name} on {task}" for name, task in SB3_SETTINGS)
        raise BadParameter(f"--sb3 trains {known}, got {trainer} on {config.task}")
    if cleanrl and trainer in DQN and sb3:
        raise BadParameter("with dqn, --cleanrl trains both sides with CleanRL's settings: omit --sb3")
    if cleanrl and trainer not in CLEANRL_TRAINS:
        raise BadParameter(f"--cleanrl trains {' and '.join(CLEANRL_TRAINS)}, got {trainer}")
    return [OURS, *[SB3] * sb3, *[CLEANRL] * cleanrl]


def summary(runs: list[Results], goal: float | None) -> Results:
    """Return the results of the runs of one side; see `learning`."""
    means = [[point["mean"] for point in run["points"]] for run in runs]
    found: Results = {
        "runs": runs,
        "final": summary_of([mean[-1] for mean in means]),
        "best": summary_of(list(map(max, means))),
    }
    if goal is None:
        return found
    firsts = [next((point for point in run["points"] if point["mean"] >= goal), None) for run in runs]
    for key in ("decisions", "seconds", "cpu_seconds"):
        middle = median(first[key] if first else math.inf for first in firsts)
        found[key] = middle if middle < math.inf else None
    return found


def points_of(side: str, config: Config, checks: Checks) -> Iterator[Results]:
    """Train in a process of its own; yield its points."""
    command = [sys.executable, "-P", "-m", __spec__.name, side, config.model_dump_json(), json.dumps(asdict(checks))]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
        if process.wait():
            errors.seek(0)
            status = f"status {process.returncode}: {last_line(errors.read())}"
            raise MeasurementFailed(f"the training of {side} ended with {status}")


def train_ours(config: Config, checks: Checks, report: Report) -> None:
    """Train and report the points."""
    task, settings = find(config.spec), effective_settings(config) | {"threads": 1}
    name = trainer_of(config)
    with closing(ProcessesAlone(task)) as processes:
        context = Context(task, settings, "cpu", config.seed, Timer(), start_processes=processes.start)
        trainer = build_trainer(name, context)
        with closing(LoneTraining(trainer, maker(task, seed=config.seed))) as training:
            training.open(config.num_envs or NUM_ENVS)
            processes.wait_until_ready()
            curve = LearningCurve(checks, lambda: fmean(greedy_returns(name, task, settings, trainer)), report)
            while not curve.over:
                decisions = int(trainer.iterate().get("decisions", 0))  # unknown where nothing was learned yet
                processes.check()
                curve.add(decisions)


def greedy_returns(name: str, task: Task, settings: Mapping[str, Any], trainer: Trainer) -> list[float]:
    """Return the returns of all seats in the first episodes of `EPISODES` environments, with the likeliest actions."""
    played = play_episodes(name, task, settings, trainer.policy_state(), episodes=EPISODES, seed=PLAYED_SEED)
    return [value for episode in played for value in episode.returns]


def _train(side: str, config: Config, checks: Checks, report: Report) -> None:
    if side == SB3:
        train_sb3(trainer_of(config), config, checks, report)
    elif side == CLEANRL and trainer_of(config) in DQN:
        train_cleanrl(config, checks, report)
    elif side == CLEANRL:
        from .cleanrl_ppo import train_cleanrl_ppo

        train_cleanrl_ppo(config, checks, report)
    else:
        train_ours(config, checks, report)


if __name__ == "__main__":
    what, training, times = sys.argv[1:]
    _train(
        what,
        Config.model_validate_json(training),
        Checks(**json.loads(times)),
        lambda point: print(json.dumps(point), flush=True),
    )
