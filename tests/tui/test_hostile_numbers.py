"""Any numbers that the telemetry may contain are drawn: another machine or a killed session may have written them."""

import numpy as np
import pytest

from pac.envs import find
from pac.envs.unknown import UNKNOWN
from pac.training.telemetry.declared import ANY
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Phase
from pac.training.telemetry.segment_layout import limits_by_block

from .fake_session import CHESS, FACTS, FakeSession, paused, play

VIEWS = [("summary", ""), ("environment", ""), ("environment", "i"), ("timing", ""), ("learning", ""), ("workers", "")]
EXTREMES = ("least", "most", "nan", "inf", "-inf", "unknown")
BLOCKS = (
    *limits_by_block(describe(find("noop"), run="", **FACTS)),
    "metrics",
    "history",
    "info",
    "terms",
    "action_counts",
    "outcomes",
)
SELECTED = {"env", "seat"}
"""The fields that decide whether a record is shown at all."""


def fill(array, ranges, extreme):
    """Write an extreme of each number's range into all records, or into all numbers of a plain block."""
    for name in array.dtype.names or [None]:
        values = array if name is None else array[name]
        if name in SELECTED or values.dtype.kind not in "biuf":
            continue
        low, high, nan = ranges.get(name, ANY)
        floats = values.dtype.kind == "f"
        limits = np.finfo(values.dtype) if floats else np.iinfo(values.dtype)
        if extreme in {"least", "most"}:
            values[...] = max(low, limits.min) if extreme == "least" else min(high, limits.max)
        elif floats and (low <= float(extreme) <= high if "inf" in extreme else nan):
            values[...] = UNKNOWN if extreme == "unknown" else float(extreme)


@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("task", ["drmario", CHESS], ids=["drmario", "all kinds of boards"])
@pytest.mark.thorough
def test_views_draw_extreme_numbers(still, stage, task, extreme):
    """In all blocks at once. NaN is a value, and unknown is not."""
    fake = still(task)
    drawn = draw_all(fake, stage, extreme, list(fake.writer._mapped.arrays))
    assert ("NaN" in drawn) == (extreme == "nan") or "inf" in extreme


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("block", "extreme"),
    [
        pytest.param(block, extreme, marks=[] if at in {number % 2, 2 + number % 4} else [pytest.mark.slow])
        for number, block in enumerate(BLOCKS)
        for at, extreme in enumerate(EXTREMES)
    ],
)
def test_views_draw_extreme_numbers_of_one_block(still, stage, block, extreme):
    """Beside usual ones: a finite and another one of each block; the slow tests have the rest."""
    fake = still()
    play(fake)
    paused(fake)
    draw_all(fake, stage, extreme, [block])


def draw_all(fake: FakeSession, stage, extreme, blocks):
    limits = limits_by_block(describe(fake.task, run="", **FACTS))
    for block in blocks:
        if block == "metric_count":
            continue
        with fake.writer.write(block) as array:
            fill(array, limits.get(block, {}), extreme)
            if block == "processes":
                array["role"] = b"worker"
            if block == "timeline":
                array["name"] = b"lane"
                array["phases"] = b"phase"
    with fake.writer.write("state") as state:
        state["phase"], state["num_envs"] = Phase.PAUSED, fake.num_envs
    return "".join(stage.screen(fake, (120, 40), *keys, view=view) for view, keys in VIEWS)
