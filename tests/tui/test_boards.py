"""Boards of every kind are drawn at every scale, and only changed lines are drawn again."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from rich.style import Style
from textual.app import App
from textual.geometry import Region

from pac.envs import Field, find
from pac.envs.packed import pack_pixels
from pac.envs.panels import Glyph, Sight
from pac.envs.text import cells_of
from pac.training.telemetry.description import ShapedPanel
from pac.tui.boards import BoardFrame, BoardGrid, renderer_for
from pac.tui.boards.cells import enlarged, single_color
from pac.tui.boards.layout import Notes, best_layout
from pac.tui.boards.values import COLUMN, compact
from pac.tui.boards.widget import shortened
from pac.tui.views.panels import legend, with_sight

from .fake_session import CHESS, FakeSession, screen_text, until


def looks(task):
    return [
        ShapedPanel.of(panel, next(field for field in task.boards if field.name == panel.field))
        for panel in task.panels
    ]


GRID = ShapedPanel(
    "grid",
    "Strategy",
    "grid",
    labels=("Q|J", "K"),
    glyphs=(Glyph("f ", "f", "#ffffff", "#0000ff", "fold"), Glyph("r ", "r", "#000000", "#ff0000", "raise")),
    columns=("kk/", "", "kbr"),
    shape=(2, 3, 2),
)
NAMED_GRID = ShapedPanel(
    "grid", "Hands", "hands", labels=("AA", "AKs", "AKo", "KK"), glyphs=GRID.glyphs, shape=(2, 2, 2)
)
TASKS = (find("drmario"), find("autochess"), find("treasure"), find("frames"), find("gameboy:game=walk"), CHESS)
PANELS = [*(panel for task in TASKS for panel in looks(task)), GRID, NAMED_GRID]


def test_what_the_selected_seat_sees_is_marked():
    """A square around it, cut at the edge, on each board; a panel without a sight is left as it is."""
    panel = replace(PANELS[0], sight=Sight(seat=4, cells=1, marked=64))
    boards = np.zeros((2, 3, 4), np.uint8)
    boards[0, 0, 0], boards[0, 2, 3], boards[1, 1, 2] = 4, 5, 5
    marked = with_sight(panel, boards, seat=1)
    assert np.argwhere(marked[0] >= 64).tolist() == [[1, 2], [1, 3], [2, 2], [2, 3]]
    assert (marked[1] >= 64).sum() == 9
    assert np.array_equal(marked % 64, boards)
    assert with_sight(replace(panel, sight=None), boards, seat=1) is boards


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: f"{panel.kind}-{panel.field}")
@pytest.mark.parametrize("colors", [True, False])
def test_every_line_has_the_width_of_its_scale(panel, colors):
    """At every scale, and every Segment has a style."""
    renderer = renderer_for(panel, colors=colors)
    shape = panel.shape[-2:] if panel.kind == "cells" else panel.shape
    shape = Field("", "uint8", shape, "2bpp").stored_shape if panel.kind == "shades" else shape
    layers = (1 + len(panel.layers),) if panel.layers else ()
    boards = (
        np.random.default_rng(0)
        .integers(0, 2, (3, *shape, *layers))
        .astype({"bars": np.float32, "table": np.float32, "text": np.uint32}.get(panel.kind, np.uint8))
    )
    for scale in renderer.scales:
        rows = renderer.prepare(boards, scale)
        assert rows.shape[:2] == (3, scale.lines // scale.span)
        for line in range(scale.lines):
            segments = renderer.line(rows[1, line // scale.span], line % scale.span, scale)
            assert sum(segment.cell_length for segment in segments) == scale.columns
            assert all(segment.style is not None for segment in segments)


def test_without_colors_letters_distinguish_glyphs():
    """No two glyphs that differ in color look the same, and there is no scale with colors only."""
    (panel, _) = looks(find("drmario"))
    renderer = renderer_for(panel, colors=False)
    assert "half" not in {scale.name for scale in renderer.scales}
    narrow = next(scale for scale in renderer.scales if scale.name == "narrow")
    texts = [
        "".join(part.text for part in renderer.line(np.full(8, code, np.uint8), 0, narrow))
        for code in (1, 2, 3, 16, 17, 18)
    ]
    assert len(set(texts)) == 6


def test_shades_are_colors_or_characters():
    """Half blocks have the colors of their two pixels; without colors, brighter pixels are denser characters."""
    panel = ShapedPanel("shades", "Picture", "picture", shape=(8, 8))
    packed = pack_pixels(np.repeat([[0, 1, 2, 3, 3, 3, 3, 3]], 8, axis=0))[None]
    colored, plain = (renderer_for(panel, colors=colors) for colors in (True, False))
    scale = next(scale for scale in colored.scales if scale.name == "1")
    pairs = [part.style for part in colored.line(colored.prepare(packed, scale)[0, 0], 0, scale)]
    assert [style.color == style.bgcolor for style in pairs if style] == [True] * 4
    assert len({str(style) for style in pairs}) == 4
    assert "".join(part.text for part in plain.line(plain.prepare(packed, scale)[0, 0], 0, scale)) == " :+#####"
    half = next(scale for scale in plain.scales if scale.name == "-2")
    assert "".join(part.text for part in plain.line(plain.prepare(packed, half)[0, 0], 0, half)) == ".*##"


def test_shades_may_begin_with_the_lightest():
    """With colors whose first is the brightest, shade 0 is the densest character, and the colors are the panel's."""
    shades = ("#ffffff", "#aaaaaa", "#555555", "#000000")
    panel = ShapedPanel("shades", "Picture", "picture", colors=shades, shape=(8, 8))
    packed = pack_pixels(np.repeat([[0, 1, 2, 3, 3, 3, 3, 3]], 8, axis=0))[None]
    plain, colored = (renderer_for(panel, colors=colors) for colors in (False, True))
    scale = next(scale for scale in plain.scales if scale.name == "1")
    assert "".join(part.text for part in plain.line(plain.prepare(packed, scale)[0, 0], 0, scale)) == "#+:     "
    first = colored.line(colored.prepare(packed, scale)[0, 0], 0, scale)[0].style
    assert first == Style(color="#ffffff", bgcolor="#ffffff")


