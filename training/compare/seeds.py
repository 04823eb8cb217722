"""Two policies on the same seeds: returns, lengths and outcomes of both, where they part, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter, PacError, Task
from ...envs.errors import brief
from ...envs.trust import Vouch
from ..config import Config
from ..loading import load, task_of
from ..playing import PlayedEpisode, evaluation_seed, load_policy, play_episodes, reset_seed
from ..runs.folder import CHECKPOINTS, PAST, RunFolder
from ..trainer import Context, Trainer
from ..trainers import trainer_kind
from .pairing import RANDOM, SavedPolicy, random_policy
from .statistics import Paired, paired

MOST_SEEDS = 1_000
PAUSED = "paused"
"""The checkpoint that a paused session has written beside an episode, see `as_keep_past`."""


def split_name(name: str) -> tuple[str, str]:
    """Return the run and the checkpoint that `RUN@best`, `RUN@40960` or `RUN` names."""
    run, at, checkpoint = name.rpartition("@")
    return (run, checkpoint) if at and run else (name, "last")


def is_solver(name: str, runs_dir: Path) -> bool:
    """Whether a name is that of a run of a poker solver."""
    try:
        config = RunFolder.find(runs_dir, split_name(name)[0]).metadata().get("config", {})
    except PacError:
        return False
    return bool(config.get("trainer") == "mccfr")


def saved_policy(name: str, runs_dir: Path, vouch: Vouch, *, greedy: bool = True) -> tuple[SavedPolicy, Task]:
    """Return the policy that `RUN`, `RUN@best` or `RUN@40960` names, and its task.

    Raises:
        NotTrusted: `vouch` refused what the run names.
        PacError: There is no such run, or see `policy_of`.
    """
    run, checkpoint = split_name(name)
    paused = checkpoint == PAUSED
    flags = {"runs_dir": runs_dir, "checkpoint": "last" if paused else checkpoint}
    config = load(flags, vouch=vouch, resume=run, learn=False, greedy=greedy).config
    return policy_of(config, f"{Path(run).name}@{checkpoint}" if Path(run).name != run else name, paused=paused)


def policy_of(config: Config, label: str, *, paused: bool = False) -> tuple[SavedPolicy, Task]:
    """Return the policy of a run's checkpoint, and its task.

    Raises:
        BadParameter: It has no policy that plays episodes, such as the strategy of a poker solver.
        NoCheckpoint: There is no valid checkpoint.
    """
    run = RunFolder.find(config.runs_dir, str(config.resume))
    if config.trainer == RANDOM:
        return random_policy(label), task_of(config)
    if config.trainer and not trainer_kind(config.trainer).player:
        raise BadParameter(f"{label} is a run of {config.trainer}, whose policy plays no episodes: compare other runs")
    trainer, task, settings, loaded = load_policy(config, run, PAST if paused else CHECKPOINTS)
    return SavedPolicy(label, trainer, settings, (loaded.tensors, loaded.data["data"]), loaded.step), task


def common_task(names: Sequence[str], tasks: Sequence[Task]) -> Task:
    """Return the task of both.

    Raises:
        BadParameter: They differ.
    """
    one, other = tasks
    if (one.spec, one.version) != (other.spec, other.version):
        raise BadParameter(
            f"both must play the same task: {names[0]} plays {brief(one.spec)}, {names[1]} plays {brief(other.spec)}"
        )
    return one


@dataclass(frozen=True)
class Pair:
    """What both got on a seed.

    Attributes:
        env: The number of the environment, whose first episode it is.
        parting: The first step at which the actions differ; None if they never do.
    """

    env: int
    a: PlayedEpisode
    b: PlayedEpisode
    parting: int | None

    @property
    def difference(self) -> float:
        """By how much B's return is higher; of several seats, that of the mean."""
        return float(np.mean(self.b.returns) - np.mean(self.a.returns))


