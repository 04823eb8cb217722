"""Numbers of a session as rows: uncut at any width, with correct sums."""

from contextlib import closing
from dataclasses import replace

import pytest

from pac.envs import Field
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.telemetry.timeline import Lane
from pac.training.trainer import Lap
from pac.tui.drawing.numbers import NA
from pac.tui.drawing.styles import GROUND, LINE, hex_of
from pac.tui.views import environment_rows, figures, timing
from pac.tui.views.curves import all_curves
from pac.tui.views.figures import Entry, pairs
from pac.tui.views.frames import frames_of
from pac.tui.views.lanes import NAME, lanes_section

from .fake_session import CHESS, FakeSession, play


def test_numbers_are_aligned_and_joined_to_their_labels():
    """With units or without; dots lead from a label to a number that is far away."""
    entries = [Entry("batches/s(per-worker)", "12.4", "/s"), Entry("worker", "1")]
    texts = ["".join(segment.text for segment in row) for row in pairs(entries, 29)]
    assert texts == ["batches/s(per-worker) 12.4 /s", "worker ················· 1   "]


def test_an_outcome_is_shown_for_a_part_of_an_episode(fake):
    """If episodes are shorter than a second, a board does not show outcomes all the time."""
    with fake.writer.write("environments") as table:
        table["ended"][0], table["last_outcome"][0] = 1000.0, 1

    def announced(after, sps):
        fake.say(sps=sps, length_mean=40.0)
        frames = frames_of(take_snapshot(TelemetryReader(fake.directory), ViewRequest()), 0, 1, 1000.0 + after, None)
        return frames[0].captions[0].startswith("cleared")

    assert [announced(after, sps=80.0) for after in (0.1, 0.9, 1.1)] == [True, True, False]
    assert [announced(after, sps=800.0) for after in (0.05, 0.3)] == [True, False]


@pytest.mark.parametrize("height", [6, 7, 8, 12, 30])
def test_every_phase_has_its_row_beside_the_boards(fake, height):
    """If there is no room, the bar is left out, not a phase."""
    play(fake)
    rows = figures.time_table(take_snapshot(TelemetryReader(fake.directory), ViewRequest()), 40, height)
    assert len(rows) <= height
    named = [row[1].text.strip() for row in rows if row and row[0].text == "■ "]
    assert named == ["environment", "transport wait", "inference", "learner", "Python", "unaccounted"]


@pytest.mark.parametrize("rows_of", [environment_rows.episode, environment_rows.reward])
@pytest.mark.parametrize("width", [19, 22, 23, 26, 27, 40])
def test_labels_of_an_episode_are_not_cut(fake, rows_of, width):
    """If there is no room for the last episode, it is left out."""
    play(fake)
    rows = rows_of(take_snapshot(TelemetryReader(fake.directory), ViewRequest()), 0, width)
    head, *texts = ["".join(segment.text for segment in row) for row in rows]
    assert head.split() == ["this", "last"][: len(head.split())]
    assert {len(text) for text in (head, *texts[:2])} == {width}
    assert "…" not in "".join(text.split()[0] for text in texts)


def test_the_timing_view_fits_a_slim_terminal(fake):
    """With names, milliseconds and shares, and their sum in the last line."""
    play(fake)
    snapshot = take_snapshot(TelemetryReader(fake.directory), ViewRequest())
    texts = ["".join(segment.text for segment in row) for row in timing.rows_of(snapshot, 36, 9)]
    assert len(texts) == 9
    assert all(len(text) <= 36 for text in texts)
    first = [text.split()[0] for text in texts[2:]]
    assert first == ["environment", "transport", "inference", "learner", "Python", "unaccounted", "one"]
    assert texts[-1].split()[-2:] == ["100.0", "%"]


def test_a_lane_is_divided_by_time():
    """Each phase has its color and its share of the width; where nothing is reported, the lane is empty."""
    laps = (Lap("environment", 0.0, 1.0), Lap("learner", 2.0, 4.0))
    section = lanes_section([Lane("training", 1, laps), Lane("empty", 1, ())], 1)
    assert section is not None
    (name, _, *cells), legend = section.rows(NAME + 40, 9)
    assert name.text.strip() == "training"
    drawn = [(len(cell.text), cell.style.color.name) for cell in cells if cell.style and cell.style.color]
    assert drawn == [
        (10, hex_of(figures.COLORS["environment"])),
        (10, hex_of(GROUND)),
        (20, hex_of(figures.COLORS["learner"])),
    ]
    assert "environment" in "".join(segment.text for segment in legend)
    assert lanes_section([], 1) is None


