"""One rank of a training, for torchrun: trains and writes its weights into the folder that is its argument."""

import sys
from pathlib import Path

import torch

from pac.training.ranks import RankLost
from pac.training.torchrun import join_ranks
from tests.training.test_ranks import train

ITERATIONS = 6


def main() -> None:
    """Train, and try what only several processes can show."""
    folder, ranks = Path(sys.argv[1]), join_ranks()
    torch.save(train(ranks, 4, ITERATIONS)[0], folder / f"rank{ranks.rank}.pt")
    assert ranks.from_writer({"rank": ranks.rank, "list": [1.5, None]}) == {"rank": 0, "list": [1.5, None]}
    assert ranks.totals([1, ranks.rank]) == [2, 1]
    assert ranks.any(ranks.rank == 1)
    if ranks.rank == 1:
        ranks.leave()
        return
    try:
        ranks.maximum(0)
    except RankLost as error:
        (folder / "lost").write_text(str(error))


if __name__ == "__main__":
    main()