@dataclass(frozen=True)
class Comparison:
    """Two policies on the same seeds.

    Attributes:
        policies: A and B.
        seed: The seed of the environments.
        pairs: One per seed, in the order of the environments.
    """

    task: Task
    policies: tuple[SavedPolicy, SavedPolicy]
    seed: int
    greedy: bool
    pairs: Sequence[Pair]

    @cached_property
    def ranked(self) -> list[Pair]:
        """The pairs, the largest difference first, in whichever direction."""
        return sorted(self.pairs, key=lambda pair: (-abs(pair.difference), pair.parting is None, pair.env))

    @cached_property
    def figures(self) -> dict[str, tuple[float, float, Paired]]:
        """The means of both and the paired difference of each figure that the task has."""
        columns: dict[str, list[tuple[float, float]]] = {
            "return": [(float(np.mean(pair.a.returns)), float(np.mean(pair.b.returns))) for pair in self.pairs],
            "length": [(pair.a.length, pair.b.length) for pair in self.pairs],
        }
        succeeded = [(pair.a.succeeded(self.task), pair.b.succeeded(self.task)) for pair in self.pairs]
        if all(one is not None and other is not None for one, other in succeeded):
            columns["success"] = [(float(bool(one)), float(bool(other))) for one, other in succeeded]
        found = {}
        for name, values in columns.items():
            both: NDArray[np.float64] = np.array(values, np.float64)
            differences = paired(both[:, 1] - both[:, 0], shares=name == "success")
            found[name] = float(both[:, 0].mean()), float(both[:, 1].mean()), differences
        return found

    def outcome(self, episode: PlayedEpisode) -> str:
        """Return the name of an outcome; empty if the task has none."""
        return self.task.outcomes[episode.outcome - 1].name if episode.outcome else ""

    def plain(self) -> dict[str, Any]:
        """Return all of this for JSON; a difference is B - A."""
        return {
            "task": self.task.spec,
            "seed": self.seed,
            "sampled": not self.greedy,
            "policies": [
                {"name": policy.label, "trainer": policy.trainer, "steps": policy.steps} for policy in self.policies
            ],
            "figures": {name: {"a": a, "b": b, **asdict(found)} for name, (a, b, found) in self.figures.items()},
            "seeds": [
                {
                    "environment": pair.env + 1,
                    "seed": reset_seed(self.task, self.seed, pair.a),
                    "parting": pair.parting,
                    "difference": pair.difference,
                    **{
                        name: {
                            "returns": episode.returns,
                            "length": episode.length,
                            "outcome": self.outcome(episode) or None,
                        }
                        for name, episode in (("a", pair.a), ("b", pair.b))
                    },
                }
                for pair in self.ranked
            ],
        }


def compare(
    task: Task,
    policies: tuple[SavedPolicy, SavedPolicy],
    *,
    seeds: int,
    seed: int,
    greedy: bool = True,
    on_progress: Callable[[int], None] = lambda _played: None,
) -> Comparison:
    """Have both policies play the same seeds, each to the end; up to 64 are the episodes of `pac-tui eval`.

    Args:
        seeds: How many.
        seed: The run's seed, see `evaluation_seed`.
        on_progress: Called with how many episodes have ended, of both together.
    """
    found: list[list[PlayedEpisode]] = []
    for index, policy in enumerate(policies):

        def build(_name: str, context: Context, *, greedy: bool, policy: SavedPolicy = policy) -> Trainer:
            return policy.player(context, greedy=greedy)

        found.append(
            play_episodes(
                policy.trainer,
                task,
                policy.settings,
                policy.state,
                episodes=seeds,
                seed=evaluation_seed(seed),
                greedy=greedy,
                keep=True,
                environments=MOST_SEEDS,
                build=build,
                on_progress=partial(_add, on_progress, index * seeds),
            )
        )
    pairs = [Pair(env, a, b, _parting(a, b)) for env, (a, b) in enumerate(zip(*found, strict=True))]
    return Comparison(task, policies, evaluation_seed(seed), greedy, pairs)


def _add(on_progress: Callable[[int], None], before: int, played: int) -> None:
    on_progress(before + played)


def _parting(a: PlayedEpisode, b: PlayedEpisode) -> int | None:
    """Return the first step at which the actions differ; None if none does."""
    assert a.steps is not None
    assert b.steps is not None
    count = min(len(a.steps.actions), len(b.steps.actions))
    one, other = (steps.actions[:count].reshape(count, -1) for steps in (a.steps, b.steps))
    differs = (one != other).any(axis=1)
    return int(differs.argmax()) if differs.any() else None
