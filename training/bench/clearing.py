"""Measures the seconds until PPO clears the bottle at level 0, from the start of a process, on a GPU or on the CPU."""

from __future__ import annotations

import time
from statistics import fmean
from typing import Any

from ...backends import default_num_envs
from ...envs import find
from ..device import TrainingPlace
from ..loading import GPU_ENVS
from ..playing import evaluation_seed, play_episodes
from ..trainers import device_settings, trainer_settings
from .alone import started
from .facts import Results
from .measured_process import results_of

TASK, CLEARED = "drmario", "cleared"
VIRUSES = 3.8
"""Viruses, of the 4 of level 0, that the likeliest actions must clear, as the mean of `EPISODES` episodes."""
EPISODES = 100
FIRST, LATER = 2.0, 1.15
"""Seconds of training before the first evaluation, and how much longer it lasts until each later one."""
START_LIMIT = 120.0


def seconds_to_clear(device: str, limit: float, num_envs: int | None = None) -> Results:
    """Train in a process of its own, with the settings that a session has by default.

    Args:
        device: Where the environments and the policy are: `cpu`, with all cores, or `cuda`.
        limit: Seconds of training, without evaluations, after which it ends.
        num_envs: Number of environments; that of a session by default.

    Returns:
        `seconds` from the start of the process until a policy clears `VIRUSES`, without those of evaluations, or None;
        `first_step` of them until the training began; `decisions`; `viruses` of the last evaluation; `num_envs`.

    Raises:
        MeasurementFailed: The process failed.
    """
    count = num_envs or (GPU_ENVS if device.startswith("cuda") else default_num_envs())
    found: Results = results_of(_train, device, limit, count, time.time(), limit=10 * limit + START_LIMIT)
    return found


def _train(device: str, limit: float, num_envs: int, begun: float) -> Results:
    task, seed, unmeasured = find(TASK), 0, 0.0
    chosen = trainer_settings("ppo", task, {})
    place = TrainingPlace("cuda:0" if device == "cuda" else device, num_envs, device != "cpu")
    chosen |= device_settings("ppo", task, chosen, (), place)

    def spent() -> float:
        return time.time() - begun - unmeasured

    with started("ppo", task, chosen, num_envs, "device", device=place.device, envs_device=place.device) as (ppo, _):
        ready, viruses, decisions, seconds, due = spent(), 0.0, 0, None, FIRST
        while seconds is None and spent() - ready < limit:
            decisions = int(ppo.iterate()["decisions"])
            if (now := spent()) - ready < due:
                continue
            paused, due = time.time(), LATER * (now - ready)
            viruses = _viruses(task, chosen, ppo.policy_state(), seed)
            unmeasured += time.time() - paused
            seconds = now if viruses >= VIRUSES else None
    return {
        "seconds": seconds,
        "first_step": ready,
        "decisions": decisions,
        "viruses": viruses,
        "num_envs": num_envs,
        **{name: chosen[name] for name in ("batch", "minibatch", "epochs", "precision")},
    }


def _viruses(task: Any, settings: Any, state: Any, seed: int) -> float:
    """Return the mean number of viruses that a policy clears."""
    played = play_episodes("ppo", task, settings, state, episodes=EPISODES, seed=evaluation_seed(seed))
    return fmean(episode.info[CLEARED] for episode in played)
