"""The compiled loops over games, which release the GIL."""

from __future__ import annotations

import numpy as np

from ..fields import DECIDES, OUT, WAITS, Array
from ..kernel_tables import forget
from ..native import ALL_LEGAL, compiled, episode_seed
from . import layout as at
from .bag import board_size, count_units, held_count, player
from .bots import bot_turn
from .display import draw_film
from .layout import Floats, Ints
from .legal import is_legal, survey
from .rounds import begin, bury, close_turns, go_on, interest, is_last, pair_up, rank, run_fights
from .tables import XP_NEEDED
from .turn import take
from .view import draw, draw_numbers, observe
from .views import AutochessBoards, DisplayViews, RoundMemory, SeatViews, views

V1 = 0
PLACES_V3 = np.array([28, 15, 8, -5, -9, -14, -19, -26], np.float32)
RAMP = 30
"""Stages over which the weight of fights grows under v3."""
GOLD_LIMIT = 55
HOARD_RATE = 0.01
HOARD_CAP = 10.0


@compiled
def fight_term(game: Ints, me: int, preset: int) -> float:
    """Return the term of a fight; under v3, a win counts 0.25 to 3 times and a loss 0.5 to 2 times, by stage."""
    result = game[me + at.RESULT]
    if result == at.DRAW:
        return 0.0
    if preset == V1:
        return 0.5 if result == at.WON else -0.3
    share = float(min(1.0, game[at.STAGE] / RAMP))
    return 0.75 * (0.25 + 2.75 * share) if result == at.WON else -0.5 * (0.5 + 1.5 * share)


@compiled
def tiers_term(game: Ints, me: int) -> float:
    """Return 0.1 for every tier of a kind beyond the most that the player had before."""
    gained = int(max(0, game[me + at.TIERS] - game[me + at.BEST_TIERS]))
    game[me + at.BEST_TIERS] += gained
    return 0.1 * gained


@compiled
def hoard_term(gold: int) -> float:
    """Return the penalty for gold over 55, which is quadratic and at least -10."""
    excess = max(0, gold - GOLD_LIMIT)
    return -min(HOARD_CAP, HOARD_RATE * excess * excess)


@compiled
def round_terms(game: Ints, me: int, preset: int, terms: Floats) -> None:
    """Write the terms of a living player's round, before dead players are removed."""
    terms[at.TERM_FIGHT] = fight_term(game, me, preset)
    if preset == V1:
        terms[at.TERM_INTEREST] = 0.05 * interest(game, me)
        terms[at.TERM_KIND] = tiers_term(game, me)
        terms[at.TERM_KILLS] = 0.02 * game[me + at.KILLS]
        terms[at.TERM_LIFE] = 0.005 * max(0, game[me + at.LIFE]) / 100
        terms[at.TERM_BENCH] = -0.01 * count_units(game, me, 0, at.BENCH)
    else:
        terms[at.TERM_INTEREST] = 0.06 * interest(game, me)
        terms[at.TERM_HOARD] = hoard_term(game[me + at.GOLD])


@compiled
def last_terms(game: Ints, me: int, preset: int, terms: Floats) -> None:
    """Add the term of a player's place, and under v1 of its death."""
    if preset == V1:
        terms[at.TERM_PLACE] = (9 - game[me + at.RANK]) * 2 - 6
        terms[at.TERM_DEATH] = -2.0 if game[me + at.LIFE] <= 0 else 0.0
    else:
        terms[at.TERM_PLACE] = PLACES_V3[game[me + at.RANK] - 1]


TOP_HALF = 4


@compiled
def pay_round(game: Ints, preset: int, work: RoundMemory, players: int) -> None:
    """Rank all players, write the reward terms of the round, and remove dead players; end the game if it is over."""
    rank(game)
    for seat in range(at.SEATS):
        me = player(seat)
        if game[me + at.ALIVE]:
            round_terms(game, me, preset, work.terms[seat])
            if game[me + at.LIFE] <= 0:
                last_terms(game, me, preset, work.terms[seat])
                bury(game, me)
    if is_last(game, players):
        game[at.OVER] = 1
        for seat in range(at.SEATS):
            if game[player(seat) + at.ALIVE]:
                last_terms(game, player(seat), preset, work.terms[seat])


