"""Playing a Game Boy in the app: keys, the search, and the files of a task."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pac.envs.gameboy.cartridge import own_bytes
from pac.envs.gameboy.handheld import Handheld
from pac.tui.drawing.widgets import TextLines
from pac.tui.play.handheld import HandheldApp, play_handheld
from pac.tui.terminal.modes import NoTerminal

from ..fake_session import run, seen


def names(folder: Path) -> set[str]:
    """Return the names of the files in a folder."""
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def game(tmp_path: Path) -> Handheld:
    """A console with the grid walk, past its start."""
    (tmp_path / "walk.gb").write_bytes(own_bytes("walk"))
    game = Handheld(str(tmp_path / "walk.gb"), "")
    for _ in range(30):
        game.frame(())
    return game


@pytest.mark.thorough
async def test_keys_make_a_task(game: Handheld, tmp_path: Path):
    """Arrows move, + searches, a number keeps an address, s g w write files."""
    app = HandheldApp(game)
    async with run(app, (120, 40)) as pilot:
        side = app.query_one("#side", TextLines)
        await pilot.press("p", "0", "right", "full_stop", "full_stop", "full_stop", "full_stop", "plus")
        assert "0xC006" in side.text
        await pilot.press("equals_sign", "1", "enter", "1", "s", "g", "w")
        assert "C006" in side.text.split("Search")[0]
    assert names(tmp_path) == {"walk.gb", "walk-1.snapshot", "walk-1.pgm", "walk-1.yaml"}
    assert 'actions: ["", right]' in (tmp_path / "walk-1.yaml").read_text()


@pytest.mark.thorough
async def test_the_time_runs_unless_paused(game: Handheld):
    """Frames pass by the clock; a pause shows the last instructions."""
    app = HandheldApp(game)
    async with run(app, (120, 40)) as pilot:
        begun = game.console.clock
        while game.console.clock == begun:
            await pilot.pause(0.02)
        await pilot.press("p", "tab")
        stopped = game.console.clock
        assert "halt" in app.query_one("#side", TextLines).text
        await pilot.press("comma")
        assert 0 < game.console.clock - stopped <= 44  # an interrupt and its first instruction
        await pilot.press("n", "full_stop")
        assert game.console.clock < begun


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_no_panel_is_cut(game: Handheld, size: tuple[int, int]):
    """On every page of panels, all frames are closed, and every panel is on a page."""
    app, seen = HandheldApp(game), ""
    async with run(app, size) as pilot:
        await pilot.press("p")
        for _ in range(7):
            rows = app.query_one("#side", TextLines).text.split("\n")
            assert len(rows) <= size[1] - 2
            assert sum(row.startswith("╭") for row in rows) == sum(row.startswith("╰") for row in rows)
            assert not any("…" in row for row in rows)
            seen += "\n".join(rows)
            await pilot.press("tab")
    assert all(title in seen for title in ("Task", "Search", "Registers", "Code", "Memory", "Sprites", "Keys"))


@pytest.mark.thorough
async def test_a_folder_that_cannot_be_written_is_explained(game: Handheld, tmp_path: Path):
    """A failed save is a message, and the game goes on."""
    shutil.rmtree(tmp_path)
    app = HandheldApp(game)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("s")
        await seen(app, "Not saved")
    assert game.files.snapshot is None


def test_playing_needs_a_terminal():
    """Without one, that is the message."""
    with pytest.raises(NoTerminal):
        play_handheld("", "")