def test_lanes_end_with_the_last_work():
    """While a session is paused, its learner idles; this pushes nothing out of sight. Evaluations are below it."""
    lanes = [
        Lane("training", 1, (Lap("collecting", 0.0, 10.0),)),
        Lane("evaluation", 1, (Lap("evaluating", 0.0, 5.0), Lap("idle", 5.0, 90.0))),
        Lane("learner", 1, (Lap("learner", 0.0, 2.0), Lap("idle", 2.0, 90.0))),
    ]
    section = lanes_section(lanes, 1)
    assert section is not None
    rows = section.rows(NAME + 40, 9)
    assert [row[0].text.strip() for row in rows[:3]] == ["training", "learner", "evaluation"]
    assert [len(cell.text) for cell in rows[1][2:]] == [8, 32]
    assert section.note == "last 10.00 s"


def test_phases_of_learners_have_colors_of_their_own():
    """None is that of another phase which is shown, and waiting is as faint as idling."""
    training, learner = (
        ("inference", "environment", "learner", "python"),
        ("sample", "gradient step", "publish", "wait"),
    )
    lanes = [
        Lane(name, 1, tuple(Lap(phase, at, at + 1.0) for at, phase in enumerate(phases)))
        for name, phases in (("training", training), ("agent 1", learner))
    ]
    section = lanes_section(lanes, 1)
    assert section is not None
    legend = section.rows(150, 9)[-1]
    marks = [cell.style.color.name for cell in legend if cell.text == "■ " and cell.style and cell.style.color]
    assert len(set(marks)) == len(training + learner)
    assert marks[-1] == hex_of(LINE)


def test_metrics_of_several_learners_are_beside_each_other(fake):
    """Returns come first, although no episode had ended when the others were first reported."""
    names = [
        "loss",
        "learning_rate",
        "learner1/loss",
        "learner1/learning_rate",
        "agent_return",
        "learner1/agent_return",
    ]
    fake.history(**{name: [1.0, 2.0] for name in ("return_mean", *names)})
    assert all_curves(take_snapshot(TelemetryReader(fake.directory), ViewRequest())) == [
        *("return_mean", "agent_return", "learner1/agent_return", "loss", "learner1/loss"),
        *("learning_rate", "learner1/learning_rate"),
    ]


def test_a_missing_number_has_no_unit():
    """Other numbers stay aligned with it."""
    missing, known = (
        "".join(part.text for part in row) for row in pairs([Entry("entropy", NA, "nats"), Entry("value", "1.5")], 30)
    )
    assert "nats" not in missing
    assert missing.index(NA) + len(NA) == known.index("1.5") + 3


def test_the_figures_of_overlap_are_below_the_lanes():
    """As numbers, on a terminal with 80 columns."""
    figures = {"overlap/efficiency": 1.874, "overlap/collector_idle": 0.03, "overlap/learner_idle": 0.11}
    section = lanes_section([Lane("training", 1, (Lap("collecting", 0.0, 1.0),))], 1, figures)
    assert section is not None
    text = "".join(segment.text for segment in section.rows(76, 9)[-1])
    assert text.strip() == "overlap efficiency 1.87 of 2   training idle 3%   learner idle 11%"
    assert len(text) <= 76


def test_what_wrappers_repeat_of_an_episode_is_not_shown_again(tmp_path):
    """The panel of the episode has return and length; other scalars stay."""
    names = ("episode.r", "coins", "episode.l")
    task = replace(CHESS, info=tuple(Field(name, "float32") for name in names))
    with closing(FakeSession(tmp_path, task, 1)) as fake:
        snapshot = take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=0))
    rows = ["".join(segment.text for segment in row) for row in environment_rows.info(snapshot, 0, 30)]
    assert [row.split()[0] for row in rows] == ["coins"]
