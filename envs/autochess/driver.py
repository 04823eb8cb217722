"""Games `lo..hi` of the buffers, stepped by the compiled kernels; and which states are possible.

A step in three kernels, as a GPU makes it: one kernel of the whole step would need more registers than there are.

The first plays the turns and prepares the fights, the second runs them, the third settles them and ends the step.
Working memory carries what one leaves to the next. With `combat=device`, the fights of a round run side by side, one
per thread. Those against wild creatures run one after the other, because the seed of each depends on the results before
it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import KernelPhase, Kernels, Limits, NativeGame, are_within
from ..fields import Array
from ..native import ALL_LEGAL, compiled
from ..task import Task
from . import layout as at
from .bag import GEAR_BITS, GEAR_MASK, player
from .combat import fight
from .creatures import WEATHERS
from .display import BYTE_MASK, TAKEN
from .display import FIRST as FIRST_PICTURE
from .kernels import draw_fight, end_round, finish, first_illegal, play_turns, reset_envs, show_envs, step_envs
from .layout import Floats, Ints
from .rounds import close_turns, has_fight, pair_up, prepare_fight, run_fights, settle_fight
from .tables import COPIES, ITEM_KIND, SPECIES
from .views import TABLE, FightMemory, RoundMemory, views, views_of

STATUS, COUNT = range(2)
NOT_STEPPED, NO_FIGHTS, WILD, FIGHTS = range(4)


@compiled
def of_fight(fights: FightMemory, index: int, terms: Floats) -> RoundMemory:
    return RoundMemory(
        fights.one[index],
        fights.other[index],
        fights.cells[index],
        fights.sizes[index],
        fights.arena[index],
        fights.result[index],
        fights.film[index],
        terms,
    )


@compiled
def prepare_fights(game: Ints, fights: FightMemory, work: RoundMemory) -> None:
    """Pair the players, and prepare their fights in the order of their seats, as `run_fights` does."""
    close_turns(game)
    if pair_up(game):
        fights.status[STATUS] = WILD
        return
    fights.status[STATUS] = FIGHTS
    for seat in range(at.SEATS):
        if has_fight(game, seat):
            index, foe = fights.status[COUNT], game[player(seat) + at.FOE]
            fights.seats[index, 0], fights.seats[index, 1] = seat, foe
            fights.seeds[index] = prepare_fight(game, seat, foe, of_fight(fights, index, work.terms))
            fights.status[COUNT] += 1


@compiled
def play(table: Array, env: int, _part: int, slot: int, _following: int) -> int:
    """Play the turns of a game whose actions are legal, and prepare its fights; else return the row."""
    v, _, work, fights = views(table)
    fights.status[STATUS], fights.status[COUNT] = NOT_STEPPED, 0
    wrong = first_illegal(v, env, env + 1, slot)
    if wrong == ALL_LEGAL:
        fights.status[STATUS] = NO_FIGHTS
        actions = v.common.action[slot, env * v.players : (env + 1) * v.players]
        if play_turns(v.state[env], actions, v.bots, v.turn_actions, work):
            prepare_fights(v.state[env], fights, work)
    return wrong


@compiled
def run_some(table: Array, env: int, first: int, threads: int) -> None:
    """Run every `threads`-th fight of a game from the first; thread 0 runs all those against wild creatures."""
    v, _, work, fights = views(table)
    for index in range(first, fights.status[COUNT], threads):
        one = of_fight(fights, index, work.terms)
        fight(one.one, one.sizes[0], one.other, one.sizes[1], fights.seeds[index], one.arena, one.result, one.film)
    if fights.status[STATUS] == WILD and first == 0:
        run_fights(v.state[env], work)


@compiled
def run_all(table: Array, env: int, part: int, _slot: int, _following: int) -> int:
    """Run all fights of a game."""
    run_some(table, env, part, 1)
    return ALL_LEGAL


@compiled
def run_one(table: Array, env: int, part: int, _slot: int, _following: int) -> int:
    """Run one fight of a game."""
    run_some(table, env, part, at.MOST_FIGHTS)
    return ALL_LEGAL


@compiled
def end(table: Array, env: int, _part: int, _slot: int, following: int) -> int:
    """Settle the fights of a game in the order of their seats, and write the results of the step."""
    v, x, work, fights = views(table)
    status, game = fights.status[STATUS], v.state[env]
    if status == NOT_STEPPED:
        return ALL_LEGAL
    for index in range(fights.status[COUNT]):
        settle_fight(game, fights.seats[index, 0], fights.seats[index, 1], of_fight(fights, index, work.terms))
    fought = status != NO_FIGHTS
    if fought:
        end_round(game, v.preset, v.players, work)
    game[at.STEPS] += 1
    finish(v, x, following, env, work)
    if fought:
        draw_fight(v.state[env], x.boards, env)
    return ALL_LEGAL


ITEMS = len(ITEM_KIND)
OF_PLAYER = {
    (at.LEVEL, 1): (at.START_LEVEL, at.MAX_LEVEL),
    (at.ALIVE, 1): (0, 1),
    (at.RANK, 1): (1, at.SEATS),
    (at.OFFERED, 1): (0, at.ITEMS_OFFERED),
    (at.SHOP, at.SHOP_SLOTS): (0, SPECIES),
    (at.OFFER_UNIT, at.OFFERS): (0, SPECIES),
    (at.OFFER_ITEM, at.OFFERS): (0, ITEMS),
    (at.HELD, at.BAG): (0, ITEMS),
    (at.UNIT, at.CELLS): (0, SPECIES),
    (at.GEAR, at.CELLS): (0, (1 << at.GEAR_SLOTS * GEAR_BITS) - 1),
    (at.MET, 2 * at.SEATS): (0, at.LAST_STAGE),
}
LIMITS: Limits = {
    (at.STAGE, 1): (1, at.LAST_STAGE),
    (at.WEATHER, 1): (0, len(WEATHERS)),
    (at.POOL, at.POOL_LINES): (0, int(COPIES.max())),
    (at.FILM + TAKEN, 1): (0, at.PICTURES),
    **{(player(seat) + word, count): bounds for seat in range(at.SEATS) for (word, count), bounds in OF_PLAYER.items()},
}


def possible(_: object, states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, WORDS)` states the game can be in."""
    cells = states[:, at.FILM + FIRST_PICTURE : at.FILM + at.FILM_WORDS] & BYTE_MASK
    players = states[:, at.PLAYERS :].reshape(len(states), at.SEATS, at.PLAYER_WORDS)
    gear = (
        players[:, :, at.GEAR : at.GEAR + at.CELLS, None] >> np.arange(0, at.GEAR_SLOTS * GEAR_BITS, GEAR_BITS)
        & GEAR_MASK
    )
    filmed, worn = cells <= at.FIGHT_ROWS * at.FIGHT_COLUMNS, gear <= ITEMS
    found: NDArray[np.bool_] = are_within(LIMITS, states) & filmed.all(axis=1) & worn.all(axis=(1, 2, 3))
    return found


def kernels(task: Task) -> Kernels:
    """Return the kernels of a task, which runs the fights of a round one by one or side by side."""
    fights = KernelPhase(run_one, at.MOST_FIGHTS) if task.values["combat"] == "device" else KernelPhase(run_all)
    return Kernels(reset_envs, step_envs, show_envs, (KernelPhase(play), fights, KernelPhase(end)))


GAME = NativeGame(TABLE, views_of, at.EPISODES, kernels, possible, ("autochess",))
