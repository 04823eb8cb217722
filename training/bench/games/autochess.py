"""Decisions and fights per second on one core: `python -m pac.training.bench.games.autochess`."""

from __future__ import annotations

import sys

import numpy as np

from ....envs.autochess.arena import CAP, COUNT, DUE, HIT_AT, NEXT, SIDE_SIZE, STANDING, TEAM_WORDS
from ....envs.autochess.bag import line_of, player
from ....envs.autochess.combat import begin, conclude, fight, happen
from ....envs.autochess.compiled import compiled
from ....envs.autochess.display import load
from ....envs.autochess.driver import AutochessEnvironments
from ....envs.autochess.kernels import step_envs
from ....envs.autochess.layout import ACTIONS, NOBODY, SEATS, Ints
from ....envs.autochess.legal import is_legal
from ....envs.autochess.tables import LINE_RANGE
from ....envs.autochess.teams import write_row
from ....envs.autochess.views import views
from ....envs.autochess.work import new_work
from ....envs.fields import Array
from ....envs.native import below
from ....envs.registry import find
from ....envs.task import allocate
from .rates import median_rate

ENVIRONMENTS = 16
BATCH = 100
TEAMS = 64
TEAM_SIZE = 7
TICK = 50


@compiled
def choose(game: Ints, me: int, random: Ints) -> int:
    """Return the first legal action from a random one on."""
    first = below(random, 0, ACTIONS)
    for offset in range(ACTIONS):
        action = (first + offset) % ACTIONS
        if is_legal(game, me, action):
            return action
    return -1


@compiled
def play(table: Array, num_envs: int, steps: int, random: Ints) -> tuple[int, int]:
    """Step all games with random legal actions; return the decisions of active seats and the finished games."""
    v = views(table).seats
    decisions = games = 0
    for _ in range(steps):
        for row in range(num_envs * v.players):
            decisions += v.common.active[0, row]
            v.common.action[0, row] = choose(v.state[row // v.players], player(row % v.players), random)
        step_envs(table, 0, num_envs, 0, 0)
        for env in range(num_envs):
            games += v.common.outcome[0, env] > 0
    return decisions, games


@compiled
def in_ticks(one: Ints, other: Ints, seed: int, arena: Ints, result: Ints) -> None:
    """Compute the same fight in fixed steps of 50 ms instead of event by event."""
    begin(one, TEAM_SIZE, other, TEAM_SIZE, seed, arena)
    time = 0
    while time < CAP and arena[STANDING] > 0 and arena[STANDING + 1] > 0:
        time += TICK
        for slot in range(arena[COUNT]):
            if arena[DUE + slot] <= time and arena[STANDING] > 0 and arena[STANDING + 1] > 0:
                happen(arena, slot, time)
                arena[DUE + slot] = min(arena[NEXT + slot], arena[HIT_AT + slot])
    conclude(arena, time, result)


@compiled
def many(teams: Ints, ticking: bool, arena: Ints, result: Ints, film: Ints) -> None:
    """Compute the fight of each team against the next one."""
    for index in range(teams.shape[0] - 1):
        if ticking:
            in_ticks(teams[index], teams[index + 1], index, arena, result)
        else:
            fight(teams[index], TEAM_SIZE, teams[index + 1], TEAM_SIZE, index, arena, result, film)


def decisions_per_second(spec: str, seconds: float = 1.0) -> tuple[float, float]:
    """Return decisions and games per second of one thread with random legal actions, fights and observations included.

    A seat that waits for others or has lost makes no decision.

    Args:
        spec: The task and its parameters.
        seconds: CPU time of the measurement, without compilation.
    """
    task = find(spec)
    games = AutochessEnvironments(task, 0, ENVIRONMENTS, allocate(task, ENVIRONMENTS), 0)
    games.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    random, played = np.zeros(1, np.int64), [0, 0]

    def work() -> int:
        decisions, ended = play(games.table, ENVIRONMENTS, BATCH, random)
        played[0] += decisions
        played[1] += ended
        return decisions

    rate = median_rate(work, seconds)
    return rate, rate * played[1] / played[0]


def random_teams(seed: int = 0) -> Ints:
    """Return random teams of two-star creatures, `(TEAMS, words)`."""
    random = np.random.default_rng(seed)
    teams = np.zeros((TEAMS, SIDE_SIZE * TEAM_WORDS), np.int64)
    for team in teams:
        for index, line in enumerate(random.integers(0, 94, TEAM_SIZE)):
            species = 2 + 3 * int(line)
            write_row(team, index, species, index, 2 if LINE_RANGE[line_of(species)] == 1 else 0)
    return teams


def fights_per_second(*, ticking: bool, seconds: float = 1.0) -> float:
    """Return fights of seven against seven per second of one thread, event by event or in steps of 50 ms."""
    teams, memory = random_teams(), new_work()
    load(memory.film, NOBODY)

    def work() -> int:
        many(teams, ticking, memory.arena, memory.result, memory.film)
        return TEAMS - 1

    return median_rate(work, seconds)


def main() -> None:
    """Print the figures."""
    for players in (1, SEATS):
        decisions, games = decisions_per_second(f"autochess:players={players}", 2.0)
        sys.stdout.write(f"{players} learning seats: {decisions:,.0f} decisions/s, {games:,.0f} games/s on one core\n")
    for ticking in (False, True):
        rate = fights_per_second(ticking=ticking)
        sys.stdout.write(f"{'steps of 50 ms' if ticking else 'event to event'}: {rate:,.0f} fights/s on one core\n")


if __name__ == "__main__":
    main()