def test_numbers_beside_bars_never_touch():
    """A number of a bar takes at most one column less than its room."""
    for value in (0, 0.0667, 0.146, 0.5, 1, 9.621, -0.0667, 123.4, 99999, -0.5, 1e-5, 250000.0):
        assert len(compact(value)) < COLUMN, value


def test_text_keeps_its_letters_and_colors():
    """Letters keep their places and backgrounds; without colors, letters with a background are reversed."""
    panel = ShapedPanel("text", "Screen", "screen", main=True, shape=(2, 6))
    board = cells_of("S\x1b[41mF\x1b[0mH\n\x1b[7m好\x1b[0m!", (2, 6))[None]
    for colors in (True, False):
        renderer = renderer_for(panel, colors=colors)
        close = next(scale for scale in renderer.scales if scale.name == "close")
        rows = renderer.prepare(board, close)[0]
        lines = [renderer.line(row, 0, close) for row in rows]
        assert ["".join(segment.text for segment in line) for line in lines] == ["SFH   ", "·!    "]
        plain, marked = lines[0][0].style, lines[0][1].style
        assert plain is not None
        assert marked is not None
        assert marked != plain
        assert bool(marked.reverse) is not colors


@pytest.mark.parametrize(("words", "scales"), [(False, ["wide", "close"]), (True, ["close"])])
def test_words_are_not_pulled_apart(words, scales):
    """Words have no spaces between their letters at any scale."""
    renderer = renderer_for(ShapedPanel("text", "Screen", "screen", shape=(2, 6), close=words), colors=True)
    assert [scale.name for scale in renderer.scales] == scales


