"""Slow, obvious twins of the games' betting: a hand is played again from its first word at every look."""

from __future__ import annotations

from typing import NamedTuple


class Replayed(NamedTuple):
    """Where a hand stands: who is next, or how it ended."""

    street: int
    player: int | None
    paid: tuple[int, int]
    can: tuple[str, ...] = ()
    ended: str = ""


def limit(history: list[str], ante: int, bets: tuple[int, ...], most: int) -> Replayed:
    """Tell a hand of limit poker from its words, with `deal` between the rounds."""
    paid, street, words = [ante, ante], 0, list(history)
    while True:
        player, raises, spoken = 0, 0, 0
        while True:
            facing = paid[player] < paid[1 - player]
            if not words:
                can = (("fold", "call") if facing else ("check",)) + (
                    (("raise" if facing else "bet"),) if raises < most else ()
                )
                return Replayed(street, player, (paid[0], paid[1]), can)
            word = words.pop(0)
            spoken += 1
            if word == "fold":
                return Replayed(street, player, (paid[0], paid[1]), ended="fold")
            if word in {"bet", "raise"}:
                paid[player] = paid[1 - player] + bets[street]
                raises += 1
            elif word == "call":
                paid[player] = paid[1 - player]
                break
            elif spoken == 2:
                break
            player = 1 - player
        if street == len(bets) - 1:
            return Replayed(street, None, (paid[0], paid[1]), ended="showdown")
        if not words:
            return Replayed(street, None, (paid[0], paid[1]), ("deal",))
        assert words.pop(0) == "deal"
        street += 1


def liar(history: list[str], faces: int) -> Replayed:
    """Tell a hand of liar's dice from its words."""
    player = len(history) % 2
    if history and history[-1] == "liar":
        return Replayed(0, None, (1, 1), ended="showdown")
    ladder = [f"{number}x{face}" for number in (1, 2) for face in range(1, faces + 1)]
    last = ladder.index(history[-1]) if history else -1
    return Replayed(0, player, (1, 1), (*ladder[last + 1 :], *(("liar",) if history else ())))


class NoLimitTable:
    """A dealer of heads-up no-limit hold'em, who allows whatever the rules do and knows no abstraction."""

    def __init__(self, stack: int, small: int, big: int) -> None:
        self.stack, self.big = stack, big
        self.left = [stack - small, stack - big]
        self.street_bets = [small, big]
        self.street, self.turn, self.last_raise = 0, 0, big
        self.spoken: set[int] = set()
        self.ended = ""
        self.waits_for_cards = False

    @property
    def paid(self) -> tuple[int, int]:
        return self.stack - self.left[0], self.stack - self.left[1]

    @property
    def facing(self) -> bool:
        return self.street_bets[self.turn] < max(self.street_bets)

    def fold(self) -> None:
        assert self.facing, "nobody folds without a bet"
        self.ended = "fold"

    def check_or_call(self) -> None:
        self._put(max(self.street_bets))
        self._next()

    def raise_to(self, total: int) -> None:
        """Make `total` chips of the whole hand stand in front of the next player."""
        bet = total - (self.paid[self.turn] - self.street_bets[self.turn])
        by = bet - max(self.street_bets)
        assert self.left[1 - self.turn] > 0, "nobody raises one who is all-in"
        assert by >= self.last_raise or total == self.stack, "a raise is as large as the last one, or all-in"
        assert total <= self.stack
        self.last_raise = max(by, self.last_raise)
        self._put(bet)
        self.spoken = set()
        self._next()

    def deal(self) -> None:
        assert self.waits_for_cards
        self.street += 1
        self.waits_for_cards = False
        self.turn, self.street_bets, self.last_raise, self.spoken = 1, [0, 0], self.big, set()
        if 0 in self.left:
            self._end_of_street()

    def _put(self, bet: int) -> None:
        self.left[self.turn] -= bet - self.street_bets[self.turn]
        self.street_bets[self.turn] = bet

    def _next(self) -> None:
        self.spoken.add(self.turn)
        self.turn = 1 - self.turn
        if len(self.spoken) == 2 and self.street_bets[0] == self.street_bets[1]:
            self._end_of_street()

    def _end_of_street(self) -> None:
        if self.street == 3:
            self.ended = "showdown"
        else:
            self.waits_for_cards = True
