"""Plays a fixed set of episodes with a trained policy, and computes success, steps to success, and return.

`pac-tui eval` and evaluations during a training play the same episodes with the same seeds. As a program, it evaluates
the policies that a session sends while it trains: a request is a line of JSON on stdin that names a file of weights,
the answer is a line of JSON on stdout.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..envs import Task, episode_seed, find
from ..envs.fields import Array, Buffers
from ..envs.gym.adapted import SEED_BITS
from ..envs.safetensors_file import map_tensors
from ..envs.slots import next_slot
from ..envs.spaces.infos import ADAPTED
from ..envs.unknown import UNKNOWN, is_unknown
from .asked import begin_to_answer
from .config import Config
from .loading import effective_settings, task_of, trainer_of
from .lone_training import LoneTraining, maker
from .past.episode import Episode
from .past.history import RerunSpan
from .past.rebuilding import rebuilt
from .runs.checkpoint import PREFIX as STEP
from .runs.checkpoint import Checkpoint, load_newest
from .runs.folder import CHECKPOINTS, RunFolder
from .runs.identity import check_identity, run_identity
from .trainer import Context, Envs, Timer, Trainer
from .trainers import build_player, transformed_task

STAGE = "stage"
"""The info field with the number of stages that an episode has reached."""
SUCCESS = "is_success"
"""The info field by which environments without good outcomes say that an episode succeeded."""
PREFIX = "eval/"
"""What the names of these metrics begin with in a training."""
MARGIN = 1.96
"""Standard errors between the mean and the ends of a 95 % confidence interval."""
ENVIRONMENTS = 64
"""The most environments that are stepped at once. With more episodes, each plays several."""
SEED = 0x5EED_0000
"""Added to the run's seed, so that evaluations play other episodes than the training."""
MASK_63 = (1 << 63) - 1


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode that a policy played.

    Attributes:
        env: The number of its environment.
        number: Its number among the episodes of that environment.
        returns: The return of each seat.
        length: Steps.
        outcome: 0, or 1 + the index into the task's outcomes.
        info: The task's scalars at its end; of a field per seat, that of the first seat.
        steps: Its steps, to replay it; None if they were not kept.
    """

    env: int
    number: int
    returns: tuple[float, ...]
    length: int
    outcome: int
    info: Mapping[str, float]
    truncated: bool = False
    steps: RerunSpan | None = None

    def succeeded(self, task: Task) -> bool | None:
        """Whether it had a good outcome, or `SUCCESS` in its info; None if the task has neither."""
        good = [number for number, outcome in enumerate(task.outcomes, 1) if outcome.tone == "good"]
        if good:
            return self.outcome in good
        return self.info[SUCCESS] > 0 if SUCCESS in self.info else None


def evaluation_seed(seed: int) -> int:
    """Return the seed of the environments that evaluate a run whose seed is `seed`."""
    return (seed + SEED) & MASK_63


def play_episodes(
    name: str,
    task: Task,
    settings: Mapping[str, Any],
    state: tuple[Mapping[str, Any], Mapping[str, Any]],
    *,
    episodes: int,
    seed: int,
    greedy: bool = True,
    keep: bool = False,
    environments: int | None = None,
    build: Callable[..., Trainer] = build_player,
    on_progress: Callable[[int], None] = lambda _played: None,
) -> list[PlayedEpisode]:
    """Play a fixed set of episodes, all to their end, so that short ones are not preferred.

    These are the first episodes of `ENVIRONMENTS` environments, or of as many as episodes, equally many of each.

    Args:
        name: The trainer.
        settings: The trainer's settings.
        state: What `Trainer.policy_state` returned.
        seed: Seed of the environments. The same seed gives the same beginnings.
        greedy: Whether to take the most likely actions instead of sampling.
        keep: Whether to keep their steps, to replay them.
        environments: The most environments; `ENVIRONMENTS` by default.
        build: Makes the player, called as `build_player`.
        on_progress: Called with how many episodes have ended.
    """
    context = Context(task, settings, "cpu", seed, Timer())
    count = min(episodes, environments or ENVIRONMENTS)
    kept = KeptSteps(task, count) if keep else None
    made = maker(task, seed=seed)
    make = made if kept is None else lambda num_envs, spec: KeepingEnvs(made(num_envs, spec), kept)
    wanted, ended = [len(range(env, episodes, count)) for env in range(count)], [0] * count
    found: list[PlayedEpisode] = []
    player = build(name, context, greedy=greedy)
    with closing(LoneTraining(player, make)) as playing:
        envs = playing.open(count)
        player.load_state(*state)
        while len(found) < episodes:
            head = envs.order.head
            player.iterate()
            # A rollout has just been carried, so all of its slots but the first are those of this iteration.
            for slots in [span.written for span in envs.order.since(head)] or [slice(1, None)]:
                for slot, env in _ends(task, envs, slots):
                    if ended[env] < wanted[env]:
                        steps = kept.take(env, ended[env]) if kept is not None else None
                        found.append(replace(_played(task, envs, slot, env, ended[env]), steps=steps))
                        ended[env] += 1
            on_progress(len(found))
    return sorted(found, key=lambda episode: (episode.env, episode.number))


class KeptSteps:
    """The steps of all environments, of which episodes are taken one after the other.

    Args:
        task: What is played.
        count: Number of environments.
    """

    def __init__(self, task: Task, count: int) -> None:
        self._task = task
        self._steps: list[tuple[Array, Array, Array]] = []
        self._taken = [0] * count

    def add(self, buffer: Buffers, slot: int) -> None:
        """Copy the actions of a slot, and the rewards and ends that followed."""
        after, players = next_slot(slot, len(buffer["action"])), self._task.players
        terminated, truncated = (buffer[name][after, ::players] > 0 for name in ("terminated", "truncated"))
        ends = np.where(terminated, 1, 2 * truncated).astype(np.uint8)
        self._steps.append((buffer["action"][slot].copy(), buffer["reward"][after].copy(), ends))

    def take(self, env: int, number: int) -> RerunSpan:
        """Return the first episode of an environment that was not taken."""
        begin, seats = self._taken[env], slice(env * self._task.players, (env + 1) * self._task.players)
        ends = np.array([ends[env] for _, _, ends in self._steps[begin:]])
        self._taken[env] = end = begin + int((ends > 0).argmax()) + 1
        steps = self._steps[begin:end]
        return RerunSpan(
            env=env,
            episode=number,
            first=0,
            state=None,
            terms=np.zeros((self._task.players, len(self._task.reward_terms)), np.float32),
            actions=np.array([actions[seats] for actions, _, _ in steps]),
            rewards=np.array([rewards[seats] for _, rewards, _ in steps]),
            ends=ends[: end - begin],
            prints=np.zeros(0, np.uint64),
        )


class KeepingEnvs:
    """Environments whose steps are kept.

    Args:
        envs: The environments.
    """

    def __init__(self, envs: Envs, kept: KeptSteps) -> None:
        self._envs, self._kept = envs, kept

    def advance(self, slot: int) -> None:
        """Step all environments."""
        self._envs.advance(slot)
        self._kept.add(self._envs.buffer, slot)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)


def _ends(task: Task, envs: Envs, slots: slice) -> list[tuple[int, int]]:
    """Return the slot and the environment of each end of an episode in some slots, in order."""
    buffer, players = envs.buffer, task.players
    ended = (buffer["terminated"][slots, ::players] | buffer["truncated"][slots, ::players]) > 0
    return [((slots.start or 0) + step, env) for step, env in np.argwhere(ended).tolist()]


def _played(task: Task, envs: Envs, slot: int, env: int, number: int) -> PlayedEpisode:
    buffer, row = envs.buffer, env * task.players
    info = {
        item.name: float(buffer[item.name][slot if item.timed else 0, row if item.per == "seat" else env])
        for item in task.info
        if not item.shape
    }
    return PlayedEpisode(
        env,
        number,
        tuple(buffer["episode_return"][slot, row : row + task.players].tolist()),
        int(buffer["episode_length"][slot, env]),
        int(buffer["outcome"][slot, env]),
        info,
        bool(buffer["truncated"][slot, row]) and not buffer["terminated"][slot, row],
    )


def evaluation_metrics(task: Task, episodes: Sequence[PlayedEpisode]) -> dict[str, float]:
    """Return the metrics of some episodes by name, those that the task has.

    `return` is the mean return of a seat, with `return_low` and `return_high`, the ends of its 95 % confidence
    interval. `success` is the share of episodes with a good outcome, `steps_to_success` their median length. There is
    also the share of each outcome, and `stage/K`, the share that reached stage K.
    """
    returns = np.array([np.mean(episode.returns) for episode in episodes])
    margin = MARGIN * float(returns.std(ddof=1)) / math.sqrt(len(returns)) if len(returns) > 1 else UNKNOWN
    mean = float(returns.mean())
    found = {"return": mean, "return_low": mean - margin, "return_high": mean + margin}
    found["length"] = float(np.mean([episode.length for episode in episodes]))
    succeeded = [episode.succeeded(task) for episode in episodes]
    if any(one is not None for one in succeeded):
        found["success"] = sum(map(bool, succeeded)) / len(episodes)
        if any(succeeded):
            lengths = [episode.length for episode, one in zip(episodes, succeeded, strict=True) if one]
            found["steps_to_success"] = float(median(lengths))
    for number, outcome in enumerate(task.outcomes, 1):
        found[f"outcome/{outcome.name}"] = np.mean([episode.outcome == number for episode in episodes]).item()
    for stage in _stages(task):
        found[f"stage/{stage}"] = np.mean([episode.info[STAGE] >= stage for episode in episodes]).item()
    return {name: value for name, value in found.items() if not is_unknown(value)}


def evaluation_names(task: Task) -> list[str]:
    """Return the names of all metrics that episodes of a task may have."""
    names = ["return", "return_low", "return_high", "length", "success", "steps_to_success"]
    names += [f"outcome/{outcome.name}" for outcome in task.outcomes]
    return names + [f"stage/{stage}" for stage in _stages(task)]


def _stages(task: Task) -> range:
    """Return the numbers of the stages that an episode can reach."""
    stages = next((item for item in task.info if item.name == STAGE and math.isfinite(item.high)), None)
    return range(1, int(stages.high) + 1 if stages is not None else 0)


@dataclass(frozen=True)
class EvaluatedRun:
    """An evaluation of a run.

    Attributes:
        report: The report of `pac-tui eval`.
        task: What was played.
        seed: The seed of the environments.
    """

    report: dict[str, Any]
    task: Task
    seed: int
    played: Sequence[PlayedEpisode]


def load_policy(
    config: Config, run: RunFolder, folder: str = CHECKPOINTS
) -> tuple[str, Task, dict[str, Any], Checkpoint]:
    """Return the trainer of a run, its task and settings, and its checkpoint in `folder` that is configured.

    Raises:
        BadParameter: The run has another task or trainer.
        NoCheckpoint: There is no valid checkpoint.
    """
    name, game, settings = trainer_of(config), task_of(config), effective_settings(config)
    task = transformed_task(name, game, settings)
    identity = run_identity(task, name)
    check_identity(run, identity)

    def take(found: Checkpoint) -> None:
        with closing(build_player(name, Context(task, settings, "cpu", 0, Timer()), greedy=config.greedy)) as player:
            player.load_state(found.tensors, found.data["data"])

    return name, task, settings, load_newest(run.entry(folder), identity, {"data": dict}, take, config.checkpoint)


def evaluate_run(
    config: Config, *, episodes: int, keep: bool = False, on_progress: Callable[[int], None] = lambda _played: None
) -> EvaluatedRun:
    """Play episodes with a checkpoint of the run `config.resume`.

    Args:
        keep: Whether to keep their steps, to replay them.
        on_progress: Called with how many episodes have ended.

    Raises:
        BadParameter: The run has another task or trainer.
        NoCheckpoint: There is no valid checkpoint.
    """
    run = RunFolder.find(config.runs_dir, str(config.resume))
    name, task, settings, loaded = load_policy(config, run)
    seed = evaluation_seed(config.seed)
    played = play_episodes(
        name,
        task,
        settings,
        (loaded.tensors, loaded.data["data"]),
        episodes=episodes,
        seed=seed,
        greedy=config.greedy,
        keep=keep,
        on_progress=on_progress,
    )
    metrics = evaluation_metrics(task, played)
    report = {
        "run": run.name,
        "task": task.spec,
        "trainer": name,
        "steps": loaded.step,
        "sampled": not config.greedy,
        "seed": seed,
        "episodes": episodes,
        "return_mean": metrics.get("return"),
        "evaluation": metrics,
        "played": [
            {
                "environment": episode.env + 1,
                "episode": episode.number + 1,
                "seed": reset_seed(task, seed, episode),
                "returns": episode.returns,
                "length": episode.length,
                "outcome": task.outcomes[episode.outcome - 1].name if episode.outcome else None,
                "success": episode.succeeded(task),
            }
            for episode in played
        ],
        "skipped": loaded.skipped,
    }
    return EvaluatedRun(report, task, seed, played)


def episodes_by_checkpoint(
    config: Config, on_progress: Callable[[str, float], object] = lambda _text, _share: None
) -> list[tuple[int, Episode]]:
    """Return the same episode as every kept checkpoint of the run `config.resume` plays it, by step, oldest first.

    The episode is the first of an environment with the seed `config.seed`.

    Raises:
        BadParameter: The run has another task or trainer.
        NoCheckpoint: There is no valid checkpoint.
    """
    name, game, settings = trainer_of(config), task_of(config), effective_settings(config)
    task = transformed_task(name, game, settings)
    run = RunFolder.find(config.runs_dir, str(config.resume))
    identity = run_identity(task, name)
    check_identity(run, identity)
    steps = [int(entry.removeprefix(STEP)) for entry in sorted(run.entry(CHECKPOINTS).names("step-*"))]
    found = []
    for index, step in enumerate(steps):
        on_progress(f"checkpoint {index + 1} of {len(steps)}", index / len(steps))
        saved = load_newest(run.entry(CHECKPOINTS), identity, {"data": dict}, choice=str(step))
        state = saved.tensors, saved.data["data"]
        played = play_episodes(
            name, task, settings, state, episodes=1, seed=config.seed, greedy=config.greedy, keep=True
        )
        span = played[0].steps
        assert span is not None
        found.append((step, rebuilt(task, config.seed, span.env, span, run.name)))
    if not found:
        load_newest(run.entry(CHECKPOINTS), identity)  # which says why there is none
    return found


def reset_seed(task: Task, seed: int, episode: PlayedEpisode) -> int:
    """Return the seed of an episode; of an adapted environment, what its `reset` got."""
    full = episode_seed(seed, episode.env, episode.number)
    return full & SEED_BITS if task.factory.startswith(ADAPTED) else full


def serve() -> None:
    """Answer requests until stdin is closed."""
    import torch

    torch.set_num_threads(1)
    os.nice(10)  # the training goes first
    setup, answers = begin_to_answer("evaluation")
    task = find(setup["task"])
    settings = {**setup["settings"], **({"threads": 1} if "threads" in setup["settings"] else {})}
    for line in sys.stdin:
        request = json.loads(line)
        with Path(request["weights"]).open("rb") as file:
            tensors, _ = map_tensors(file, writable=True)
        state = {name: torch.from_numpy(array) for name, array in tensors.items()}, request["data"]
        played = play_episodes(setup["trainer"], task, settings, state, episodes=setup["episodes"], seed=setup["seed"])
        print(json.dumps({**request, "metrics": evaluation_metrics(task, played)}), file=answers, flush=True)


if __name__ == "__main__":
    serve()
