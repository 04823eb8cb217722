"""The list of episodes in the app: sorted, filtered, with marks; the selected one is replayed."""

import time

import numpy as np
import pytest

from pac.envs import episode_seed, find
from pac.training.past.episode_file import read
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import EPISODE
from pac.tui.app.app import PacApp
from pac.tui.connections.connection import SessionConnection
from pac.tui.dialogs.episode_rows import TABLE, EpisodeRow, chosen, columns_of, marks_of, rows_of
from pac.tui.dialogs.episodes import EpisodesDialog

from ...training.past.test_episode import recorded
from ..fake_session import FACTS, run, screen_text, seen, until

LISTED = [(1, 0, 4, -0.5, 40, 1, 1), (2, 3, 0, 2.5, 55, 0, 2), (3, 0, 5, 0.25, 7, 1, 1), (4, 7, 9, -1.0, 20, 1, 1)]
"""Number, environment, episode, return, length, outcome, end."""


def listed(fake, rows=LISTED):
    """Publish episodes."""
    with fake.writer.write("episodes") as block:
        block[:] = 0
        for index, row in enumerate(rows):
            block[index] = (*row, time.time())
    fake.say()


async def opened(app, pilot):
    """Open the list."""
    await pilot.press("E")
    await until(lambda: isinstance(app.screen, EpisodesDialog))


def order(app):
    """The lengths in the order of the list, which identify the episodes here."""
    return [row.length for row in app.screen.shown]


@pytest.mark.thorough
async def test_episodes_are_requested_while_they_are_listed(fake, open_app):
    """Newest first, with the best, the worst and the median return marked."""
    listed(fake)
    async with open_app(fake, (80, 24)) as (app, pilot):
        await opened(app, pilot)
        await until(lambda: order(app) == [20, 7, 55, 40], "the list")
        assert {row.length: row.mark for row in app.screen.shown} == {20: "worst", 7: "", 55: "best", 40: "median"}
        await until(lambda: fake.looks and fake.looks[-1]["episodes"])
        await pilot.press("escape")
        await until(lambda: not fake.looks[-1]["episodes"])


@pytest.mark.thorough
async def test_the_list_is_sorted_and_filtered(fake, open_app):
    """Arrows choose the column and select its first row, Space reverses; words and comparisons filter, Esc clears."""
    listed(fake)
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "1 of 4", "age", "seed", "median")
        await pilot.press("end", "right", "right", "right")
        assert order(app) == [55, 7, 40, 20]
        await seen(app, "1 of 4")
        await pilot.press("space")
        assert order(app) == [20, 40, 7, 55]
        await pilot.press(*"env=1", "space", *"length<10")
        assert order(app) == [7]
        await pilot.press("escape")
        await pilot.press(*"truncated")
        assert order(app) == [55]
        await pilot.press("backspace", "x")
        await seen(app, "no episode matches the filter")


async def test_a_selected_episode_stays_selected(fake, open_app):
    """While others end; Enter asks for it, and a refusal is shown in the dialog."""
    fake.refusal = "this episode cannot be replayed: its steps are no longer kept"
    listed(fake)
    async with open_app(fake, (80, 24)) as (app, pilot):
        await opened(app, pilot)
        await until(lambda: len(order(app)) == 4)
        await pilot.press("down", "down")
        listed(fake, [*LISTED, (5, 1, 1, 0.0, 99, 1, 1)])
        await seen(app, "4 of 5")
        await pilot.press("enter")
        await seen(app, "its steps are no longer kept")
        assert fake.commands == [("keep_episode", {"env": 3, "episode": 0, "length": 55})]
        assert isinstance(app.screen, EpisodesDialog)


@pytest.mark.thorough
async def test_an_episode_of_a_watched_script_is_not_replayed(fake, open_app):
    """The dialog says so; its seeds are unknown."""
    fake.facts = {"watched": True}
    fake.restart(8)
    listed(fake)
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await until(lambda: [row.seed for row in app.screen.shown] == [None] * 4, "the list")
        await pilot.press("enter")
        await seen(app, "the environments of a watched script cannot be replayed")
        assert not fake.commands


@pytest.mark.thorough
async def test_before_the_first_end_the_list_says_so(fake, open_app):
    """And Enter does nothing."""
    async with open_app(fake, (80, 24)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "no episode has ended yet")
        await pilot.press("enter")
        assert "no episode has ended yet" in screen_text(app)
        assert not fake.commands


@pytest.mark.thorough
async def test_an_episode_that_was_written_ends_the_app_for_its_replay(fake, open_app, tmp_path, monkeypatch):
    """With the file that the session names, whose task is trusted as the session's own."""
    path, *_ = recorded(tmp_path, "drmario")
    listed(fake)
    async with open_app(fake, (80, 24)) as (app, pilot):
        monkeypatch.setattr(app.connection, "call", lambda *_, **__: {"path": str(path)})
        await opened(app, pilot)
        await until(lambda: len(order(app)) == 4)
        await pilot.press("enter")
        await until(lambda: app.replay is not None)
    assert (app.replay.path, app.replay.episode) == (path, read(path))
    assert app.return_code == 0


@pytest.mark.thorough
async def test_the_list_is_opened_again_after_a_replay(fake, open_app):
    """By an app that has the state of the one before, with its selected view."""
    async with open_app(fake, (80, 24)) as (app, pilot):
        await pilot.press("t")
        await until(lambda: app.state.view == "timing")
    app.state.lists_episodes = True
    again = PacApp(SessionConnection(lambda: fake, "process"), app.state)
    async with run(again, (80, 24)):
        await until(lambda: isinstance(again.screen, EpisodesDialog), "the list")
        assert again.painter.view.id == "timing"


def test_equal_and_unknown_returns_have_one_mark():
    """The first of equal ones; NaN has none; of two, the lower one is the median."""
    assert marks_of(np.array([1.0, 3.0, 3.0, np.nan], "f4")) == {0: "worst", 1: "best"}
    assert marks_of(np.array([np.nan], "f4")) == {}
    assert marks_of(np.zeros(0, EPISODE)["ret"]) == {}


def test_a_comparison_without_a_number_matches_nothing():
    """It does not fail while it is typed."""
    row = EpisodeRow(1, 0, 0, 1.0, 5, "terminated", "cleared", 0.0, 3)
    assert [len(chosen([row], [word], "age", ascending=False)) for word in ("return>", "return>.", "return>=1")] == [
        0,
        0,
        1,
    ]


def test_a_seed_is_that_of_the_environment_among_all_processes():
    """The second process of two with eight environments each shows the seeds of environments 9 to 16."""
    records = np.zeros(1, EPISODE)
    records["number"], records["env"], records["episode"] = 1, 2, 5
    about = describe(find("drmario"), run="a-run", first_env=8, **FACTS)
    assert rows_of(records, about)[0].seed == episode_seed(7, 10, 5)


@pytest.mark.parametrize("width", [36, 50, 76, 106])
def test_columns_are_left_out_and_not_cut(width):
    """In 40 columns, the return is whole."""
    columns = columns_of(width)
    assert 2 + sum(wide for _, wide in columns) <= width
    assert {"env", "return"} <= {name for name, _ in columns}
    assert [name for name, _, _ in TABLE if name in dict(columns)] == list(dict(columns))
