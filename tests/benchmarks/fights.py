"""Measures the duration of fights in `autochess` on one core, and their share of a step.

python -m tests.benchmarks fights --json
"""

from __future__ import annotations

import time
from typing import cast

import numpy as np

from pac.envs.autochess.bag import player
from pac.envs.autochess.kernels import play_bots
from pac.envs.autochess.layout import ALIVE, ENDED, FOE, NOBODY, SEATS, STAGE, Ints
from pac.envs.autochess.rounds import close_turns, match, run_fight
from pac.envs.autochess.tables import WILD_TEAMS
from pac.envs.autochess.turn import take
from pac.envs.autochess.views import RoundMemory, new_work
from pac.envs.driver import NativeEnvironments
from pac.envs.registry import find
from pac.envs.task import allocate
from pac.training.bench.facts import Progress, Results
from pac.training.bench.games.engine import choose

SEED = 7
QUANTILES = (50, 95, 99)


def measure_fights(*, seconds: float = 10.0, players: tuple[int, ...] = (1, 8), progress: Progress) -> Results:
    """Measure games of one environment with random legal actions on one core.

    Args:
        seconds: Seconds of each measurement.
        players: Seats that choose actions; bots play the others.
        progress: Called with the current measurement.

    Returns:
        For each number of players the quantiles of a fight's duration in microseconds, the share of the time of all
        steps that was spent on fights, and games per second with fights and as they would be if fights took no time.
    """
    found: Results = {}
    for number, seats in enumerate(players):
        progress(f"fights, {seats} players", number / len(players))
        _measured(seats, 0.1)  # compiles
        found[f"players={seats}"] = _measured(seats, seconds)
    return found


def _measured(players: int, seconds: float) -> Results:
    task = find(f"autochess:players={players}")
    buffers = allocate(task, 1, 2)
    envs = cast("NativeEnvironments", task.make(0, 1, buffers, SEED))
    envs.reset(np.ones(1, np.bool_), 0)
    random, work, spent, games = np.array([SEED]), new_work(), 0.0, 0
    fights: list[float] = []
    until = time.perf_counter() + seconds
    slot = 0
    while time.perf_counter() < until:
        state, actions = buffers["state"][0, 0], buffers["action"][slot]
        choose(buffers["action_mask"][slot], task.num_actions, actions, random)
        before, stage = state.copy(), state[STAGE]
        begun = time.perf_counter()
        envs.step(slot)
        spent += time.perf_counter() - begun
        following = 1 - slot
        over = bool(buffers["outcome"][following, 0])
        games += over
        if over or state[STAGE] != stage:
            fights.extend(_fights_of(before, actions, players, dict(task.values), work))
        slot = following
    total = sum(fights)
    return {
        "fights": len(fights),
        "microseconds": {f"p{each}": 1e6 * float(np.percentile(fights, each)) for each in QUANTILES} if fights else {},
        "share_of_step": total / spent,
        "games_per_second": games / spent,
        "games_per_second_without_fights": games / (spent - total),
    }


def _fights_of(game: Ints, actions: Ints, players: int, values: dict[str, int], work: RoundMemory) -> list[float]:
    """Play the rest of a round up to its fights, and return the seconds of each of them."""
    for seat in range(players):
        if not game[player(seat) + ENDED]:
            take(game, player(seat), int(actions[seat]), values["turn_actions"])
    play_bots(game, players, values["bots"])
    close_turns(game)
    for seat in range(SEATS):
        game[player(seat) + FOE] = NOBODY
    if WILD_TEAMS[game[STAGE], 0] == 0:
        match(game)
    found = []
    for seat in range(SEATS):
        foe = int(game[player(seat) + FOE])
        if game[player(seat) + ALIVE] and not 0 <= foe < seat:
            begun = time.perf_counter()
            run_fight(game, seat, foe, work)
            found.append(time.perf_counter() - begun)
    return found
