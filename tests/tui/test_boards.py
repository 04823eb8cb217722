"""Boards of every kind are drawn at every scale, and only changed lines are drawn again."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from rich.style import Style
from textual.app import App
from textual.geometry import Region

from pac.envs import find
from pac.envs.panels import Glyph, Sight
from pac.tui.boards import BoardBorder, BoardGrid, renderer_for
from pac.tui.boards.cells import single_color
from pac.tui.boards.layout import Notes, best_layout
from pac.tui.boards.pixels import in_pairs
from pac.tui.boards.values import COLUMN, compact
from pac.tui.boards.widget import shortened
from pac.tui.views.panels import legend, with_sight

from .fake_session import CHESS, FakeSession, screen_text, until
from .test_pieces import HANDS, looks

BOTTLE = looks(find("drmario"))[0]


def test_what_the_selected_seat_sees_is_marked():
    """A square around it, cut at the edge, on each board; a panel without a sight is left as it is."""
    panel = replace(BOTTLE, sight=Sight(seat=4, cells=1, marked=64))
    boards = np.zeros((2, 3, 4), np.uint8)
    boards[0, 0, 0], boards[0, 2, 3], boards[1, 1, 2] = 4, 5, 5
    marked = with_sight(panel, boards, seat=1)
    assert np.argwhere(marked[0] >= 64).tolist() == [[1, 2], [1, 3], [2, 2], [2, 3]]
    assert (marked[1] >= 64).sum() == 9
    assert np.array_equal(marked % 64, boards)
    assert with_sight(replace(panel, sight=None), boards, seat=1) is boards


def test_numbers_beside_bars_never_touch():
    """A number of a bar takes at most one column less than its room."""
    for value in (0, 0.0667, 0.146, 0.5, 1, 9.621, -0.0667, 123.4, 99999, -0.5, 1e-5, 250000.0):
        assert len(compact(value)) < COLUMN, value


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
    found = best_layout(renderer_for(BOTTLE).scales, count, *place)
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
        widget.use(renderer_for(BOTTLE), 8)
        boards = np.zeros((8, 16, 8), np.uint8)
        frames = [BoardBorder(f"Env {index + 1}/8") for index in range(8)]
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
    scales = renderer_for(BOTTLE).scales
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
        widget.use(renderer_for(BOTTLE), 8)
        widget.show(np.zeros((8, 16, 8), np.uint8), [BoardBorder(str(index)) for index in range(8)])
        await pilot.pause()
        x, y = place(widget, 6)
        await pilot.click("#boards", offset=(x + 3, y + 4))
        await pilot.click("#boards", offset=(83, 39))
    assert picked == [6]


@pytest.mark.parametrize(("color", "drawn"), [(250, "#85878a"), (40, "#282828")])
def test_bright_images_are_dimmed_on_dark_terminals(color, drawn):
    """Dark images keep their colors, and boards that were not drawn yet do not count."""
    renderer = renderer_for(next(panel for panel in looks(CHESS) if panel.kind == "pixels"))
    scale = renderer.scales[-1]
    boards = np.zeros((4, 8, 8, 3), np.uint8)
    boards[0] = color
    row = renderer.prepare(boards, scale)[0, 0]
    assert renderer.line(row, 0, scale)[0].style == Style(color=drawn, bgcolor=drawn)


@pytest.mark.parametrize("dark", [True, False])
def test_thin_lines_stay_in_reduced_images(dark):
    """A line of one pixel keeps at least half of its contrast, on white and on black."""
    image = np.full((1, 64, 96, 3), 255 if dark else 0, np.uint8)
    image[:, 20:60, 41] = 0 if dark else 255
    pixels = in_pairs(image, -8)[0, 3, :, 0].astype(int)
    assert abs(pixels[5] - pixels[0]) >= 127
    assert set(np.delete(pixels, 5).tolist()) == {int(image[0, 0, 0, 0])}


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
    renderer = renderer_for(HANDS, colors=True)
    before, after, moved = (np.full((1, 2, 2, 2), shares, np.uint8) for shares in ((128, 127), (126, 129), (40, 215)))
    wide = renderer.scales[0]
    assert (renderer.prepare(before, wide) == renderer.prepare(after, wide)).all()
    assert (renderer.prepare(before, wide) != renderer.prepare(moved, wide)).any()


@pytest.mark.thorough
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