@compiled
def play_round(game: Ints, preset: int, players: int, work: RoundMemory) -> None:
    """Run the fights, pay the round, and open the next stage unless the game is over."""
    close_turns(game)
    pair_up(game)
    run_fights(game, work)
    end_round(game, preset, players, work)


@compiled
def end_round(game: Ints, preset: int, players: int, work: RoundMemory) -> None:
    """Pay the round after its fights, and open the next stage unless the game is over."""
    pay_round(game, preset, work, players)
    if not game[at.OVER]:
        go_on(game)


@compiled
def play_bots(game: Ints, players: int, bots: int) -> None:
    """Play the turns of the seats without a learner: by bot k in seat k, or by the same bot everywhere."""
    for seat in range(players, at.SEATS):
        if game[player(seat) + at.ALIVE]:
            bot_turn(game, player(seat), seat - 1 if bots == 0 else bots - 1)


@compiled
def all_ended(game: Ints, players: int) -> bool:
    """Return whether all learning seats have ended their turn."""
    ended = True
    for seat in range(players):
        ended = ended and game[player(seat) + at.ENDED] == 1
    return ended


@compiled
def play_turns(game: Ints, actions: Ints, bots: int, turn_actions: int, work: RoundMemory) -> bool:
    """Play the actions of the seats that have not ended their turn. Once all have, play the bots.

    Returns whether the fights come next.
    """
    players = actions.shape[0]
    work.terms[:] = 0
    for seat in range(players):
        if not game[player(seat) + at.ENDED]:
            take(game, player(seat), actions[seat], turn_actions)
    fought = all_ended(game, players)
    if fought:
        play_bots(game, players, bots)
    return fought


@compiled
def play_step(game: Ints, actions: Ints, preset: int, bots: int, turn_actions: int, work: RoundMemory) -> bool:
    """Play the actions of all seats, and the round if it ends by them; return whether the fights ran."""
    fought = play_turns(game, actions, bots, turn_actions, work)
    if fought:
        play_round(game, preset, actions.shape[0], work)
    game[at.STEPS] += 1
    return fought


@compiled
def part(game: Ints, me: int) -> int:
    """Return a player's value of `active`: decides, waits for the others, or is out of the game."""
    if not game[me + at.ALIVE]:
        return OUT
    return WAITS if game[me + at.ENDED] else DECIDES


@compiled
def draw_boards(game: Ints, b: AutochessBoards, env: int) -> None:
    """Draw all boards except the film of the last fight."""
    draw(game, b.creatures[env], b.stars[env], b.gear[env], b.shop[env])
    draw_numbers(game, b.kinds[env], b.seats[env])


@compiled
def draw_fight(game: Ints, b: AutochessBoards, env: int) -> None:
    draw_film(game, b.fight[env], b.fight_life[env], b.fight_power[env])


@compiled
def show(v: SeatViews, x: DisplayViews, slot: int, env: int) -> None:
    """Write observations, masks and boards of a state."""
    game = v.state[env]
    for seat in range(v.players):
        row, me = env * v.players + seat, player(seat)
        observe(game, seat, v.turn_actions, v.observation[slot, row])
        for word in range(at.MASK_WORDS):
            v.mask[slot, row, word] = game[me + at.MASK + word]
        v.common.active[slot, row] = part(game, me)
    draw_boards(game, x.boards, env)
    v.common.episode[env] = game[at.EPISODES] - 1


@compiled
def write_info(v: SeatViews, x: DisplayViews, slot: int, env: int) -> None:
    game = v.state[env]
    for seat in range(v.players):
        row, me = env * v.players + seat, player(seat)
        x.life[slot, row] = game[me + at.LIFE]
        x.rank[slot, row] = game[me + at.RANK]
        x.stage[slot, row] = game[at.STAGE]
        x.level[slot, row] = game[me + at.LEVEL]
        x.gold[slot, row] = game[me + at.GOLD]
        x.streak[slot, row] = game[me + at.STREAK]
        x.xp_to_go[slot, row] = max(0, XP_NEEDED[game[me + at.LEVEL]] - game[me + at.XP])
        x.board_size[slot, row] = board_size(game, me)
        x.kinds_active[slot, row] = game[me + at.TIERS]
        x.items_held[slot, row] = held_count(game, me)
        x.actions_taken[slot, row] = game[me + at.ACTED]


