"""Numbers of a session as rows: uncut at any width, with correct sums."""

import time

from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Level
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.tui.drawing.numbers import NA
from pac.tui.views.base import ViewUpdate
from pac.tui.views.borders import borders_of
from pac.tui.views.curves import Curves, all_curves
from pac.tui.views.number_rows import Entry, pairs, shows_scaling, throughput
from pac.tui.views.workers import event_rows


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
        frames = borders_of(take_snapshot(TelemetryReader(fake.directory), ViewRequest()), 0, 1, 1000.0 + after, None)
        return frames[0].captions[0].startswith("cleared")

    assert [announced(after, sps=80.0) for after in (0.1, 0.9, 1.1)] == [True, True, False]
    assert [announced(after, sps=800.0) for after in (0.05, 0.3)] == [True, False]


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


def test_speedup_and_efficiency_have_rows_whether_the_baseline_is_known_or_not(fake):
    """One of an earlier session has its age."""

    def texts():
        snapshot = take_snapshot(TelemetryReader(fake.directory), ViewRequest())
        return ["".join(segment.text for segment in row) for row in throughput(snapshot, 40)]

    fake.say(baseline=float("nan"), baseline_when=float("nan"))
    assert [text.split()[:2] for text in texts()[-2:]] == [["speedup", "press"], ["efficiency", "press"]]
    fake.say(baseline=100.0, baseline_when=time.time() - 90000)
    assert [text.split(" ·")[0] for text in texts()[-3:]] == ["speedup", "efficiency", "baseline, 1 d old"]


def test_one_environment_has_no_speedup(fake):
    """It is the baseline, unless other numbers of environments were measured."""
    fake.restart(1)
    fake.scaling(n1=750.0)
    assert not shows_scaling(snapshot(fake))
    fake.scaling(n1=750.0, n4=1800.0)
    assert shows_scaling(snapshot(fake))


def test_a_curve_without_two_points_says_what_it_waits_for(fake):
    """Of an evaluation, that is another thing than of an iteration."""
    fake.history(return_mean=[1.0], **{"eval/return": [0.5]})
    update = ViewUpdate(snapshot(fake), 0.0, 0, numbers=True)
    rows = [Curves().section(update, name).rows(60, 8)[0] for name in ("return_mean", "eval/return", "kl")]
    assert ["".join(segment.text for segment in row) for row in rows] == [
        "its second value comes when an iteration ends",
        "its second value comes when an evaluation ends",
        "its first value comes when an iteration ends",
    ]


def snapshot(fake):
    """Return what the app sees of a session."""
    return take_snapshot(TelemetryReader(fake.directory), ViewRequest(curves=("return_mean", "eval/return")))


def test_an_event_names_its_environment_once(fake):
    """Breakpoints and alarms name it themselves."""
    for text in ("break: env 2: reward > 1 (reward 3)", "it is slow"):
        fake.event(Level.WARNING, text)
    with fake.writer.write("events") as events:
        events["env"][:2] = 1
    fake.say()
    texts = ["".join(segment.text for segment in row)[17:] for row in event_rows(snapshot(fake), 80, 2)]
    assert texts == ["Env 2: it is slow", "break: env 2: reward > 1 (reward 3)"]
