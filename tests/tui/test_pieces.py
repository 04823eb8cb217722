"""What panels, charts and boards of every kind look like: rows that are drawn without the app, as in `snapshots/`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pac.envs import Field, find
from pac.envs.packed import pack_pixels
from pac.envs.panels import Glyph
from pac.envs.text import cells_of
from pac.envs.unknown import UNKNOWN
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.description import ShapedPanel, describe
from pac.training.telemetry.snapshot import Snapshot, ViewRequest, take_snapshot
from pac.training.telemetry.timeline import Lane
from pac.training.trainer import Lap
from pac.tui.boards import renderer_for
from pac.tui.drawing.chart import Line, Plot, chart, layered, sparkline
from pac.tui.drawing.panels import Section, beside, column, columns
from pac.tui.drawing.styles import ACCENT, GREEN, RED, Row, styled
from pac.tui.views import environment_rows, number_rows, timing
from pac.tui.views.header_footer import system
from pac.tui.views.lanes import lanes_section
from pac.tui.views.number_rows import against_ideal, axis_of
from pac.tui.views.observation import observed

from .conftest import SNAPSHOTS
from .fake_session import CHESS, FACTS, FakeSession, play
from .stage import text_of
from .test_screens import SCREENS

Blocks = Iterator[tuple[str, "list[Row] | Any"]]

GLYPHS = (Glyph("f ", "f", "#ffffff", "#0000ff", "fold"), Glyph("r ", "r", "#000000", "#ff0000", "raise"))
GRID = ShapedPanel(
    "grid", "Strategy", "grid", labels=("Q|J", "K"), glyphs=GLYPHS, columns=("kk/", "", "kbr"), shape=(2, 3, 2)
)
HANDS = ShapedPanel("grid", "Hands", "hands", labels=("AA", "AKs", "AKo", "KK"), glyphs=GLYPHS, shape=(2, 2, 2))
SHADES = ShapedPanel("shades", "Picture", "shades", shape=(8, 8))
LIGHT_FIRST = ShapedPanel(
    "shades", "Picture", "light", colors=("#ffffff", "#aaaaaa", "#555555", "#000000"), shape=(8, 8)
)
WORDS = ShapedPanel("text", "Screen", "words", main=True, shape=(2, 6), close=True)


def looks(task):
    """The panels of a task with the shapes of their fields."""
    fields = {field.name: field for field in task.boards}
    return [ShapedPanel.of(panel, fields[panel.field]) for panel in task.panels]


TASKS = (find("drmario"), find("autochess"), find("treasure"), CHESS)
PANELS = {
    f"{name}-{panel.field}": panel
    for name, panels in (
        *((task.name, looks(task)) for task in TASKS),
        ("toy", (GRID, HANDS, SHADES, LIGHT_FIRST, WORDS)),
    )
    for panel in panels
}


def example(panel) -> Any:
    """A board on which every glyph, value and share occurs, in order."""
    if panel.kind == "text":
        return cells_of("S\x1b[41mF\x1b[0mH\n\x1b[7m好\x1b[0m!", panel.shape)
    if panel.kind == "shades":
        rows, wide = panel.shape
        return pack_pixels(np.add.outer(np.arange(rows) // 8, np.arange(wide)) % 4)
    if panel.kind in {"bars", "table"}:
        places = np.arange(np.prod(panel.shape), dtype=np.float32).reshape(panel.shape)
        return places % 5 if panel.steps else places * 1.37 - 1
    if panel.kind == "grid":
        shares = np.array([(255, 0), (128, 127), (64, 191), (0, 0), (0, 255), (100, 155)], np.uint8)
        return shares[: np.prod(panel.shape[:2])].reshape(panel.shape)
    if panel.kind == "pixels":
        return (7 * np.arange(np.prod(panel.shape)) % 256).reshape(panel.shape).astype(np.uint8)
    cells = np.arange(np.prod(panel.shape[-2:])).reshape(panel.shape[-2:])
    layers = [cells % 4 if layer.kind == "pips" else np.array((255, 1, 0, 128))[cells % 4] for layer in panel.layers]
    cells = 7 * cells % max(2, len(panel.glyphs))
    return (np.stack([cells, *layers], axis=-1) if layers else cells).astype(np.uint8)


@pytest.mark.parametrize("name", PANELS)
def test_boards_are_as_stored_at_every_scale(name, stored):
    """With colors, and without, where letters distinguish. Each line has the width of its scale."""
    panel, texts = PANELS[name], []
    for colors in (True, False):
        renderer = renderer_for(panel, colors=colors)
        for scale in sorted(renderer.scales, key=lambda scale: (scale.columns, scale.lines)):
            rows = renderer.prepare(example(panel)[None], scale)[0]
            lines = [renderer.line(rows[at // scale.span], at % scale.span, scale) for at in range(scale.lines)]
            assert {sum(segment.cell_length for segment in line) for line in lines} == {scale.columns}
            if scale.columns * scale.lines <= LARGEST:
                texts.append(f"== {scale.name}, colors={colors}\n{text_of(lines, styles=colors)}")
    stored(f"board-{name}", "\n".join(texts))


LARGEST = 1600
"""Characters of a board that is stored."""
X = np.arange(101.0)


def charts() -> Blocks:
    """Curves with their axes."""
    empty = X[:0]
    for name, line, plot in (
        ("steps", Line(15_000 * X, np.sin(X / 11)), Plot("steps")),
        ("time", Line(X, X), Plot()),
        ("a jump", Line(X, np.where(X < 50, 0.0, 1.0)), Plot("steps")),
        ("a peak", Line(X, np.where(X == 50, 9.0, 0.0)), Plot("steps")),
        ("a flat curve", Line(X, 495 + 2.5 * np.sin(X)), Plot("steps")),
        ("from zero", Line(X, 26_000 + 80 * X), Plot("steps", from_zero=True)),
        ("a part", Line(X, X**2), Plot("steps", span=(0.0, 10.0))),
        ("a part without points", Line(X, X), Plot("steps", span=(200.0, 300.0))),
        ("logarithmic", Line(10.0 ** (X / 20), 10.0 ** (-X / 20)), Plot("iterations", log_x=True, log_y=True)),
        ("nothing", Line(empty, empty), Plot("steps")),
    ):
        yield name, chart([line], 60, 12, plot).rows
    yield "a cursor", chart([Line(X, X)], 60, 12, Plot("steps")).marked(50.0, 50.0)
    crossing = [Line(X, X), Line(X, 100 - X, RED), Line(X, X, GREEN), Line(X, np.full(101, 50.0), ACCENT, (4, 4))]
    yield "curves and a dashed one", layered(crossing, (0.0, 100.0), (0.0, 100.0), 40, 10)
    yield "an area", sparkline(X, X, 20, 5)
    yield "no room", chart([Line(X, X)], 4, 1, Plot("steps")).rows
    for counts, speedups in (([1, 2, 4, 8], [1.0, 1.5, 2.0, 2.5]), ([1, 4, 32], [0.7, 1.0, 3.0])):
        yield f"speedup of {counts}", against_ideal(counts, speedups, axis_of(counts, speedups), 40, 10)


def panels() -> Blocks:
    """Columns of panels in areas of several heights."""

    def lines(count):
        return lambda width, _height: [(styled(f"row {index}"[:width]),) for index in range(count)]

    sections = [
        Section("One", lines(2), note="12.5"),
        Section("Two", lines(9), whole=True),
        Section("Three", lines(9), fills=True, least=4),
        Section("Four", lines(9), fills=True, least=2),
    ]
    for height in (3, 6, 11, 14, 21, 33):
        yield f"height {height}", column(sections, 20, height)
    yield "narrow", column(sections, 12, 8)
    yield "beside", beside([column(sections[:1], 10, 3), column(sections[3:], 11, 6)], [10, 11])
    yield "columns", columns([sections[:1], sections[3:]], [10, 11], 6)


def snapshot_of(folder, task, last=0, **policy: object) -> Snapshot:
    """A snapshot in which environment 1 took an action, and thought so."""
    with closing(FakeSession(folder, task, 2)) as fake:
        play(fake)
        with fake.writer.write("actions") as block:
            block[0] = last
        fake.writer.array("environments")["action"][0] = 1
        fake.write("policy", env=0, value=0.5, entropy=1.0, **policy)
        return take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=0))


NUMBERS = replace(CHESS, num_actions=2, bounds=((-1.0, 1.0), (-20.0, 20.0)), action_names=())
PLACES = replace(CHESS, num_actions=60, action_shape=(4, 3, 5), action_names=())
CHOICES = replace(CHESS, num_actions=5, choices=(3, 2), action_names=())


def acting(folder) -> Blocks:
    """Actions of every kind in the panels of an episode and of the policy."""
    spread = {"means": (0.25, -3.0), "deviations": (0.5, 4.0)}
    names = ("grip", "joints 0", "joints 1", "tool")
    parts = replace(
        NUMBERS, num_actions=4, bounds=((0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (0.0, 2.0)), component_names=names
    )
    many = replace(CHOICES, num_actions=14, choices=(2,) * 7, component_names=tuple("abcdefg"))
    three = {"actions": (2, 0, 1), "probabilities": (0.5, 0.3, 0.2)}
    valued = {"actions": (1, 0), "probabilities": (0.9, 0.1), "values": (2.0, 1.0), "epsilon": 0.2}
    ranges = [(1.5, 3.0), (0.0, 1.5)]
    one = {"actions": [1], "probabilities": [1], "values": [7.0], "epsilon": 0.0}
    for name, task, actions, policy in (
        ("names", CHESS, 0, three),
        ("numbers", NUMBERS, (0.5, -12), spread),
        ("critics", NUMBERS, (0.5, -12), {**spread, "critics": (0.5, 0.625)}),
        ("choices", CHOICES, (2, 0), {"actions": (2, 1), "probabilities": (0.75, 0.5)}),
        ("parts", parts, (1, 1, -0.5, 2), {name: (*both, 0, 0) for name, both in spread.items()}),
        ("many parts", many, [1] * 7, {}),
        ("places", PLACES, 0, three),
        ("named planes", replace(PLACES, action_planes=("right", "below", "left", "above")), 0, three),
        ("values", PLACES, 0, {**valued, "ranges": ranges}),
        ("one value", PLACES, 0, one),
    ):
        snapshot = snapshot_of(folder, task, actions, **policy)
        yield f"{name}: policy", environment_rows.policy(snapshot, 0, 44)
        yield f"{name}: episode", environment_rows.episode(snapshot, 0, 31)
    repeated = replace(CHESS, info=tuple(Field(each, "float32") for each in ("episode.r", "coins", "episode.l")))
    yield "info", environment_rows.info(snapshot_of(folder, repeated), 0, 30)


def observations() -> Blocks:
    """Observations of every shape, with NaN and infinite values."""
    about = describe(CHESS, run="r", **FACTS)
    field = Field("observation", "float32", (1203,), images=((2, (20, 20, 3)), (1202, (1, 1))))
    sliced = replace(about, observation=field, slices=(("speed", 0, 2), ("camera", 2, 1202), ("tile", 1202, 1203)))
    holes = np.ones(100)
    holes[[3, 7]] = np.nan, np.inf
    planes = (np.arange(2 * 8 * 8).reshape(2, 8, 8) % 3 == 0).astype(np.float32)
    stack = (np.arange(84 * 84 * 4) % 251).reshape(84, 84, 4).astype(np.uint8)
    for name, values, width, height in (
        ("numbers", np.array([1.0, np.nan, -np.inf, 0.5]), 40, 10),
        ("numbers, slim", np.array([1.0, -0.01234, 12345.6, 0.5]), 18, 4),
        ("a slice", holes, 60, 10),
        ("a slice, slim", np.linspace(-1, 1, 24), 18, 4),
        ("a slice, slimmer", np.linspace(-1, 1, 24), 14, 4),
        ("planes", planes, 40, 12),
        ("planes in three lines", planes, 12, 3),
        ("planes of numbers", planes * 0.7 - 0.2, 40, 12),
        ("four images", stack, 90, 12),
    ):
        yield name, observed(about, moment(values), width, height)
    yield "an image among other parts", observed(sliced, moment(np.linspace(0, 1, 1203)), 50, 30)
    small = replace(about, observation=Field("observation", "float32", (150,), images=((2, (7, 7, 3)),)))
    small = replace(small, slices=(("direction", 0, 2), ("image", 2, 149), ("carrying", 149, 150)))
    yield "a small image among other parts", observed(small, moment(np.arange(150) % 11 / 255), 50, 30)
    yield "not stored", observed(about, moment(None), 50, 30)


def moment(values) -> Any:
    """A moment with an observation."""
    return SimpleNamespace(observation=values, note="")


def times(folder) -> Blocks:
    """The time of a step by phase, at several sizes, and lanes of processes."""
    snapshot = snapshot_of(folder, find("drmario"))
    for width, height in ((36, 9), (60, 11), (90, 40)):
        yield f"{width}x{height}", timing.rows_of(snapshot, width, height)
    for height in (6, 7, 8, 12, 30):
        yield f"beside boards, {height} lines", number_rows.time_table(snapshot, 40, height)
    for fps in (0, 599, 600, 1049, 1050):
        state = {**snapshot.state, "fps": fps}
        yield f"throughput of {fps} fps", number_rows.throughput(replace(snapshot, state=state), 34)
    for width in (19, 23, 26, 40):
        yield f"episode, {width} columns", environment_rows.episode(snapshot, 0, width)
        yield f"reward, {width} columns", environment_rows.reward(snapshot, 0, width)
    lanes = [
        Lane("training", 1, (Lap("inference", 0.0, 1.0), Lap("environment", 2.0, 4.0), Lap("learner", 4.0, 10.0))),
        Lane("evaluation", 1, (Lap("evaluating", 0.0, 5.0), Lap("idle", 5.0, 90.0))),
        Lane("agent 1", 1, (Lap("sample", 0.0, 2.0), Lap("gradient step", 2.0, 4.0), Lap("publish", 4.0, 5.0))),
        Lane("agent 2", 1, (Lap("wait", 0.0, 2.0), Lap("idle", 2.0, 90.0))),
    ]
    overlap = {"overlap/efficiency": 1.874, "overlap/collector_idle": 0.03, "overlap/learner_idle": 0.11}
    section = lanes_section(lanes, 1, overlap)
    assert section is not None
    yield f"lanes, {section.note}", section.rows(100, 9)
    yield "lanes, slim", section.rows(76, 9)


PIECES = {"charts": charts, "panels": panels, "actions": acting, "observations": observations, "times": times}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_are_as_stored(name, runtime_directory, stored):
    """With their colors."""
    made: Any = PIECES[name]
    blocks = made(runtime_directory) if made in (acting, times) else made()
    stored(name, "\n".join(f"== {title}\n{text_of(rows, styles=True)}" for title, rows in blocks))


def test_outputs_of_a_scripts_policy_are_not_called_values(runtime_directory):
    """Nor is there an epsilon, which is unknown."""
    valued = {"actions": (1, 0), "values": (2.0, 1.0), "epsilon": UNKNOWN}
    snapshot = snapshot_of(runtime_directory, PLACES, 0, **valued)
    script = replace(snapshot, description=replace(snapshot.description, watched=True))
    texts = [text_of(environment_rows.policy(seen, 0, 44)) for seen in (snapshot, script)]
    assert ["epsilon" in text for text in texts] == [True, False]
    assert [" Q" in text for text in texts] == [True, False]
    assert texts[1].split()[0] == "output"


def test_every_stored_text_is_compared():
    """A file that no test draws would look like a property."""
    assert {path.stem for path in SNAPSHOTS.iterdir()} == {*SCREENS, *PIECES, *(f"board-{name}" for name in PANELS)}


def test_what_showing_costs_is_that_of_the_app_and_the_session(runtime_directory):
    """Of the app alone before the session has measured anything."""
    with closing(FakeSession(runtime_directory)) as fake:
        shown = [take_snapshot(TelemetryReader(fake.directory), ViewRequest())]
        fake.write("system", pulse=1.0, shown=2.5)
        shown.append(take_snapshot(TelemetryReader(fake.directory), ViewRequest()))
    assert all("ui" in "".join(piece.text for piece in system(shown[1], 0.01, width)) for width in range(20, 160))
    assert ["".join(piece.text for piece in system(each, 0.01, 60))[-10:] for each in shown] == [
        "ui  1.0 % ",
        "ui  3.5 % ",
    ]
