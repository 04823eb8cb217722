"""The memory layout of one game's state: words of 64 bits, first the game's own, then those of each of eight players.

Rules use it as `game`, signed integers; `me` is the first word of a player. A cell is `y * 8 + x`: y 0 is the bench,
1 to 3 the board, 3 facing the enemy.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]

SEATS = 8
CELLS = 32
BENCH = 8
SHOP_SLOTS = 6
OFFERS = 6
BAG = 10
POOL_LINES = 94
KIND_SLOTS = 31
MAX_LEVEL = 9
FIGHT_ROWS, FIGHT_COLUMNS = 6, 8
PICTURES = 16
"""Pictures of a fight's film."""
FILM_WORDS = 4 + PICTURES * 18
NOBODY = -1

OBSERVATION = 612
ACTIONS = 92
MASK_WORDS = 3

# The game's own words.
RUN_SEED, EPISODES, RANDOM, STAGE, STEPS, WEATHER, LIVING, OVER, POOL = range(9)
FILM = POOL + POOL_LINES
"""The film of the last fight."""
PLAYERS = FILM + FILM_WORDS

# Words of a player, after `me`. There are four `TOP_KINDS`.
LIFE, GOLD, LEVEL, XP, STREAK, ALIVE, RANK, FREE_ROLLS, REROLLS, LOCKED, EARNED, DAMAGE = range(12)
ENDED, ACTED, MOVED, LOCK_USED, OFFERED, FOE, RESULT, KILLS, BEST_TIERS, TIERS, TOP_KINDS = range(12, 23)
RETURN, RUN_RESULT, MASK = range(TOP_KINDS + 4, TOP_KINDS + 7)
SHOP = MASK + MASK_WORDS
OFFER_UNIT = SHOP + SHOP_SLOTS
OFFER_ITEM = OFFER_UNIT + OFFERS
HELD = OFFER_ITEM + OFFERS
UNIT = HELD + BAG
GEAR = UNIT + CELLS
KIND = GEAR + CELLS
MET = KIND + KIND_SLOTS
MET_AT = MET + SEATS
PLAYER_WORDS = MET_AT + SEATS
WORDS = PLAYERS + SEATS * PLAYER_WORDS

# Values of OFFERED and RESULT.
NO_OFFER, CREATURES_OFFERED, ITEMS_OFFERED = 0, 1, 2
DRAW, WON, LOST = 0, 1, 2

# Actions, the first of each kind.
BUY = 0
REFRESH = 6
BUY_XP = 7
LOCK = 8
END_TURN = 9
MOVE = 10
SELL = 42
REMOVE = 74
PICK = 80
COMBINE = 86

# Terms of a reward.
TERM_FIGHT, TERM_DEATH, TERM_PLACE, TERM_INTEREST, TERM_KIND, TERM_KILLS, TERM_LIFE, TERM_BENCH, TERM_HOARD = range(9)
TERMS = 9
PRESETS = ("v1", "v3")

# Rules.
START_LIFE = 100
START_GOLD = 5
START_LEVEL = 2
XP_COST = 4
XP_GAIN = 4
ROUND_XP = 2
TURN_ACTIONS = 11
"""Actions after which a turn ends, by default: games of 25 to 30 rounds then take 100 to 300 steps."""
MOST_TURN_ACTIONS = 30
MOVES_IN_ROW = 2
MOST_FIGHTS = SEATS // 2
"""Fights of a round between players; one without a partner fights a ghost."""
LAST_STAGE = 45
GEAR_SLOTS = 3
"""What one creature can carry."""
