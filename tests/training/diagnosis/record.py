"""Records what sick trainings show, for the page of the diagnosis.

`python -m tests.training.diagnosis.record [NAME ...]` watches illnesses, two at a time, and writes what each rule
found, with its curve, into `recorded.json`.
"""

import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .illnesses import ILLNESSES, watched

FILE = Path(__file__).with_name("recorded.json")
POINTS, DIGITS = 60, 3
KEPT = ("severity", "text", "step", "value")


def recorded(illness: str) -> dict[str, Any]:
    """Return by rule what was found in a training with an illness."""
    with tempfile.TemporaryDirectory() as folder:
        found = watched(Path(folder), illness)
    kept = {}
    for rule, finding in found.findings.items():
        points = [(row["steps"], row[finding["curve"]]) for row in found.rows if finding["curve"] in row]
        some = points[:: max(1, len(points) // POINTS)][:POINTS]
        curve = [[float(f"{value:.{DIGITS}g}") for value in axis] for axis in zip(*some, strict=True)]
        kept[rule] = {name: finding[name] for name in KEPT} | {"illness": illness, "curve": finding["curve"]}
        kept[rule] |= {"steps": curve[0], "values": curve[1]} if curve else {}
    named = "named" if set(ILLNESSES[illness].rules) & set(kept) else "not named"
    sys.stderr.write(f"{illness}: {named}: {', '.join(sorted(kept))}\n")
    return kept


def main() -> None:
    """Record the illnesses that are named, or all."""
    chosen = sys.argv[1:] or list(ILLNESSES)
    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(chosen, pool.map(recorded, chosen), strict=True))
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for illness, found in results.items():
        known |= {rule: found[rule] for rule in ILLNESSES[illness].rules if rule in found}
    FILE.write_text(
        json.dumps(dict(sorted(known.items())), indent=None, separators=(",", ":")).replace("},", "},\n") + "\n"
    )


if __name__ == "__main__":
    main()
