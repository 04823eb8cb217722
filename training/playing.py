"""Plays episodes with a trained policy, and computes success, steps to success, and return.

As a program, it evaluates the policies that a session sends while it trains: a request is a line of JSON on stdin that
names a file of weights, the answer is a line of JSON on stdout.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..backends import make
from ..backends.workers.worker import read_instructions
from ..envs import Task, find
from ..envs.safetensors_file import map_tensors
from .trainer import Context, Envs, Timer
from .trainers import build_player

STAGE = "stage"
"""The info field with the number of stages that an episode has reached."""
SUCCESS = "is_success"
"""The info field by which environments without good outcomes say that an episode succeeded."""
MARGIN = 1.96
"""Standard errors between the mean and the ends of a 95 % confidence interval."""


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode that a policy played.

    Attributes:
        returns: The return of each seat.
        length: Steps.
        outcome: 0, or 1 + the index into the task's outcomes.
        info: The task's scalars at its end; of a field per seat, that of the first seat.
    """

    returns: tuple[float, ...]
    length: int
    outcome: int
    info: Mapping[str, float]


def context_of(task: Task, settings: Mapping[str, Any], seed: int) -> tuple[Context, list[Envs]]:
    """Return a context whose environments are in this process, and the list of those that were made."""
    made: list[Envs] = []

    def envs(count: int, slots: int, **options: Any) -> Envs:
        made.append(make(task, count, "inline", slots=slots, seed=seed, **options))
        return made[-1]

    return Context(task, envs, settings, "cpu", seed, Timer()), made


def play_episodes(
    name: str,
    task: Task,
    settings: Mapping[str, Any],
    state: tuple[Mapping[str, Any], Mapping[str, Any]],
    *,
    episodes: int,
    seed: int,
) -> list[PlayedEpisode]:
    """Return the first episodes of as many environments, played with the most likely actions.

    Args:
        name: The trainer.
        task: The task.
        settings: The trainer's settings.
        state: What `Trainer.policy_state` returned.
        episodes: Number of episodes.
        seed: Seed of the environments. The same seed gives the same beginnings.
    """
    context, made = context_of(task, settings, seed)
    player = build_player(name, context)
    player.start(episodes)
    player.load_state(*state)
    found: dict[int, PlayedEpisode] = {}
    while len(found) < episodes:
        head = made[-1].order.head
        player.iterate()
        # A rollout has just been carried, so all of its slots but the first are those of this iteration.
        for slots in [span.written for span in made[-1].order.since(head)] or [slice(1, None)]:
            for env, episode in _ended(task, made[-1], slots):
                found.setdefault(env, episode)
    player.close()
    return [found[env] for env in sorted(found)]


def _ended(task: Task, envs: Envs, slots: slice) -> Iterator[tuple[int, PlayedEpisode]]:
    buffer, players = envs.buffer, task.players
    ended = (buffer["terminated"][slots, ::players] | buffer["truncated"][slots, ::players]) > 0
    for step, env in np.argwhere(ended).tolist():
        slot, row = (slots.start or 0) + step, env * players
        info = {
            item.name: float(buffer[item.name][slot if item.timed else 0, row if item.per == "seat" else env])
            for item in task.info
            if not item.shape
        }
        returns = buffer["episode_return"][slot, row : row + players].tolist()
        yield (
            env,
            PlayedEpisode(
                tuple(returns), int(buffer["episode_length"][slot, env]), int(buffer["outcome"][slot, env]), info
            ),
        )


def evaluation_figures(task: Task, episodes: Sequence[PlayedEpisode]) -> dict[str, float]:
    """Return the figures of some episodes by name, those that the task has.

    `return` is the mean return of a seat, with `return_low` and `return_high`, the ends of its 95 % confidence
    interval. `success` is the share of episodes with a good outcome, `steps_to_success` their median length. There is
    also the share of each outcome, and `stage/K`, the share that reached stage K.
    """
    returns = np.array([np.mean(episode.returns) for episode in episodes])
    margin = MARGIN * float(returns.std(ddof=1)) / math.sqrt(len(returns)) if len(returns) > 1 else math.nan
    mean = float(returns.mean())
    found = {"return": mean, "return_low": mean - margin, "return_high": mean + margin}
    found["length"] = float(np.mean([episode.length for episode in episodes]))
    good = {number for number, outcome in enumerate(task.outcomes, 1) if outcome.tone == "good"}
    if good or any(SUCCESS in episode.info for episode in episodes):
        won = [
            episode for episode in episodes if (episode.outcome in good if good else episode.info.get(SUCCESS, 0.0) > 0)
        ]
        found["success"] = len(won) / len(episodes)
        if won:
            found["steps_to_success"] = float(median(episode.length for episode in won))
    for number, outcome in enumerate(task.outcomes, 1):
        found[f"outcome/{outcome.name}"] = np.mean([episode.outcome == number for episode in episodes]).item()
    stages = next((item for item in task.info if item.name == STAGE and math.isfinite(item.high)), None)
    for stage in range(1, int(stages.high) + 1 if stages is not None else 0):
        found[f"stage/{stage}"] = np.mean([episode.info[STAGE] >= stage for episode in episodes]).item()
    return {name: value for name, value in found.items() if math.isfinite(value)}


def serve() -> None:
    """Answer requests until stdin is closed."""
    import torch

    torch.set_num_threads(1)
    os.nice(10)  # the training goes first
    setup = read_instructions()
    task = find(setup["task"])
    settings = {**setup["settings"], **({"threads": 1} if "threads" in setup["settings"] else {})}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what environments print is no answer
    for line in sys.stdin:
        request = json.loads(line)
        with Path(request["weights"]).open("rb") as file:
            tensors, _ = map_tensors(file, writable=True)
        state = {name: torch.from_numpy(array) for name, array in tensors.items()}, request["data"]
        played = play_episodes(setup["trainer"], task, settings, state, episodes=setup["episodes"], seed=setup["seed"])
        print(json.dumps({**request, "figures": evaluation_figures(task, played)}), file=answers, flush=True)


if __name__ == "__main__":
    serve()
