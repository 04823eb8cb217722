"""Metrics are read line by line: what is damaged is skipped and counted, and no line can hold up a reader."""

import json
import math
import os
import re
import tracemalloc

import pytest

from pac.envs.unknown import UNKNOWN
from pac.training.runs import metrics
from pac.training.runs.metadata import RunFolderError
from pac.training.runs.metrics import FILE, MAX_LINE


def rows(*counts):
    return [{"iterations": count, "steps": 10 * count} for count in counts]


@pytest.fixture
def folder(tmp_path):
    """A run's folder with three lines of metrics."""
    for row in rows(1, 2, 3):
        metrics.append(tmp_path, row)
    return tmp_path


def text_of(folder):
    return (folder / FILE).read_text()


def test_what_was_written_comes_back(folder):
    """Without the checksum that every line has."""
    assert metrics.read(folder) == (rows(1, 2, 3), 0)
    assert all(re.fullmatch(r".*, \"checksum\": \"[0-9a-f]{16}\"}", line) for line in text_of(folder).splitlines())


@pytest.mark.parametrize("new", ['"steps": 21', '"steps": 20 ', '"steps": 20, "steps": 20'])
def test_a_changed_line_is_skipped_and_counted(folder, new):
    """Its checksum shows it."""
    path = folder / FILE
    path.write_text(text_of(folder).replace('"steps": 20', new, 1))
    assert metrics.read(folder) == (rows(1, 3), 1)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 50_000,
        '{"steps": ' + "9" * 400 + "}",
        '{"steps": ' + "9" * 9000 + "}",
        '{"iterations": 9, "st',
        '{"checksum": "0123"}',
        "x" * MAX_LINE,
    ],
    ids=["deep", "400 digits", "9,000 digits", "cut", "only a checksum", "long"],
)
def test_a_damaged_line_is_skipped_and_counted(folder, line):
    """Whatever it holds, the lines around it are there."""
    with (folder / FILE).open("a") as file:
        file.write(line + "\n")
    metrics.append(folder, rows(4)[0])
    assert metrics.read(folder) == (rows(1, 2, 3, 4), 1)


def test_lines_about_findings_are_no_metrics(folder):
    """Nor are they damaged; each finding is as at its last line, unless that is damaged."""
    begun = {"rule": "one-action", "began": 5.5, "text": "action 1", "ended": None}
    for change, finding in (("begins", begun), ("ends", {**begun, "ended": 9.5})):
        metrics.append(folder, {metrics.FINDING: finding, "change": change, "steps": 30})
    with (folder / FILE).open("a") as file:
        file.write('{"finding": {"rule": "x", "began": 1}, "checksum": "0123456789abcdef"}\n')
    metrics.append(folder, rows(4)[0])
    assert metrics.read(folder) == (rows(1, 2, 3, 4), 1)
    assert metrics.sample(folder, 2).rows == rows(1, 2, 3, 4)
    assert metrics.read_findings(folder) == [{**begun, "ended": 9.5}]


def test_unknown_values_are_missing_and_those_that_are_not_finite_are_there(folder):
    """The rest of their line is there, too, also if it has no checksum, as in older versions. Counters are finite."""
    with (folder / FILE).open("a") as file:
        file.write('{"iterations": 4, "steps": 40, "frames": 1e999, "fps": null, "kl": 1e999}\n')
    metrics.append(folder, {"iterations": 5, "steps": 50, "kl": -math.inf, "loss": math.nan, "fps": UNKNOWN})
    written = json.loads(text_of(folder).splitlines()[-1])
    assert (written["kl"], written["loss"], written["fps"]) == ("-Infinity", "NaN", None)
    *before, fourth, fifth = metrics.read(folder).rows
    assert before == rows(1, 2, 3)
    assert fourth == {"iterations": 4, "steps": 40, "kl": math.inf}
    assert math.isnan(fifth.pop("loss"))
    assert fifth == {"iterations": 5, "steps": 50, "kl": -math.inf}


@pytest.mark.parametrize("read", [metrics.read, lambda folder: metrics.sample(folder, 4)])
def test_a_line_that_never_ends_is_not_held(folder, read):
    """It is passed over piece by piece: a file of any size takes little memory."""
    with (folder / FILE).open("a") as file:
        file.write("[" * (32 * MAX_LINE) + "\n")
    for row in rows(4, 5):
        metrics.append(folder, row)
    tracemalloc.start()
    found = read(folder)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.rows[0] == rows(1)[0]
    assert found.rows[-1] == rows(5)[0]
    assert most < 8 * MAX_LINE


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()])
def test_only_a_regular_file_is_read_and_written(tmp_path, make):
    """A FIFO, a device and a folder are errors that name the file, and nothing waits for them."""
    make(tmp_path / FILE)
    for read in (metrics.read, lambda folder: metrics.sample(folder, 4)):
        with pytest.raises(RunFolderError, match=r"metrics\.jsonl cannot be read \(it is a"):
            read(tmp_path)
    with pytest.raises(OSError, match=r"it is a|directory"):
        metrics.append(tmp_path, {"steps": 1})


def test_without_a_file_there_are_none(tmp_path):
    """A run that has just begun has no metrics."""
    assert metrics.read(tmp_path) == metrics.sample(tmp_path, 4) == ([], 0)
