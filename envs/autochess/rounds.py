"""The game around the turns: its start, the pairing of players, the results of fights, income and the end."""

from __future__ import annotations

import numpy as np

from ..native import below, compiled
from . import layout as at
from .bag import keep, player
from .combat import fight
from .creatures import COMMON
from .display import VIEWER, keep_film, load, shown_seat
from .layout import Ints
from .legal import survey
from .market import clear_shop, draw_of, fill_pool, fill_shop, give_back, receive
from .tables import COMPONENT_COUNT, FIRST_LINE, OFFER_COUNT, OFFER_KIND, WILD_TEAMS
from .teams import count_kinds, muster, muster_wild
from .turn import add_xp, drop_offers, end_turn, offer_items
from .views import NO_WINNER, SURVIVORS, WINNER, RoundMemory

WEATHER_STAGES = 5
SEED_BITS = 1 << 31
POOLED = 5
FAR = 1 << 30


@compiled
def begin(game: Ints, seed: np.uint64) -> None:
    """Begin a game; the run's seed and the number of games are kept."""
    run_seed, episodes = game[at.RUN_SEED], game[at.EPISODES]
    for word in range(at.WORDS):
        game[word] = 0
    game[at.RUN_SEED], game[at.EPISODES] = run_seed, episodes
    game[at.RANDOM] = np.int64(seed)
    game[at.LIVING] = at.SEATS
    fill_pool(game)
    for seat in range(at.SEATS):
        me = player(seat)
        game[me + at.LIFE], game[me + at.GOLD], game[me + at.LEVEL] = at.START_LIFE, at.START_GOLD, at.START_LEVEL
        game[me + at.ALIVE], game[me + at.RANK], game[me + at.FOE] = 1, seat + 1, at.NOBODY
        receive(game, me, draw_of(game, COMMON))
        offer_creatures(game, me, COMMON, OFFER_COUNT[0])
    next_stage(game)


@compiled
def offer_creatures(game: Ints, me: int, rarity: int, count: int) -> None:
    """Offer creatures of a rarity, a component with each; those of the pool leave it."""
    first, lines = FIRST_LINE[rarity], FIRST_LINE[rarity + 1] - FIRST_LINE[rarity]
    game[me + at.OFFERED] = at.CREATURES_OFFERED
    start = below(game, at.RANDOM, lines)
    for offer in range(count):
        if rarity < POOLED:
            game[me + at.OFFER_UNIT + offer] = draw_of(game, rarity)
        else:
            game[me + at.OFFER_UNIT + offer] = 1 + 3 * (first + (start + offer) % lines)
        game[me + at.OFFER_ITEM + offer] = 1 + below(game, at.RANDOM, COMPONENT_COUNT)


@compiled
def open_turn(game: Ints, me: int) -> None:
    """Begin a living player's turn."""
    if game[me + at.LOCKED] == 0:
        fill_shop(game, me)
    game[me + at.LOCKED] = game[me + at.ENDED] = game[me + at.ACTED] = game[me + at.MOVED] = game[me + at.LOCK_USED] = 0
    kind = OFFER_KIND[game[at.STAGE]]
    if kind > 0:
        offer_creatures(game, me, kind - 1, OFFER_COUNT[game[at.STAGE]])
    elif kind < 0:
        offer_items(game, me, OFFER_COUNT[game[at.STAGE]])
    count_kinds(game, me)
    survey(game, me)


@compiled
def next_stage(game: Ints) -> None:
    """Begin the next stage and the turns of all players; the weather changes every five stages."""
    game[at.STAGE] += 1
    if game[at.STAGE] % WEATHER_STAGES == 0:
        game[at.WEATHER] = below(game, at.RANDOM, 5)
    for seat in range(at.SEATS):
        if game[player(seat) + at.ALIVE]:
            open_turn(game, player(seat))


@compiled
def preference(game: Ints, seat: int, other: int) -> int:
    """Return the cost of a fight of `seat` against `other`: earlier fights, then how recent they are, then chance."""
    me = player(seat)
    return int(game[me + at.MET + other] * 64 + game[me + at.MET_AT + other]) * 64 + below(game, at.RANDOM, 64)


