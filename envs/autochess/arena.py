"""The memory of a fight, and of the teams that enter it.

A team is up to nine rows of `TEAM_WORDS` numbers. Columns and rows of the board count from the team's own left and
back: row 0 is its back row, row 2 faces the enemy.
"""

from __future__ import annotations

from .kinds import STATS

SIDE_SIZE = 9
SLOTS = 2 * SIDE_SIZE
COLUMNS, ROWS = 8, 6

# A team's row: the stats of `kinds`, then these.
SPECIES, X, Y, MAX_PP, ABILITY, ABILITY_POWER, TEAM_WORDS = range(STATS, STATS + 7)

# The arena: one block of `SLOTS` words per field, the row's fields first; times are in ms, PP in thousandths.
NEXT, DUE, HIT_AT, HIT_ON, HIT_FOR, SIDE, FULL_HP, CHARGED_AT, TARGET, RANDOM = (
    field * SLOTS for field in range(TEAM_WORDS, TEAM_WORDS + 10)
)
TAKEN = RANDOM + 1
STANDING = TAKEN + 1
DEALT = STANDING + 2
COUNT = DEALT + 2
ARENA_WORDS = COUNT + 1

# The result of a fight.
WINNER = 0
SURVIVORS = 1
DAMAGE = 3
DURATION = 5
RESULT_WORDS = 6
NO_WINNER = -1

NEVER = 1 << 40
CAP = 45_000
WAKING = 250
STUN_TIME = 1_500
