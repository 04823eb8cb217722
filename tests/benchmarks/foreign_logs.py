"""How long it takes to find the logs of TensorBoard in a folder, and to read the first curves.

python -m tests.benchmarks.foreign_logs FOLDER writes 300 files of 1 MB there, if it is empty, and measures.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from pac.training.foreign.logs import find_logs, read_log

from ..training.foreign.writing import event, write_events

FILES, SIZE = 300, 1_000_000
SHOWN = 20


def write(folder: Path) -> None:
    """Write the files, each a run of its own: one is computed, and the others are copies of it."""
    generator, events = np.random.default_rng(0), []
    for step in range(SIZE // 146):
        noise = generator.normal(0, 1, 3).tolist()
        names = ("rollout__ep_rew_mean", "train__value_loss", "train__policy_gradient_loss", "train__entropy_loss")
        events.append(event(1000 * step, 1e9 + step, **dict(zip(names, (step + noise[0], *noise), strict=True))))
    first = write_events(folder / "run-0" / "events.out.tfevents.1.host", events)
    for number in range(1, FILES):
        path = folder / f"run-{number}" / first.name
        path.parent.mkdir()
        path.write_bytes(first.read_bytes())


def main() -> None:
    """Print what was measured."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        write(folder)
    began = time.perf_counter()
    logs = find_logs(folder)
    listed = time.perf_counter()
    size = sum(path.stat().st_size for path in logs[0].path.iterdir())
    read_log(logs[0].path)
    first = time.perf_counter()
    for log in logs[1:SHOWN]:
        read_log(log.path)
    screen = time.perf_counter()
    print(
        f"{len(logs)} logs of {size / 1e6:.2f} MB: listed after {listed - began:.2f} s, the first curves after "
        f"{first - began:.2f} s, those of {SHOWN} runs after {screen - began:.2f} s"
    )


if __name__ == "__main__":
    main()
