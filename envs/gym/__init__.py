"""The adapter for Gymnasium environments, and our own games as Gymnasium environments.

Importing this registers the ids of `GAMES`: `gymnasium.make("pac.envs.gym:pac/DrMario-v0")`.
"""

from gymnasium.envs.registration import register

from .single import TaskEnv

GAMES = {
    "pac/DrMario-v0": "drmario",
    "pac/DrMarioFrames-v0": "drmario-frames",
    "pac/AutoChess-v0": "autochess",
    "pac/Treasure-v0": "treasure",
    "pac/StagHunt-v0": "staghunt",
    "pac/Kuhn-v0": "kuhn",
    "pac/Leduc-v0": "leduc",
    "pac/LiarsDice-v0": "liars_dice",
    "pac/Holdem-v0": "holdem",
}
"""Task names by id; games of several players need `gymnasium.make_vec`, whose rows are seats."""

for _id, _task in GAMES.items():
    register(
        id=_id,
        entry_point="pac.envs.gym.single:TaskEnv",
        vector_entry_point="pac.backends.gymnasium:vector",
        kwargs={"task": _task},
    )

__all__ = ["GAMES", "TaskEnv"]
