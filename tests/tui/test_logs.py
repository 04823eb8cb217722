"""The output in the app: following, scrolling, searching, marked errors."""

import pytest

from .fake_session import screen_text, seen, until


def printed(fake, text, name="session.log"):
    """Append to the log of the session."""
    with (fake.directory / name).open("a") as file:
        file.write(text)
    fake.say()


async def test_output_is_followed(fake, open_app):
    """By source; errors and warnings have signs."""
    async with open_app(fake, (120, 30)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "nothing was printed yet")
        printed(fake, "loading\nUserWarning: careful\n")
        printed(fake, "ValueError: broken\n", "fleet-0a-2.log")
        await seen(app, "training    loading", "training  ! UserWarning", "worker 3  ✗ ValueError: broken", "following")
        printed(fake, "".join(f"line {number}\n" for number in range(100)))
        await seen(app, "line 99")
        assert "loading" not in screen_text(app)


@pytest.mark.thorough
async def test_a_progress_bar_is_shown_as_it_is_now(fake, open_app):
    """It overwrites its line, which ends later or never."""
    async with open_app(fake, (120, 30)) as (app, pilot):
        await pilot.press("o")
        printed(fake, "begin\n\r 10 %|#   |\r 20 %|##  |")
        await seen(app, "begin", "training     20 %|##  |")
        printed(fake, "\r 30 %|### |")
        await seen(app, "training     30 %|### |")
        assert "20 %" not in screen_text(app)


@pytest.mark.thorough
async def test_scrolled_output_stays_and_is_followed_again_at_the_end(fake, open_app):
    """By pages and lines, to the start and the end; new lines do not move the shown ones."""
    printed(fake, "".join(f"line {number:03}\n" for number in range(100)))
    async with open_app(fake, (120, 30)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "line 099")
        await pilot.press("up")
        await seen(app, "line 098", "scrolled")
        await pilot.press("home")
        await seen(app, "line 000")
        printed(fake, "more\n")
        await pilot.press("down")
        await seen(app, "line 001")
        assert "more" not in screen_text(app)
        await pilot.press("pagedown")
        await until(lambda: "line 001" not in screen_text(app))
        await pilot.press("end")
        await seen(app, "more", "following")


@pytest.mark.thorough
async def test_output_is_searched(fake, open_app):
    """Ignoring case; Enter goes to the previous match in a circle; an empty search ends it."""
    printed(fake, "".join(f"{'Needle' if number in {5, 50} else 'hay'} {number:03}\n" for number in range(100)))
    async with open_app(fake, (120, 30)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "hay 099")
        await pilot.press("slash", *"needle", "enter")
        await seen(app, "Needle 050", "2 lines with 'needle'")
        await pilot.press("enter")
        await seen(app, "Needle 005")
        await pilot.press("enter")
        await seen(app, "Needle 050")
        await pilot.press("slash", "enter")
        await seen(app, "/ search")


@pytest.mark.thorough
async def test_output_is_shown_without_a_new_snapshot(fake, open_app):
    """As of a session that hangs and publishes nothing."""
    async with open_app(fake, (120, 30)) as (app, pilot):
        await pilot.press("o")
        await seen(app, "nothing was printed yet")
        (fake.directory / "session.log").write_text("still here\n")
        await seen(app, "still here")
