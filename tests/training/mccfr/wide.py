"""A made-up game as large as one likes: two decisions of ten actions each, one after the other."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pac.envs.poker.families import FAMILIES, PokerFamily
from pac.envs.poker.game import Deals, PokerGame
from pac.envs.poker.layout import HandLayout
from pac.envs.poker.tree import DECISION, SHOWDOWN, Action, BettingStatus, compile_tree
from pac.training.mccfr import driver
from pac.training.mccfr import task as solver

ACTIONS = 10
DEALS = 100_000


class Betting:
    """Both say a number, and the hands are compared."""

    def root(self):
        return ()

    def status(self, state):
        return BettingStatus(DECISION if len(state) < 2 else SHOWDOWN, len(state) % 2, 0, (1, 1))

    def actions(self, _state):
        return [Action(str(number), 1, number) for number in range(ACTIONS)]

    def after(self, state, action):
        return (*state, action)


@cache
def wide(rows: int) -> PokerGame:
    """Return a game of about so many information sets."""
    buckets = rows // (1 + ACTIONS)
    generator = np.random.default_rng(0)
    bucket = generator.integers(0, buckets, (DEALS, 1, 2), dtype=np.int32)
    sign = generator.integers(-1, 2, (DEALS, 1), dtype=np.int8)
    deals = Deals(np.zeros((DEALS, 2), np.uint8), np.zeros(DEALS, np.uint8), bucket, sign)
    return PokerGame("wide", compile_tree(Betting()), (buckets,), deals)


class Undrawn:
    """No boards: nobody could look at a strategy as large as this."""

    def __init__(self, *_: object) -> None:
        pass

    def draw(self) -> None:
        pass


def dress(task: Any, settings: dict[str, Any]) -> Any:
    """Dress any task as the solver's of a game with `rows` information sets."""
    rows = settings["rows"]
    vars(solver)["shown"], vars(driver)["Boards"] = lambda _task: ((), ()), Undrawn
    FAMILIES["wide"] = PokerFamily("Wide", (), lambda: HandLayout(("say",), 2, 3), lambda: wide(rows))  # type: ignore[index]
    return solver.traversals(replace(task, name="wide", values={}), {})
