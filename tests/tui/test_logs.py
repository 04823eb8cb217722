"""The output in the app: followed, scrolled, searched, errors marked."""

import pytest

from .stage import SIZES, screen_text, seen, until


def printed(stage, text, name="session.log"):
    """Let the session print."""
    with (stage.directory / name).open("a") as file:
        file.write(text)
    stage.say()


async def test_output_is_followed(stage, open_app):
    """By source; errors and warnings have signs."""
    async with open_app(stage, (120, 30)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "nothing was printed yet")
        printed(stage, "loading\nUserWarning: careful\n")
        printed(stage, "ValueError: broken\n", "fleet-0a-2.log")
        await seen(app, "training    loading", "training  ! UserWarning", "worker 3  ✗ ValueError: broken", "follows")
        printed(stage, "".join(f"line {number}\n" for number in range(100)))
        await seen(app, "line 99")
        assert "loading" not in screen_text(app)


async def test_it_stands_still_when_scrolled_and_follows_at_the_end(stage, open_app):
    """Pages, lines, the beginning and the end; new lines do not move what is read."""
    printed(stage, "".join(f"line {number:03}\n" for number in range(100)))
    async with open_app(stage, (120, 30)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "line 099")
        await pilot.press("up")
        await seen(app, "line 098", "stands still")
        await pilot.press("home")
        await seen(app, "line 000")
        printed(stage, "more\n")
        await pilot.press("down")
        await seen(app, "line 001")
        assert "more" not in screen_text(app)
        await pilot.press("pagedown")
        await until(lambda: "line 001" not in screen_text(app))
        await pilot.press("end")
        await seen(app, "more", "follows")


async def test_it_is_searched(stage, open_app):
    """Any case; Enter goes to the line before, and round; an empty search ends it."""
    printed(stage, "".join(f"{'Needle' if number in {5, 50} else 'hay'} {number:03}\n" for number in range(100)))
    async with open_app(stage, (120, 30)) as (app, pilot):
        await pilot.press("o", "slash", *"needle", "enter")
        await seen(app, "Needle 050", "2 lines with 'needle'")
        await pilot.press("enter")
        await seen(app, "Needle 005")
        await pilot.press("enter")
        await seen(app, "Needle 050")
        await pilot.press("slash", "enter")
        await seen(app, "/ searches")


async def test_long_lines_are_read_to_their_end(stage, open_app):
    """The arrow keys shift what is cut, as far as the longest line reaches, and back."""
    printed(stage, "begin " + "long " * 40 + "end\n")
    async with open_app(stage, (80, 24)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "begin", "← → shift")
        await pilot.press(*["right"] * 20)
        await until(lambda: " end" in screen_text(app) and "begin" not in screen_text(app))
        await pilot.press(*["left"] * 20)
        await seen(app, "begin")


@pytest.mark.parametrize("size", SIZES)
async def test_it_stands_at_every_size(stage, open_app, size):
    """Long lines are cut; letters that move cursors do not."""
    printed(stage, "\x1b[2Jclear\n" + "long " * 100 + "\n")
    async with open_app(stage, size) as (app, pilot):
        await pilot.press("o")
        await until(lambda: "clear" in screen_text(app) or size[1] < 12)
        assert len(screen_text(app).splitlines()) == size[1]


async def test_what_is_printed_without_other_news_is_shown(stage, open_app):
    """As by a session that hangs: its telemetry stands still."""
    async with open_app(stage, (120, 30)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "nothing was printed yet")
        (stage.directory / "session.log").write_text("still here\n")
        await seen(app, "still here")