@compiled
def rival(game: Ints, seat: int, unpaired: bool) -> int:
    """Return the living player that `seat` should fight, of the unpaired ones or of all; -1 if there is none."""
    best, least = at.NOBODY, FAR
    for other in range(at.SEATS):
        them = player(other)
        if other != seat and game[them + at.ALIVE] and not (unpaired and game[them + at.FOE] != at.NOBODY):
            reluctance = preference(game, seat, other)
            if reluctance < least:
                best, least = other, reluctance
    return best


@compiled
def meet(game: Ints, seat: int, other: int) -> None:
    """Record that two players met."""
    game[player(seat) + at.MET + other] += 1
    game[player(seat) + at.MET_AT + other] = game[at.STAGE]


@compiled
def match(game: Ints) -> None:
    """Pair the living players, from a random one on; one without a partner fights a ghost, `FOE` 8 + its seat."""
    start = below(game, at.RANDOM, at.SEATS)
    for step in range(at.SEATS):
        seat = (start + 3 * step) % at.SEATS
        me = player(seat)
        if game[me + at.ALIVE] and game[me + at.FOE] == at.NOBODY:
            other = rival(game, seat, unpaired=True)
            if other == at.NOBODY:
                ghost = rival(game, seat, unpaired=False)
                game[me + at.FOE] = at.SEATS + ghost
                meet(game, seat, ghost)
            else:
                game[me + at.FOE], game[player(other) + at.FOE] = other, seat
                meet(game, seat, other)
                meet(game, other, seat)


@compiled
def settle(game: Ints, me: int, side: int, work: RoundMemory, wild: bool) -> None:
    """Write the result of a fight for one side."""
    winner, foes = work.result[WINNER], work.sizes[1 - side]
    game[me + at.KILLS] = foes - work.result[SURVIVORS + 1 - side]
    game[me + at.DAMAGE] += game[me + at.KILLS]
    if winner == NO_WINNER:
        game[me + at.RESULT] = at.DRAW
    elif winner == side:
        game[me + at.RESULT] = at.WON
        if wild:
            game[me + at.FREE_ROLLS] = min(3, game[me + at.FREE_ROLLS] + 1)
            keep(game, me, below(game, at.RANDOM, COMPONENT_COUNT))
    else:
        game[me + at.RESULT] = at.LOST
        hurt = (game[at.STAGE] + 1) // 2 + work.result[SURVIVORS + 1 - side]
        game[me + at.LIFE] -= hurt
    if not wild:
        count_streak(game, me)


@compiled
def count_streak(game: Ints, me: int) -> None:
    """Lengthen or begin a streak: positive for wins, negative for losses, 0 at its first fight; a draw keeps it."""
    result = game[me + at.RESULT]
    if result == at.DRAW:
        return
    step = 1 if result == at.WON else -1
    game[me + at.STREAK] = min(10, max(-10, game[me + at.STREAK] + step)) if result == game[me + at.RUN_RESULT] else 0
    game[me + at.RUN_RESULT] = result


@compiled
def prepare_fight(game: Ints, seat: int, foe: int, work: RoundMemory) -> int:
    """Muster the teams of a player and another, a ghost (8 + seat) or wild creatures (-1); return the fight's seed."""
    me = player(seat)
    work.sizes[0] = muster(game, me, game[at.WEATHER], work.one, work.cells)
    if foe == at.NOBODY:
        work.sizes[1] = muster_wild(game[at.STAGE], work.other)
    else:
        work.sizes[1] = muster(game, player(foe % at.SEATS), game[at.WEATHER], work.other, work.cells)
    seed = below(game, at.RANDOM, SEED_BITS)
    shown = shown_seat(game)
    filmed = shown == seat or shown == foe  # noqa: PLR1714 - kernels
    load(work.film, int(shown == foe) if filmed else at.NOBODY)
    return seed


@compiled
def settle_fight(game: Ints, seat: int, foe: int, work: RoundMemory) -> None:
    """Write the result of a fight for both sides, and keep its film."""
    if work.film[VIEWER] >= 0:
        keep_film(game, work.film)
    settle(game, player(seat), 0, work, foe == at.NOBODY)
    if 0 <= foe < at.SEATS:
        settle(game, player(foe), 1, work, wild=False)