def test_shapes_grow_and_letters_stay():
    """A block is doubled exactly; a letter is in the middle of its cell."""
    assert enlarged("▌ ", 2, 0) == "█   "
    assert enlarged("▘▝", 2, 1) == "    "
    assert enlarged("oo", 2, 0) == " oo "
    assert enlarged("oo", 3, 1) == "  oo  "


def test_a_shape_and_text_differ_in_one_color():
    """Reduced to half a character, a pill is bright and a virus is not."""
    filled = Glyph(" ▐", "a", "#000000", "#e0c060")
    written = Glyph("oo", "A", "#e0c060", "#302010")
    assert single_color(filled) == "#e0c060"
    assert single_color(written) not in {"#e0c060", "#302010"}


@pytest.mark.parametrize(
    ("count", "place", "grid"),
    [
        (1, (80, 50), ("huge", 1, 1)),
        (8, (84, 36), ("wide", 4, 2)),
        (8, (48, 20), ("half", 4, 2)),
        (16, (156, 56), ("wide", 8, 2)),
        (64, (156, 56), ("half", 13, 5)),
        (300, (156, 56), ("half", 14, 5)),
    ],
)
def test_boards_have_the_largest_scale_at_which_all_fit(count, place, grid):
    """Too many boards are divided into pages."""
    found = best_layout(renderer_for(PANELS[0]).scales, count, *place)
    assert (found.scale.name, found.columns, found.rows) == grid


class Gallery(App[None]):
    """One widget of boards."""

    def compose(self):
        yield BoardGrid(id="boards")


def watch_marks(widget: BoardGrid) -> list[Region]:
    """Return a list that grows with every region that the widget marks for renderer."""
    marked: list[Region] = []

    def refresh(*regions, **_more):
        marked.extend(regions)

    setattr(widget, "refresh", refresh)  # noqa: B010 - the checker forbids the plain way
    return marked


def place(widget: BoardGrid, index: int) -> tuple[int, int]:
    """Return where a board begins."""
    assert widget.grid_layout is not None
    return widget.grid_layout.place(index)


async def test_only_changed_lines_are_drawn_again():
    """One cell marks its line up to the board's edge; the same boards mark nothing."""
    app = Gallery()
    async with app.run_test(size=(84, 40)) as pilot:
        widget = app.query_one(BoardGrid)
        widget.use(renderer_for(PANELS[0]), 8)
        boards = np.zeros((8, 16, 8), np.uint8)
        frames = [BoardFrame(f"Env {index + 1}/8") for index in range(8)]
        widget.show(boards, frames)
        await pilot.pause()
        marked = watch_marks(widget)
        widget.show(boards.copy(), list(frames))
        assert marked == []
        moved = boards.copy()
        moved[5, 3, 2] = 1
        widget.show(moved, frames)
        x, y = place(widget, 5)
        (region,) = marked
        assert (region.y, region.height, region.right) == (y + 1 + 3, 1, x + 1 + 16)


def test_notes_are_left_out_if_they_do_not_fit():
    """A board that is too narrow for notes has no lines for them."""
    scales = renderer_for(PANELS[0]).scales
    assert best_layout(scales, 8, 156, 56, Notes(2, 16)).notes == 2
    assert best_layout(scales, 8, 156, 56, Notes(2, 17)).notes == 0


async def test_a_click_posts_the_board():
    """By its index; a click between boards posts nothing."""
    picked = []

    class Clicked(Gallery):
        def on_board_grid_clicked(self, event):
            picked.append(event.index)

    app = Clicked()
    async with app.run_test(size=(84, 40)) as pilot:
        widget = app.query_one(BoardGrid)
        widget.use(renderer_for(PANELS[0]), 8)
        widget.show(np.zeros((8, 16, 8), np.uint8), [BoardFrame(str(index)) for index in range(8)])
        await pilot.pause()
        x, y = place(widget, 6)
        await pilot.click("#boards", offset=(x + 3, y + 4))
        await pilot.click("#boards", offset=(83, 39))
    assert picked == [6]


