"""A process that writes a ring at full speed. What each observation contains follows from its position and row.

Arguments: a file for the segments' paths as JSON. It writes until its stdin is closed.
"""

import json
import select
import sys
from pathlib import Path

import numpy as np

from pac.backends.core.layout import Layout
from pac.backends.system.arrays import NamedArrays
from pac.backends.system.segment import Segment
from pac.envs.fields import DECIDES
from pac.training.replay.replay import Replay
from pac.training.replay.settings import ReplaySettings

from ...toys import toy

NUMBERS = 64
SLOTS, ROWS = 48, 4
SETTINGS = ReplaySettings(1, steps=2, stack=3, gamma=1.0, spare=1)
EPISODE = 9
"""Steps of an episode; each is truncated."""
TASK = toy("int64", (NUMBERS,), num_actions=5, players=2)


def observed(position, row, *, last=False):
    """Return the number that an observation repeats."""
    return (2 * position + last) * ROWS + row


def attached(paths, seed=0, seat=None):
    """Return a replay of this process over the arrays of another one."""
    buffer = Layout(TASK, ROWS // 2, SLOTS, ring=True).map(Segment.attach(Path(paths["buffer"])).map)
    memory = NamedArrays.attach(SETTINGS.specs(TASK, SLOTS, ROWS), Path(paths["memory"]))
    return Replay(TASK, buffer, SETTINGS, seed, memory=memory, seat=seat)


def main():
    layout = Layout(TASK, ROWS // 2, SLOTS, ring=True)
    segment = Segment.create("ring", layout.size)
    layout.stamp(segment.map)
    buffer = layout.map(segment.map)
    memory = SETTINGS.new_memory(TASK, SLOTS, ROWS, shared=True)
    replay = Replay(TASK, buffer, SETTINGS, 0, memory=memory)
    rows = np.arange(ROWS)
    buffer["active"][:] = DECIDES
    buffer["episode"][0] = 0

    def write():
        position, slot = replay.head, replay.head % SLOTS
        ended = position > 0 and position % EPISODE == 0
        buffer["observation"][slot] = observed(position, rows)[:, None]
        buffer["reward"][slot] = position % 100
        buffer["truncated"][slot] = ended
        if ended:
            buffer["final_observation"][slot] = observed(position, rows, last=True)[:, None]
            buffer["episode"][0] += 1
        replay.add()

    for _ in range(SLOTS):
        write()
    assert memory.segment is not None
    Path(sys.argv[1]).write_text(json.dumps({"buffer": str(segment.path), "memory": str(memory.segment.path)}))
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            write()


if __name__ == "__main__":
    main()
