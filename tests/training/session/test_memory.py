"""What the memory of a trainer consists of, and which lines allocate."""

import threading
from typing import Any

import numpy as np
import torch
from torch import nn

from pac.backends.profiling.allocations import allocations
from pac.envs.slots import SlotOrder
from pac.training.nets.weights import Adam
from pac.training.session.memory import buffer_part, trainer_parts


class Kept:
    """A trainer that keeps a network, its optimizer, views of the buffer, and some arrays."""

    def __init__(self, buffer):
        self.network = nn.Linear(100, 50)
        self.target = self.network
        self.adam = Adam(self.network)
        self.sgd = torch.optim.SGD(self.network.parameters(), 0.1, momentum=0.9)
        self.network(torch.zeros(1, 100)).sum().backward()
        self.sgd.step()
        self.view = buffer["reward"][1:]
        self.rows = {"seen": [np.zeros(1000), torch.zeros(250)], "same": self.view}
        self.me = self


def test_each_array_of_a_trainer_counts_once_as_what_it_is():
    """Weights that an optimizer and a target share, too; the buffer is a part of its own."""
    buffer: dict[str, Any] = {"reward": np.zeros((4, 8), np.float32), "last": np.broadcast_to(np.zeros(3), (4, 3))}
    found = {part.name: part.size for part in trainer_parts(Kept(buffer), buffer)}
    weights = 4 * 101 * 50
    assert 3 * weights < found.pop("optimizer") < 3 * weights + 100  # two moments, a momentum, and counts of steps
    assert found == {"weights": weights, "other arrays": 8000 + 1000}


def test_the_line_that_keeps_memory_is_named_first():
    """What it keeps between the two snapshots; nothing goes on afterwards, and what a step needs is not named."""
    kept, done = [], threading.Event()

    def leaks():
        while not done.wait(0.002):
            bytes(100_000)
            kept.append(bytes(10_000))  # this line

    thread = threading.Thread(target=leaks)
    thread.start()
    try:
        found = allocations("a script", 0.3)
    finally:
        done.set()
        thread.join()
    file, line, size, objects = found["lines"][0]
    assert (file, line) == (__file__, leaks.__code__.co_firstlineno + 3)
    assert 10_000 * objects <= size < 10_200 * objects + 10_000
    assert found["process"] == "a script"
    assert found["cost"] > 0


def test_memory_of_this_process_counts_as_far_as_the_replay_is_written():
    """The system gives it page by page; shared memory is reserved at once."""
    buffer, order = {"action": np.zeros((100, 8), np.int64)}, SlotOrder(100, ring=True)
    order.begin(0)
    for slot in range(1, 25):
        order.wrote(slot)
    own, shared = (buffer_part(buffer, order, shared=shared) for shared in (False, True))
    assert (own.name, own.detail, own.size) == ("replay", "100 slots x 8 rows x 8 B, 25% written", 1600)
    assert (shared.size, shared.where) == (6400, "shared")