@compiled
def run_fight(game: Ints, seat: int, foe: int, work: RoundMemory) -> None:
    seed = prepare_fight(game, seat, foe, work)
    fight(work.one, work.sizes[0], work.other, work.sizes[1], seed, work.arena, work.result, work.film)
    settle_fight(game, seat, foe, work)


@compiled
def pair_up(game: Ints) -> bool:
    """Give all living players an opponent, except in rounds against wild creatures; return whether it is one."""
    for seat in range(at.SEATS):
        game[player(seat) + at.FOE] = at.NOBODY
    wild = bool(WILD_TEAMS[game[at.STAGE], 0] > 0)
    if not wild:
        match(game)
    return wild


@compiled
def has_fight(game: Ints, seat: int) -> bool:
    """Return whether a player has a fight that is not that of an earlier seat."""
    return bool(game[player(seat) + at.ALIVE] and not 0 <= game[player(seat) + at.FOE] < seat)


@compiled
def run_fights(game: Ints, work: RoundMemory) -> None:
    """Run the fights of all living players who were paired up, each pair once."""
    for seat in range(at.SEATS):
        if has_fight(game, seat):
            run_fight(game, seat, game[player(seat) + at.FOE], work)


@compiled
def before(game: Ints, one: int, other: int) -> bool:
    """Return whether a player ranks before another: more life, then a higher level, then the lower seat."""
    me, them = player(one), player(other)
    if game[me + at.LIFE] != game[them + at.LIFE]:
        return bool(game[me + at.LIFE] > game[them + at.LIFE])
    if game[me + at.LEVEL] != game[them + at.LEVEL]:
        return bool(game[me + at.LEVEL] > game[them + at.LEVEL])
    return one < other


@compiled
def rank(game: Ints) -> None:
    """Rank the players who were alive before this round; for those who die it is the final rank."""
    for seat in range(at.SEATS):
        me = player(seat)
        if game[me + at.ALIVE]:
            game[me + at.RANK] = 1
            for other in range(at.SEATS):
                if other != seat and game[player(other) + at.ALIVE] and before(game, other, seat):
                    game[me + at.RANK] += 1


@compiled
def bury(game: Ints, me: int) -> None:
    """Take a player out of the game: all copies return to the pool."""
    game[me + at.ALIVE] = game[me + at.LIFE] = 0
    game[me + at.ENDED] = 1
    game[at.LIVING] -= 1
    clear_shop(game, me)
    drop_offers(game, me)
    for cell in range(at.CELLS):
        give_back(game, game[me + at.UNIT + cell])
        game[me + at.UNIT + cell] = game[me + at.GEAR + cell] = 0
    count_kinds(game, me)
    survey(game, me)


@compiled
def interest(game: Ints, me: int) -> int:
    """Return the interest: one gold for every ten, up to 5."""
    return int(min(5, game[me + at.GOLD] // 10))


@compiled
def income(game: Ints, me: int) -> None:
    """Pay a living player for the round: 5, interest, the streak, 1 for a win against a player."""
    won = game[me + at.RESULT] == at.WON and game[me + at.FOE] != at.NOBODY
    gold = 5 + interest(game, me) + min(5, abs(game[me + at.STREAK])) + won
    game[me + at.GOLD] += gold
    game[me + at.EARNED] += gold
    add_xp(game, me, at.ROUND_XP)


@compiled
def close_turns(game: Ints) -> None:
    """End the turns of all living players that have not."""
    for seat in range(at.SEATS):
        me = player(seat)
        if game[me + at.ALIVE]:
            if not game[me + at.ENDED]:
                end_turn(game, me)
            count_kinds(game, me)


@compiled
def is_last(game: Ints, players: int) -> bool:
    """Return whether the game is over: at most one living player, the only learner dead, or the last stage played."""
    return bool(
        game[at.LIVING] <= 1 or game[at.STAGE] >= at.LAST_STAGE or (players == 1 and game[player(0) + at.ALIVE] == 0)
    )


@compiled
def go_on(game: Ints) -> None:
    """Pay the living and open the next stage."""
    for seat in range(at.SEATS):
        me = player(seat)
        if game[me + at.ALIVE]:
            income(game, me)
    next_stage(game)
