"""Actions that are not a single number, as text."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import Snapshot, ViewRequest, take_snapshot
from pac.tui.drawing.styles import SIGNS
from pac.tui.views import environment_rows

from .fake_session import CHESS, FakeSession

CONTINUOUS = replace(CHESS, num_actions=2, bounds=((-1.0, 1.0), (-20.0, 20.0)), action_names=())
GRID = replace(CHESS, num_actions=60, action_shape=(4, 3, 5), action_names=())
SEVERAL = replace(CHESS, num_actions=5, choices=(3, 2), action_names=())


def seen(tmp_path, task, last, **policy: object) -> Snapshot:
    """Return a snapshot in which environment 1 took the action `last`, and thought so."""
    with closing(FakeSession(tmp_path, task, 2)) as fake:
        with fake.writer.write("actions") as block:
            block[0] = last
        fake.write("policy", env=0, value=0.5, entropy=1.0, **policy)
        return take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=0))


def acted(snapshot) -> str:
    """The last action of environment 1."""
    return environment_rows.action_text(snapshot.description, environment_rows.last_actions(snapshot, 0))


def texts(rows) -> list[str]:
    return [" ".join("".join(segment.text for segment in row).replace("·", " ").split()) for row in rows]


def test_continuous_actions_are_numbers(tmp_path):
    """The policy shows the mean and deviation of each."""
    means, deviations = [0.25, -3.0, *[0] * 30], [0.5, 4.0, *[0] * 30]
    snapshot = seen(tmp_path, CONTINUOUS, [0.5, -12], numbers=2, means=means, deviations=deviations)
    assert acted(snapshot) == "0.50 -12.00"
    assert texts(environment_rows.policy(snapshot, 0, 26))[2:] == ["number 0 0.250 ± 0.500", "number 1 -3.000 ± 4.000"]


def test_actions_of_several_components_are_choices(tmp_path):
    """The policy shows the most probable choice of each."""
    top, shares = [2, 1, *[0] * 6], [0.75, 0.5, *[0] * 6]
    snapshot = seen(tmp_path, SEVERAL, [2, 0], count=2, actions=top, probabilities=shares)
    assert acted(snapshot) == "2 0"
    rows = texts(environment_rows.policy(snapshot, 0, 44))[2:]
    assert [row.split()[:2] for row in rows] == [["0:", "2"], ["1:", "1"]]
    assert "75.0 %" in rows[0]


def test_parts_of_an_action_are_shown_by_name(tmp_path):
    """Those of one part together; in the policy each number by itself."""
    names = ("aim 0", "aim 1", "fire")
    task = replace(CONTINUOUS, num_actions=3, bounds=((-1.0, 1.0),) * 3, component_names=names)
    means = [0.25, -3.0, 1.0, *[0] * 29]
    snapshot = seen(tmp_path, task, [0.5, -1, 1], numbers=3, means=means, deviations=means)
    assert acted(snapshot) == "aim=0.50 -1.00, fire=1.00"
    assert [row.rpartition(" 0.2")[0] for row in texts(environment_rows.policy(snapshot, 0, 44))[2:3]] == [
        "aim 0 0.250 ±"
    ]


def test_an_action_of_a_grid_is_its_place(tmp_path):
    """The first axis is named if it has names."""
    about = seen(tmp_path, GRID, 0).description
    assert environment_rows.action_name(about, 28) == "1 2,3"
    assert (
        environment_rows.action_name(replace(about, action_planes=("right", "below", "left", "above")), 28)
        == "below 2,3"
    )


def test_values_of_actions_are_shown_with_epsilon(tmp_path):
    """The action that was taken is marked; a strip shows which returns are likely."""
    values, actions = [2.0, 1.0, *[0] * 6], [1, 0, *[0] * 6]
    ranges = [(1.5, 3.0), (0.0, 1.5), *[(0, 0)] * 6]
    chances = [0.9, 0.1, *[0] * 6]
    common = {"count": 2, "actions": actions, "probabilities": chances, "valued": 2, "values": values, "epsilon": 0.2}
    snapshot = seen(tmp_path, GRID, 0, **common, ranged=2, ranges=ranges)
    snapshot.environments["action"][0] = 1
    epsilon, heading, best, other = texts(environment_rows.policy(snapshot, 0, 52))
    assert epsilon == "epsilon 20.0 %"
    assert heading == "80 % of returns Q"
    line, track, dot = SIGNS.full, SIGNS.track, SIGNS.dot
    assert best == f"{SIGNS.stepping} 0 0,1 {track * 13}{line * 4}{dot}{line * 9} 2.000"
    assert other == f"0 0,0 {line * 9}{dot}{line * 4}{track * 13} 1.000"


def test_values_without_a_distribution_are_dots(tmp_path):
    """And if there is only one, it is in the middle."""
    common = {"count": 1, "actions": [1] * 8, "probabilities": [1] * 8, "valued": 1, "values": [7.0] * 8}
    snapshot = seen(tmp_path, GRID, 0, **common, epsilon=0.0)
    heading, row = texts(environment_rows.policy(snapshot, 0, 52))[1:]
    assert heading == "Q"
    assert row == f"0 0,1 {SIGNS.track * 13}{SIGNS.dot}{SIGNS.track * 13} 7.000"


def test_each_part_of_an_action_has_a_row(tmp_path):
    """So none is cut in a narrow panel; a choice beside numbers is an integer; of many parts, the first are shown."""
    names = ("grip", "joints 0", "joints 1", "tool")
    task = replace(
        CONTINUOUS, num_actions=4, bounds=((0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (0.0, 2.0)), component_names=names
    )
    snapshot = seen(tmp_path, task, [1, 1, -0.5, 2])
    assert texts(environment_rows.episode(snapshot, 0, 31))[-3:] == ["action grip=1", "joints=1.00 -0.50", "tool=2"]
    task = replace(SEVERAL, num_actions=14, choices=(2,) * 7, component_names=tuple("abcdefg"))
    rows = texts(environment_rows.episode(seen(tmp_path, task, [1] * 7), 0, 31))
    assert rows[-6:] == ["action a=1", "b=1", "c=1", "d=1", "e=1", "and 2 more"]


def test_actions_that_are_all_shown_stay_in_place(tmp_path):
    """Sorted by probability, two rows would change places all the time."""
    top, shares = [2, 0, 1, *[0] * 5], [0.5, 0.3, 0.2, *[0] * 5]
    snapshot = seen(tmp_path, CHESS, 0, count=3, actions=top, probabilities=shares)
    rows = texts(environment_rows.policy(snapshot, 0, 44))[2:]
    assert [(row.split()[0], row.split()[-2]) for row in rows] == [
        ("wait", "30.0"),
        ("left", "20.0"),
        ("right", "50.0"),
    ]
