"""What each view shows, at every size."""

from contextlib import closing

import pytest

from .fake_session import FakeSession, play, seen, until


def counted(app, steps):
    """Return whether the newest snapshot has so many steps."""
    return app.state.snapshot.state["steps"] == steps


@pytest.mark.thorough
async def test_letters_distinguish_pieces_on_the_console(fake, open_app, monkeypatch):
    """Sixteen colors would make two of them the same."""
    monkeypatch.setenv("TERM", "linux")
    play(fake)
    async with open_app(fake) as (app, _):
        await seen(app, "rr", "ss", "aa")


@pytest.mark.thorough
async def test_many_boards_are_divided_into_pages(runtime_directory, open_app):
    """PgDn shows the next page, the header counts them, and the session is told."""
    with closing(FakeSession(runtime_directory, num_envs=300)) as fake:
        async with open_app(fake, (80, 24)) as (app, pilot):
            await seen(app, "page 1/", "1/300")
            grid = app.query_one("#grid")
            await until(lambda: fake.looks and fake.looks[-1]["count"] == grid.page)
            await pilot.pause()
            await pilot.press("pagedown")
            page = grid.page
            await seen(app, "page 2/", f"{page + 1}/300")
            await until(lambda: fake.looks[-1]["first"] == page)
            await pilot.press("pageup")
            await seen(app, "page 1/")
