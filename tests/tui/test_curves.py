"""The curves view: cursor, zoom, smoothing, scales, choice, order and other runs, by keys and by mouse."""

import json
import re

import numpy as np
import pytest
from textual.events import MouseScrollUp

from pac.training.runs.folder import RunFolder
from pac.tui.app.curve_commands import curves_file
from pac.tui.curve_options import CurveOptions
from pac.tui.dialogs.curve_list import CurveList
from pac.tui.dialogs.run_picker import OverlayPicker

from .fake_session import screen_text, seen, until

POINTS = 50
LOSS = "loss/policy"


@pytest.fixture
def curves(fake):
    """A session with two curves of 50 points, every 100 steps, from 100 to 5,000: one rises, one is negative."""
    rising = [k / 10 for k in range(1, POINTS + 1)]
    fake.history(return_mean=rising, **{LOSS: [-value for value in rising], "loss/kl": rising})
    return fake


async def opened(app, pilot, charts=3):
    """Open the view and wait for its curves, which may arrive one after the other."""
    await pilot.press("l")
    await until(lambda: screen_text(app).count("k steps ") >= 1 + charts)  # the range above them, too


@pytest.mark.thorough
async def test_the_arrow_keys_move_a_cursor_over_all_curves(curves, open_app):
    """It appears at the newest value; each curve shows its value there; Esc removes it."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot)
        await pilot.press("left")
        await seen(app, "● 5,000 steps, 200,000 frames, 0:00:50", "─ 5 ─", "─ -5 ─")
        await pilot.press("left")
        await seen(app, "● 4,800 steps", "─ 4.800 ─", "─ -4.800 ─")
        await pilot.press("home")
        await seen(app, "● 100 steps", "─ 0.100 ─")
        await pilot.press("right", "shift+right")
        await until(lambda: app.state.curves.cursor > 1000)
        await pilot.press("escape")
        await until(lambda: "●" not in screen_text(app).splitlines()[2])
        assert app.state.view == "learning"
        await pilot.press("escape")
        await until(lambda: app.state.view == "summary")


async def test_a_click_moves_the_cursor(curves, open_app):
    """To the point below the mouse, also while the mouse is moved with a button pressed."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot)
        width = app.size.width // 3
        await pilot.click(offset=(width - 5, 6))
        await until(lambda: (app.state.curves.cursor or 0) > 4500)
        await pilot.mouse_down(offset=(width + 12, 6))
        await until(lambda: app.state.curves.cursor < 1000)
        await pilot.click(offset=(2, 2))
        assert app.state.curves.cursor < 1000


@pytest.mark.thorough
async def test_zooming_shows_the_newest_part_until_escape(curves, open_app):
    """The line above the curves says which range is shown; the range follows the training."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "100 to 5k steps")
        await pilot.press("up")
        await seen(app, "zoom 2.55k to 5k steps, newest")
        curves.history(return_mean=list(np.arange(60.0)))
        await seen(app, "to 6k steps, newest")
        await pilot.press("down", "down")
        await seen(app, "100 to 6k steps")
        await pilot.press("z", "z", "escape")
        await until(lambda: app.state.curves == CurveOptions())


@pytest.mark.thorough
async def test_the_wheel_zooms_around_the_mouse(curves, open_app):
    """The value below the mouse stays there."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot)
        app.post_message(MouseScrollUp(None, 20, 6, 0, -1, 0, shift=False, meta=False, ctrl=False))
        await until(lambda: app.state.curves.window is not None)
        low, high = app.state.curves.span(app.painter.curves.extent)
        assert 100 < low < high < 5000