@compiled
def next_episode(v: SeatViews, env: int) -> None:
    """Begin an environment's next game."""
    game = v.state[env]
    seed = episode_seed(np.uint64(game[at.RUN_SEED]), np.uint64(env), np.uint64(game[at.EPISODES]))
    game[at.EPISODES] += 1
    begin(game, seed)


@compiled
def reset_envs(table: Array, lo: int, slot: int, chosen: Array, seed: np.uint64) -> None:
    """Begin the next game of the chosen environments and write their observations."""
    v, x, _, _ = views(table)
    for index in range(chosen.shape[0]):
        if chosen[index]:
            env = lo + index
            v.state[env, at.RUN_SEED], v.state[env, at.EPISODES] = seed, v.common.episode[env] + 1
            next_episode(v, env)
            write_info(v, x, slot, env)
            show(v, x, slot, env)
            draw_fight(v.state[env], x.boards, env)
            forget(v.common, slot, env, v.players)


@compiled
def write_reward(v: SeatViews, slot: int, row: int, total: int, terms: Floats) -> None:
    """Write a seat's reward, its terms, and its return, which is summed at `total` of the state's floats."""
    reward = np.float32(0)
    for term in range(at.TERMS):
        v.common.terms[slot, row, term] = terms[term]
        reward += terms[term]
    env = row // v.players
    v.reals[env, total] += reward
    v.common.reward[slot, row] = reward
    v.common.returns[slot, row] = v.reals[env, total]


@compiled
def outcome_of(place: int) -> int:
    """Return how a game ended for a seat: 1 won, 2 top half, 3 lost."""
    if place == 1:
        return 1
    return 2 if place <= TOP_HALF else 3


@compiled
def finish(v: SeatViews, x: DisplayViews, slot: int, env: int, work: RoundMemory) -> None:
    """Write the results of a step, and begin a new game if this one is over."""
    game, over = v.state[env], v.state[env, at.OVER]
    v.common.length[slot, env] = game[at.STEPS]
    v.common.frames[slot, env] = 1
    v.common.outcome[slot, env] = outcome_of(game[player(0) + at.RANK]) if over else 0
    v.common.heartbeat[env] += np.uint64(1)
    write_info(v, x, slot, env)
    for seat in range(v.players):
        row = env * v.players + seat
        write_reward(v, slot, row, 2 * (player(seat) + at.RETURN), work.terms[seat])
        v.common.terminated[slot, row] = over
        v.common.truncated[slot, row] = 0
        if over:
            observe(game, seat, v.turn_actions, v.final[slot % len(v.final), row])
    if over:
        if x.last_drawn[env]:
            draw_boards(game, x.last, env)
            draw_fight(game, x.last, env)
            x.last_drawn[env] = v.common.episode[env] + 1
        next_episode(v, env)
    show(v, x, slot, env)


@compiled
def first_illegal(v: SeatViews, lo: int, hi: int, slot: int) -> int:
    """Return the first row with an illegal action, or `ALL_LEGAL`."""
    for row in range(lo * v.players, hi * v.players):
        game, me = v.state[row // v.players], player(row % v.players)
        if not is_legal(game, me, v.common.action[slot, row]):
            return row
    return ALL_LEGAL


@compiled
def step_envs(table: Array, lo: int, hi: int, slot: int, following: int) -> int:
    """Step every game by one action per seat, or none and return the first row with an illegal action."""
    v, x, work, _ = views(table)
    wrong = first_illegal(v, lo, hi, slot)
    if wrong != ALL_LEGAL:
        return wrong
    for env in range(lo, hi):
        actions = v.common.action[slot, env * v.players : (env + 1) * v.players]
        fought = play_step(v.state[env], actions, v.preset, v.bots, v.turn_actions, work)
        finish(v, x, following, env, work)
        if fought:
            draw_fight(v.state[env], x.boards, env)
    return ALL_LEGAL


@compiled
def show_envs(table: Array, lo: int, hi: int, slot: int) -> None:
    """Write the observations, masks, numbers and boards of states, including restored ones."""
    v, x, _, _ = views(table)
    for env in range(lo, hi):
        for seat in range(at.SEATS):
            survey(v.state[env], player(seat))
        write_info(v, x, slot, env)
        show(v, x, slot, env)
        draw_fight(v.state[env], x.boards, env)