def drawn(renderer, board, name):
    """The text of one board at a scale."""
    scale = next(scale for scale in renderer.scales if scale.name == name)
    rows = renderer.prepare(board[None], scale)[0]
    return [
        "".join(part.text for part in renderer.line(rows[at // scale.span], at % scale.span, scale))
        for at in range(scale.lines)
    ]


def autochess(field):
    return next(panel for panel in looks(find("autochess")) if panel.field == field)


@pytest.mark.parametrize(("color", "drawn"), [(250, "#85878a"), (40, "#282828")])
def test_bright_images_are_dimmed_on_dark_terminals(color, drawn):
    """Dark images keep their colors, and boards that were not drawn yet do not count."""
    renderer = renderer_for(next(panel for panel in looks(CHESS) if panel.kind == "pixels"))
    scale = renderer.scales[-1]
    boards = np.zeros((4, 8, 8, 3), np.uint8)
    boards[0] = color
    row = renderer.prepare(boards, scale)[0, 0]
    assert renderer.line(row, 0, scale)[0].style == Style(color=drawn, bgcolor=drawn)


def test_pips_are_drawn_if_there_is_room():
    """Above the letters in a huge cell, below them in a large one, not in a wide one."""
    panel = autochess("creatures")
    renderer, board = renderer_for(panel, colors=True), np.zeros((4, 8, 3), np.uint8)
    board[0, 0] = 1, 2, 1
    code = panel.glyphs[1].wide
    assert [line[:6] for line in drawn(renderer, board, "huge")[:3]] == ["★★   •", f"  {code}  ", " " * 6]
    assert [line[:4] for line in drawn(renderer, board, "large")[:2]] == [f" {code} ", "★★ •"]
    assert drawn(renderer, board, "wide")[0].startswith(code)


@pytest.mark.parametrize(("life", "columns"), [(255, 5), (1, 1), (0, 0)])
def test_a_meter_shows_a_share(life, columns):
    """Full, minimal and empty; the last column of a cell stays free."""
    renderer, board = renderer_for(autochess("fight"), colors=False), np.zeros((6, 8, 3), np.uint8)
    board[0, 0] = 1, life, 255
    assert drawn(renderer, board, "huge")[2][:6].count("━") == columns


def test_enemies_differ_from_own_pieces_without_color():
    """They are written in lower case."""
    renderer, board = renderer_for(autochess("fight"), colors=False), np.zeros((6, 8, 3), np.uint8)
    board[0, 0, 0], board[0, 1, 0] = 1, 129
    own, enemy = (drawn(renderer, board, "wide")[0][at : at + 2] for at in (0, 2))
    assert own.lower() == enemy != own


def test_thresholds_sort_bars():
    """Bars that have reached a threshold come first, with the next threshold; zeros are left out."""
    panel = autochess("kinds")
    renderer, board = renderer_for(panel), np.zeros(24, np.float32)
    board[0], board[2], board[3] = 2, 4, 1  # flame counts from 3 on, leaf from 2, spark from 3
    lines = drawn(renderer, board, "roomy")
    assert [line.split()[0] for line in lines[:3]] == ["leaf", "flame", "spark"]
    assert lines[0].rstrip().endswith("4/6")
    assert not lines[3].strip()


def rows_of(panel, board, name, *, colors=True):
    """The lines of a board at a scale."""
    renderer = renderer_for(panel, colors=colors)
    scale = next(scale for scale in renderer.scales if scale.name == name)
    rows = renderer.prepare(board[None], scale)[0]
    return [renderer.line(rows[at // scale.span], at % scale.span, scale) for at in range(scale.lines)]


def reported(lines):
    return ["".join(segment.text for segment in line) for line in lines]


def test_a_cell_is_divided_among_its_actions():
    """Its columns have the actions' backgrounds by probability, with its name over them."""
    board = np.array([[[255, 0], [128, 127]], [[64, 191], [0, 0]]], np.uint8)
    lines = rows_of(NAMED_GRID, board, "4x1")
    assert reported(lines) == [" AA AKs ", "AKo  KK "]
    grounds = [[segment.style.bgcolor.name for segment in line for _ in segment.text] for line in lines]
    assert grounds[0] == ["#0000ff"] * 6 + ["#ff0000"] * 2
    assert grounds[1][:4] == ["#0000ff"] + ["#ff0000"] * 3


def test_a_small_cell_has_the_letter_of_the_most_probable_action():
    """Its background is a mixture; an unknown cell is a dot."""
    board = np.array([[[255, 0], [100, 155]], [[64, 191], [0, 0]]], np.uint8)
    assert reported(rows_of(NAMED_GRID, board, "2x1")) == ["f9r6", "r7· "]
    assert reported(rows_of(NAMED_GRID, board, "1x1")) == ["fr", "r·"]


def test_without_colors_a_divided_cell_is_filled_with_letters():
    """As many of each action as it has columns."""
    board = np.zeros((2, 3, 2), np.uint8)
    board[..., 0], board[..., 1] = 128, 127
    assert reported(rows_of(GRID, board, "4x1", colors=False))[-1] == "K   " + 3 * "ffrr"


def test_names_of_columns_are_vertical_if_they_do_not_fit():
    """Horizontal over wide cells, one letter per line over narrow ones."""
    board = np.zeros((2, 3, 2), np.uint8)
    assert reported(rows_of(GRID, board, "6x2")) == [
        "    kk/         kbr   ",
        *("Q|J ·     ·     ·     ", "    ·     ·     ·     "),
        *("K   ·     ·     ·     ", "    ·     ·     ·     "),
    ]
    assert reported(rows_of(GRID, board, "1x1"))[:3] == ["    k k", "    k b", "    / r"]


@pytest.mark.parametrize(("width", "shown"), [(13, "Env 10/65,535"), (12, "10/65,535"), (8, "10"), (1, "…"), (0, "")])
def test_a_title_keeps_the_number_of_its_board(width, shown):
    """A narrow board leaves out the word, then the number of boards."""
    assert shortened("Env 10/65,535", width) == shown


@pytest.mark.parametrize(("width", "shown"), [(14, "Env 10/65,535"), (13, "10/65,535"), (9, "10"), (2, "10")])
def test_a_title_leaves_a_gap_before_the_sign_unless_its_number_would_be_cut(width, shown):
    """A sign beside a digit would be hard to read."""
    assert shortened("Env 10/65,535", width, gap=True) == shown


def test_a_strategy_that_changes_invisibly_is_not_drawn_again():
    """The lines of divided cells are the same until a column changes its action."""
    renderer = renderer_for(NAMED_GRID, colors=True)
    before, after, moved = (np.full((1, 2, 2, 2), shares, np.uint8) for shares in ((128, 127), (126, 129), (40, 215)))
    wide = renderer.scales[0]
    assert (renderer.prepare(before, wide) == renderer.prepare(after, wide)).all()
    assert (renderer.prepare(before, wide) != renderer.prepare(moved, wide)).any()


async def test_a_board_that_was_not_drawn_yet_says_so(tmp_path, open_app):
    """In place of a black picture; once it is drawn, the picture is there."""
    task = replace(CHESS, panels=(replace(CHESS.panels[1], main=True),))
    with closing(FakeSession(tmp_path, task, 2)) as fake:
        async with open_app(fake) as (app, _):
            await until(lambda: screen_text(app).count("drawing...") == 2)
            with fake.writer.write("board:picture") as boards:
                boards[1] = 200
            fake.say()
            await until(lambda: screen_text(app).count("drawing...") == 1)


def test_a_legend_counts_glyphs_of_the_same_name_together():
    """A cell that is drawn lighter because an agent sees it has another code, but contains the same."""
    panel, board = looks(find("treasure"))[0], np.array([[3, 65, 0], [1, 64, 1]], np.uint8)
    rows = ["".join(segment.text for segment in row).split() for row in legend(panel, board, 30, colors=True)]
    assert rows == [["✕", "bone"], ["◆", "gem", "x3"]]