@pytest.mark.thorough
async def test_curves_are_hidden_and_moved_and_stay_so(curves, open_app, monkeypatch, tmp_path):
    """In a dialog; the choice is in a file beside the preferences, which the next app reads."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot)
        await pilot.press("C")
        await seen(app, "3 of 3 shown", "▌✓ return_mean")
        await pilot.press("space", "down", "shift+down", "y", "p")
        await seen(app, "2 of 3 shown", "▌✓ loss/policy", "pinned log")
        await pilot.press("escape")
        await until(lambda: curves_file().exists())
        chosen = {"hidden": ["return_mean"], "order": ["return_mean", "loss/kl", LOSS], "log": [LOSS], "pinned": [LOSS]}
        assert json.loads(curves_file().read_text()) == chosen
    async with open_app(curves) as (app, pilot):
        await pilot.press("l")
        await seen(app, "1 hidden", "5k steps")
        line = next(line for line in screen_text(app).splitlines() if "policy" in line)
        assert re.search("kl.*policy", line)
        assert "Return" not in screen_text(app)
        await pilot.press("C")
        await until(lambda: isinstance(app.screen, CurveList))
        await pilot.press("r", "escape")
        await seen(app, "Return")


async def test_one_curve_takes_the_whole_screen(curves, open_app):
    """The one that was clicked, or one of the list; the next page has the next one, and Esc shows all again."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot)
        await pilot.click(offset=(app.size.width // 3 + 12, 6))
        await pilot.press("escape", "enter")
        await seen(app, "page 2/3", "policy")
        assert "Return" not in screen_text(app)
        await pilot.press("pageup")
        await seen(app, "page 1/3", "Return")
        await pilot.press("escape")
        await opened(app, pilot)
        assert app.state.view == "learning"
        await pilot.press("C", "down", "down", "enter")
        await seen(app, "page 3/3", "kl")
        await pilot.press("enter")
        await opened(app, pilot)


@pytest.mark.thorough
async def test_a_damaged_choice_is_reported(curves, open_app, monkeypatch, tmp_path):
    """And the usual curves are shown."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    curves_file().parent.mkdir()
    curves_file().write_text('{"hidden": "all"}')
    async with open_app(curves) as (app, pilot):
        await seen(app, "curves.json")
        await opened(app, pilot)


@pytest.fixture
def others(curves, tmp_path):
    """Two other runs, one of 100 iterations of 100 steps, one without metrics, beside the run of the session."""
    folder = tmp_path / "runs" / "toy-run"
    curves.facts = {"folder": str(folder)}
    curves.restart(8)
    curves.history(return_mean=[k / 10 for k in range(1, POINTS + 1)])
    for name in ("longer", "empty"):
        run = RunFolder.create(folder.parent, name)
        run.write_metadata({"task": "drmario", "trainer": "ppo", "num_envs": 4, "state": "completed"})
        for k in range(1, 101 if name == "longer" else 1):
            run.append_metrics({"steps": 100 * k, "frames": 4000 * k, "seconds": k, "return_mean": 7.5})
    return folder.parent


async def compare(app, pilot, name):
    """Choose a run by its name."""
    await pilot.press("O")
    await until(lambda: isinstance(app.screen, OverlayPicker))
    await pilot.press(*name)
    await seen(app, "1 of 1", "Enter compares with it")
    await pilot.press("enter")
    await seen(app, f"▌✓{name}", "Enter removes it")
    await pilot.press("escape", "escape")
    await until(lambda: not isinstance(app.screen, OverlayPicker))


@pytest.mark.thorough
async def test_other_runs_are_drawn_behind_the_curves(others, curves, open_app):
    """With a legend, their values at the cursor, and an axis that contains them; then without them again."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot, charts=1)
        await compare(app, pilot, "longer")
        await seen(app, "toy-run", "longer", "100 to 10k steps")
        await pilot.press("left")
        await seen(app, "─ 5  7.500 ─")
        run = RunFolder(others / "longer")
        run.append_metrics({"steps": 20_000, "frames": 800_000, "seconds": 200, "return_mean": 7.5})
        await seen(app, "100 to 20k steps")
        await pilot.press("O")
        await seen(app, "✓longer")
        await pilot.press(*"longer", "enter", "escape", "escape")
        await seen(app, "100 to 5k steps")


@pytest.mark.thorough
async def test_logs_of_other_programs_are_drawn_behind_the_curves(others, curves, open_app):
    """Those below the folder of the runs, and those at a path; the return has its usual name."""
    for place in (others / "foreign", others.parent / "far"):
        place.mkdir()
        (place / "progress.csv").write_text("rollout/ep_rew_mean,step\n3.5,0\n3.5,20000\n")
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot, charts=1)
        await pilot.press("O")
        await seen(app, "foreign", "CSV", "3.500")
        await pilot.press(*str(others.parent / "far"))
        await seen(app, "1 of 1", "Enter compares with it", "3.500")
        await pilot.press("enter", "escape", "escape")
        await seen(app, "far", "0 to 20k steps")
        await pilot.press("left")
        await seen(app, "  3.500 ─")


@pytest.mark.thorough
async def test_a_run_without_metrics_is_empty(others, curves, open_app):
    """Its name says so, and the curves are those of the session."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot, charts=1)
        await compare(app, pilot, "empty")
        await seen(app, "empty (empty)", "100 to 5k steps")


@pytest.mark.thorough
async def test_a_run_that_cannot_be_read_is_removed(others, curves, open_app):
    """With the reason."""
    async with open_app(curves) as (app, pilot):
        await opened(app, pilot, charts=1)
        metrics = others / "longer" / "metrics.jsonl"
        metrics.unlink()
        metrics.mkdir()
        app.curves.toggle_run("longer", others / "longer")
        await seen(app, "Cannot compare with longer", "directory")
        await until(lambda: not app.state.curves.overlays)


@pytest.mark.thorough
async def test_at_most_four_runs_are_compared(fake, open_app, tmp_path):
    """The fifth is refused until another one is removed."""
    async with open_app(fake) as (app, _):
        for name in "abcd":
            assert not app.curves.toggle_run(name, tmp_path / name)
        assert "at most 4" in app.curves.toggle_run("e", tmp_path / "e")
        assert not app.curves.toggle_run("a", tmp_path / "a")
        assert not app.curves.toggle_run("e", tmp_path / "e")
