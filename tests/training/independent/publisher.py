"""A process that publishes at full speed. Argument: a file for the segment's path. It ends when its stdin is closed."""

import select
import sys
from pathlib import Path

import numpy as np
import torch

from pac.backends.system.arrays import NamedArrays
from pac.training.independent.mailbox import Mailbox, Sizes, specs_of

LAYOUT = {"first": torch.zeros(300, 7), "second": torch.zeros(5_000), "third": torch.zeros(())}
SPECS = specs_of(Sizes(sum(one.numel() for one in LAYOUT.values()), 1, 1))


def main() -> None:
    torch.set_num_threads(1)
    arrays = NamedArrays.create(SPECS, "mailbox")
    mailbox = Mailbox(arrays, LAYOUT)
    mailbox.publish({name: torch.full_like(one, 1.0) for name, one in LAYOUT.items()}, np.ones(1), np.ones(1) / 2)
    assert arrays.segment is not None
    Path(sys.argv[1]).write_text(str(arrays.segment.path))
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            number = mailbox.version + 1
            tensors = {name: torch.full_like(one, number % 2**20) for name, one in LAYOUT.items()}
            mailbox.publish(tensors, np.array([number]), np.array([number / 2]))


if __name__ == "__main__":
    main()
