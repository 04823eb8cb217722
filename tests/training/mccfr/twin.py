"""External sampling as the paper tells it, by recursion over a hand's history, in plain Python: slow and plain to see.

It works in the same precision and from the same random words, so its tables are the kernel's, bit for bit.
"""

import numpy as np

from pac.envs.native import GOLDEN, mixed, stream
from pac.envs.poker.tree import DECISION, FOLD, SHOWDOWN, STREET
from pac.envs.task import MASK_64

ZERO, UNIT = np.float32(0), np.float32(2.0**-24)


def output(begun, number):
    """The output of that number, from 1 on, of the generator that begins at a word."""
    return int(mixed(np.uint64((begun + number * int(GOLDEN)) & MASK_64)))


class Twin:
    """Learns one game.

    Attributes:
        table: `(entries, 2)` regrets and sums.
        updates: `(rows,)` updates of regrets.
    """

    def __init__(self, game, seed):
        self.game, self.tree, self.deals = game, game.tree, game.deals
        self.seed = np.uint64(seed)
        self.table = np.zeros((game.entries, 2), np.float32)
        self.updates = np.zeros(game.rows, np.uint32)
        self.number = {node: place for place, node in enumerate(np.flatnonzero(self.tree.kind == DECISION))}
        self.learning, self.deal, self.key = 0, 0, 0

    def iterate(self, iteration):
        """Deal, and traverse for each player."""
        begun = int(stream(self.seed, np.uint64(iteration)))
        self.deal = (output(begun, 1) >> 33) * len(self.deals.sign) >> 31
        for self.learning in (0, 1):
            self.key = int(stream(np.uint64(begun), np.uint64(self.learning)))
            self.value(0)

    def value(self, node):
        """What a history is worth to the traverser."""
        kind, player = self.tree.kind[node], self.tree.player[node]
        if kind == STREET:
            return self.value(self.tree.below(node, 0))
        if kind != DECISION:
            won = self.payoff(node, kind, player)
            return won if self.learning == 0 else -won
        bucket = int(self.deals.bucket[self.deal, self.tree.street[node], player])
        entry, degree = self.game.entry(node, bucket), int(self.tree.degree[node])
        regrets, sums = self.table[entry : entry + degree].T
        if player == self.learning:
            return self.explore(node, bucket, regrets)
        return self.follow(node, regrets, sums)

    def payoff(self, node, kind, player):
        """What player 0 wins at an end."""
        if kind == FOLD:
            return self.tree.paid[node, player] * np.float32(1 if player else -1)
        assert kind == SHOWDOWN
        return min(self.tree.paid[node]) * np.float32(self.deals.sign[self.deal, self.tree.result[node]])

    def explore(self, node, bucket, regrets):
        """Try every action, learn what each would have been better than the strategy; no reach comes in."""
        values = [self.value(self.tree.below(node, action)) for action in range(len(regrets))]
        positive = np.maximum(regrets, ZERO)
        total, matching, plain = ZERO, ZERO, ZERO
        for regret, value in zip(positive, values, strict=True):
            total, matching, plain = total + regret, matching + regret * value, plain + value
        mean = matching / total if total > 0 else plain / np.float32(len(values))
        regrets += np.array([value - mean for value in values], np.float32)
        self.updates[self.game.row(node, bucket)] += 1
        return mean

    def follow(self, node, regrets, sums):
        """Add the strategy to its average, and go on with one action of it."""
        share = np.float32(output(self.key, self.number[node] + 1) >> 40) * UNIT
        positive = np.maximum(regrets, ZERO)
        total = ZERO
        for regret in positive:
            total += regret
        if total <= 0:
            sums += np.float32(1) / np.float32(len(regrets))
            return self.value(self.tree.below(node, int(share * np.float32(len(regrets)))))
        sums += positive / total
        left, chosen = share * total, 0
        for regret in positive:
            left -= regret
            chosen += bool(left >= 0)
        return self.value(self.tree.below(node, min(chosen, len(regrets) - 1)))
