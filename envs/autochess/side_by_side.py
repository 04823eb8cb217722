"""A step in three kernels, so that the fights of a round run side by side: `combat=device`.

The first plays the turns and prepares the fights, the second runs one of them, the third settles them and ends the
step. Working memory carries what one leaves to the next. Fights against wild creatures run one after the other in a
single thread, because the seed of each depends on the results before it.
"""

from __future__ import annotations

from ..fields import Array
from ..native import ALL_LEGAL
from . import layout as at
from .bag import player
from .combat import fight
from .compiled import compiled
from .kernels import draw_fight, end_round, finish, first_illegal, play_turns
from .layout import Floats, Ints
from .rounds import close_turns, has_fight, pair_up, prepare_fight, run_fights, settle_fight
from .views import views
from .work import FightMemory, RoundMemory

STATUS, COUNT = range(2)
NOT_STEPPED, NO_FIGHTS, WILD, FIGHTS = range(4)


@compiled
def of_fight(fights: FightMemory, index: int, terms: Floats) -> RoundMemory:
    """Return the memory of one fight."""
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
def run(table: Array, env: int, part: int, _slot: int, _following: int) -> int:
    """Run one fight of a game; the first thread runs all those against wild creatures."""
    v, _, work, fights = views(table)
    if fights.status[STATUS] == FIGHTS and part < fights.status[COUNT]:
        one = of_fight(fights, part, work.terms)
        fight(one.one, one.sizes[0], one.other, one.sizes[1], fights.seeds[part], one.arena, one.result, one.film)
    elif fights.status[STATUS] == WILD and part == 0:
        run_fights(v.state[env], work)
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
