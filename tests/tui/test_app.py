"""Keys send commands and select views; events are shown."""

import gc
from functools import partial

import pytest
from setproctitle import getproctitle, setproctitle
from textual._styles_cache import StylesCache
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Resize
from textual.geometry import Size

from pac.envs.titles import Titled
from pac.training.telemetry.records import Level, Phase
from pac.tui.app import session_commands
from pac.tui.dialogs.prompt import Prompt
from pac.tui.pictures.answers import Answers
from pac.tui.starting import launch
from pac.tui.terminal.svg import stacked_lines
from pac.tui.terminal.terminal_app import CLEARED, TerminalDriver

from .fake_session import screen_text, seen, until


async def commanded(fake, name):
    """Wait for a command; return its arguments."""
    await until(lambda: any(command == name for command, _ in fake.commands), name)
    return next(arguments for command, arguments in fake.commands if command == name)


COMMANDS = [
    (["space"], "pause", {}),
    (["n"], "step", {"count": 1}),
    (["N", "2", "5", "enter"], "step", {"count": 25}),
    (["3", "f"], "episode", {"env": 2}),
    (["minus"], "speed", {"sps": 60.0}),
    (["m"], "speed", {"sps": 0.0}),
    (["B"], "baseline", {}),
    (["right_square_bracket", "enter"], "restart", {"num_envs": 9}),
    (["left_square_bracket", "left_square_bracket", "enter"], "restart", {"num_envs": 6}),
    (["right_curly_bracket", "enter"], "restart", {"num_envs": 16}),
    (["left_curly_bracket", "enter"], "restart", {"num_envs": 4}),
    (["number_sign", "1", "2", "enter", "enter"], "restart", {"num_envs": 12}),
]


@pytest.mark.thorough
async def test_keys_command_the_session(fake, open_app, monkeypatch):
    """Each key sends its command once, however slow the machine is."""
    monkeypatch.setattr(session_commands, "DEBOUNCE", 60.0)
    async with open_app(fake) as (_, pilot):
        for keys, command, arguments in COMMANDS:
            fake.commands.clear()
            await pilot.press(*keys)
            await until(lambda: fake.commands, str(keys))
            assert fake.commands == [(command, arguments)], keys


@pytest.mark.thorough
@pytest.mark.parametrize("keys", [("q", "enter"), ("q", "s"), ("ctrl+c",), ("ctrl+q",)])
async def test_keys_stop_the_session(fake, open_app, keys):
    """Each of these ways sends a stop."""
    async with open_app(fake, (80, 24)) as (_, pilot):
        await pilot.press(*keys)
        assert await commanded(fake, "stop") == {}


@pytest.mark.thorough
@pytest.mark.parametrize(("keys", "code"), [(("q", "s"), 0), (("ctrl+c",), 130)])
async def test_the_exit_code_depends_on_how_the_session_was_stopped(fake, open_app, keys, code):
    """Ctrl-C is an interrupt, `q` is not."""
    async with open_app(fake) as (app, pilot):
        await pilot.press(*keys)
        await commanded(fake, "stop")
        fake.say(phase=Phase.ENDED)
        await until(lambda: app.return_code == code)


async def test_space_resumes_a_paused_session(fake, open_app):
    """The same key pauses and resumes."""
    fake.say(phase=Phase.PAUSED)
    async with open_app(fake) as (app, pilot):
        await pilot.press("space")
        await commanded(fake, "resume")
        await seen(app, "‖ paused")


@pytest.mark.thorough
async def test_a_pause_is_shown_before_the_training_has_paused(fake, open_app):
    """An update of the policy may take a second; the same key takes the request back."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("space")
        await seen(app, "pausing...")
        await pilot.press("space")
        await until(lambda: "pausing..." not in screen_text(app))
        await pilot.press("space")
        await until(lambda: [name for name, _ in fake.commands] == ["pause", "resume", "pause"])
        fake.say(phase=Phase.PAUSED)
        await until(lambda: "paused" in screen_text(app) and "pausing..." not in screen_text(app))


PLACES = [
    (["tab"], "environment", 0),
    (["shift+tab"], "environment", 7),
    (["3", "0"], "summary", 2),
    (["e", "8", "enter"], "environment", 7),
    (["t", "escape"], "summary", 0),
    (["l"], "learning", 0),
    (["right", "down", "enter"], "environment", 5),
]
MORE_PLACES = [
    (["tab", "tab"], "environment", 1),
    (["tab", "shift+tab"], "summary", 0),
    (["e", "5", "escape"], "summary", 0),
    (["9"], "summary", 0),
    (["t"], "timing", 0),
    (["w"], "workers", 0),
    (["o"], "logs", 0),
    (["down", "left"], "summary", 3),
]


def at(app, view, env):
    """Return whether this view and environment are selected."""
    return (app.painter.view.id, app.state.env) == (view, env)


@pytest.mark.thorough
@pytest.mark.parametrize("places", [PLACES, pytest.param(MORE_PLACES, marks=pytest.mark.thorough)], ids=["few", "more"])
async def test_keys_choose_the_view(fake, open_app, places):
    """Each view and each environment has its keys; a number without an environment changes nothing."""
    async with open_app(fake) as (app, pilot):
        await until(
            lambda: app.query_one("#grid").grid_layout is not None and app.query_one("#grid").grid_layout.columns == 4
        )
        for keys, view, env in places:
            app.state.env = 0
            app.navigation.show("summary")
            await pilot.press(*keys)
            await until(partial(at, app, view, env), str(keys))


@pytest.mark.thorough
async def test_the_session_is_told_what_the_screen_needs(fake, open_app):
    """A grid of boards, then one environment, then no environment."""
    async with open_app(fake) as (_, pilot):
        await until(lambda: fake.looks and fake.looks[-1]["count"] >= 8)
        await pilot.press("4")
        await until(lambda: fake.looks[-1]["focus"] == 3)
        await pilot.press("t")
        await until(lambda: fake.looks[-1]["count"] == 0 and fake.looks[-1]["focus"] is None)


@pytest.mark.thorough
async def test_a_restart_counts_down_and_happens(fake, open_app):
    """The footer announces it and shows it; then the new number of boards is shown."""
    now = 0.0
    async with open_app(fake) as (app, pilot):
        app.training.pending = session_commands.PendingRestart(lambda: now)
        await pilot.press("right_square_bracket")
        await seen(app, "num_envs=9 in 0.5")
        now = session_commands.DEBOUNCE
        assert await commanded(fake, "restart") == {"num_envs": 9}
        fake.say(phase=Phase.RESTARTING, target_envs=9)
        await seen(app, "restarting with num_envs=9...")
        fake.restart(9)
        await seen(app, " 9/9 ")


@pytest.mark.thorough
async def test_escape_cancels_a_restart(fake, open_app, monkeypatch):
    """Nothing is sent and the view stays, however slow the machine is."""
    monkeypatch.setattr(session_commands, "DEBOUNCE", 60.0)
    async with open_app(fake) as (app, pilot):
        await pilot.press("right_square_bracket", "escape")
        assert app.training.pending.num_envs is None
        assert app.painter.view.id == "summary"
        await pilot.press("space")
        await commanded(fake, "pause")
        assert [name for name, _ in fake.commands] == ["pause"]


@pytest.mark.thorough
async def test_a_refusal_is_shown(fake, open_app):
    """As a toast, and the app continues."""
    fake.refusal = "the baseline is being measured"
    async with open_app(fake) as (app, pilot):
        await pilot.press("B")
        await seen(app, "the baseline is being measured")


@pytest.mark.thorough
async def test_events_are_shown_once(fake, open_app):
    """A replaced worker is a toast; plain information is only in the log."""
    async with open_app(fake) as (app, _):
        fake.event(Level.WARNING, "worker 2 was replaced")
        fake.event(Level.INFO, "nothing much")
        await seen(app, "worker 2 was replaced")
        fake.shuffle()
        await until(lambda: app.state.snapshot.state["steps"] > 0)
        assert len(app.screen.query("Toast")) == 1


async def test_the_palette_finds_commands_by_name(fake, open_app):
    """Enter runs the command that was found."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("ctrl+p")
        await until(lambda: app.screen is not app.screen_stack[0])
        await pilot.press(*"baseline")
        await seen(app, "Measure the baseline")
        await pilot.press("enter")
        await commanded(fake, "baseline")


@pytest.mark.thorough
async def test_a_prompt_takes_digits_only(fake, open_app):
    """Letters are not typed; Esc cancels."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("number_sign")
        await until(lambda: isinstance(app.screen, Prompt))
        await pilot.press("x", "3")
        await until(lambda: app.screen.query_one("Input").value == "3")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, Prompt))
        assert app.training.pending.num_envs is None


async def test_a_picture_of_a_dialog_is_saved(fake, open_app, tmp_path, monkeypatch):
    """It shows the dialog over what is below it."""
    monkeypatch.chdir(tmp_path)
    async with open_app(fake) as (app, pilot):
        await pilot.press("question_mark", "s")
        await seen(app, "saved")
        text = "\n".join(line.text for line in stacked_lines(app.screen_stack))
    assert "Debugging" in text
    assert "Summary" in text
    assert list(tmp_path.glob("*.svg"))


async def test_a_click_on_a_hint_does_what_its_key_does(fake, open_app):
    """Of two keys, the one that was clicked."""
    async with open_app(fake, (200, 24)) as (app, pilot):
        keys = app.query_one("#keys")
        await until(lambda: "workers" in keys.text)
        await pilot.click("#keys", offset=(keys.text.index("workers"), 0))
        await until(lambda: app.state.view == "workers")
        await pilot.press("0")
        await until(lambda: app.state.view == "summary" and "] envs" in keys.text)
        await pilot.click("#keys", offset=(keys.text.index("] envs"), 0))
        await until(lambda: app.training.pending.num_envs == 9)


@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.thorough)])
async def test_a_screenshot_is_saved_where_the_toast_says(fake, open_app, tmp_path, monkeypatch, known):
    """As an SVG in the working directory, also with a Textual that does not give its lines."""
    monkeypatch.chdir(tmp_path)
    if not known:
        monkeypatch.setattr("pac.tui.terminal.svg.lines_of", lambda screen: screen.no_such_method())
    async with open_app(fake) as (app, pilot):
        await seen(app, "Throughput")
        await pilot.press("s")
        await seen(app, "saved")
    (picture,) = tmp_path.glob("*.svg")
    assert "Throughput" in picture.read_text()


@pytest.mark.thorough
async def test_stopping_is_shown_until_the_session_has_ended(fake, open_app):
    """The app waits for the end, then leaves with exit code 0."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("q", "s")
        await seen(app, "stopping...")
        await commanded(fake, "stop")
        fake.say(phase=Phase.ENDED)
        await until(lambda: app.return_code == 0)


@pytest.mark.thorough
async def test_a_session_that_does_not_stop_can_be_killed(fake, open_app):
    """After a stop was requested, q warns, and the next q kills."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("q", "s", "q")
        await seen(app, "without saving")
        assert not fake.killed
        await pilot.press("q")
        await until(lambda: fake.killed and app.return_code == 1)


@pytest.mark.thorough
async def test_a_failure_stays_on_the_screen(fake, open_app, tmp_path):
    """The error and what to do are shown, keys still work, and the exit code is 1."""
    fake.facts = {"folder": str(tmp_path)}
    fake.restart(8)
    async with open_app(fake) as (app, pilot):
        fake.say(phase=Phase.FAILED, message=b"Worker failed: environment 3 raised ValueError")
        await seen(app, "environment 3 raised ValueError", "session.log")
        await pilot.press("w")
        await until(lambda: app.painter.view.id == "workers")
        await pilot.press("q")
        await until(lambda: app.return_code == 1)


@pytest.mark.thorough
async def test_a_session_that_died_is_shown_as_failed(fake, open_app):
    """Its process has exited without reporting an error; the app's exit code is 1."""
    async with open_app(fake) as (app, pilot):
        fake.code = -9
        await seen(app, "exited without reporting an error", "SIGKILL")
        await pilot.press("q")
        await until(lambda: app.return_code == 1)


async def test_a_session_that_could_not_start_closes_the_app(fake, open_app):
    """The error is left to the command line."""
    fake.writer.unlink()
    async with open_app(fake, wait=False) as (app, _):
        await until(lambda: app.return_code == 1)
        assert "no telemetry" in str(app.state.lost)


@pytest.mark.thorough
async def test_a_size_that_is_no_longer_true_is_not_taken(fake, open_app):
    """Two sizes on their way would otherwise replace each other for ever while the app ends."""
    async with open_app(fake) as (app, pilot):
        app.screen.post_message(Resize(Size(60, 20), Size(60, 20)))
        await pilot.pause()
        assert app.screen.size == app.size


@pytest.mark.thorough
async def test_what_dialogs_have_drawn_is_freed_when_they_are_closed(fake, open_app):
    """Nothing keeps its lines, so that a day of opening dialogs costs no memory."""

    def drawn():
        gc.collect()
        return sum(isinstance(one, StylesCache) for one in gc.get_objects())

    async def opened_and_closed():
        for key in ("comma", "ctrl+p", "question_mark", "E", "b", "v", "R", "number_sign"):
            await pilot.press(key)
            await until(lambda: len(app.screen_stack) == 2, "the dialog")
            await pilot.press("escape")
            await until(lambda: len(app.screen_stack) == 1, "its end")
            await pilot.pause()

    async with open_app(fake) as (app, pilot):
        await opened_and_closed()
        first = drawn()
        for _ in range(3):
            await opened_and_closed()
        await until(lambda: drawn() <= first + 2, "the end of what the dialogs have drawn")


async def test_the_process_has_the_title_of_the_run(fake, open_app, monkeypatch):
    """As the session and its workers have."""
    monkeypatch.setattr(Titled, "run", "")
    before = getproctitle()
    async with open_app(fake):
        assert getproctitle() == "pac-tui: app of toy-run"
    setproctitle(before)


async def test_sessions_that_are_running_already_are_told(fake, open_app, monkeypatch):
    """In one line with the command that shows them, which is quoted for the shell."""
    for names, told in ((set(), ""), ({"a b"}, "pac-tui attach 'a b'"), ({"a", "b"}, "2 sessions are running already")):
        monkeypatch.setattr(launch, "running_names", lambda names=names: names)
        assert told in launch.others_text()
        assert bool(told) == bool(launch.others_text())
    async with open_app(fake, (100, 30)) as (app, _):
        app.notice = "a is running already"
        fake.say()
        await seen(app, "a is running already")


def test_the_screen_is_cleared_before_it_is_left(monkeypatch):
    """And only once, as the terminal's own screen follows."""
    written: list[str] = []
    monkeypatch.setattr(LinuxDriver, "stop_application_mode", lambda _: written.append("left"))
    driver = TerminalDriver.__new__(TerminalDriver)
    monkeypatch.setattr(driver, "write", written.append)
    monkeypatch.setattr(driver, "_app", None, raising=False)
    driver.answers = Answers(lambda _: None, lambda _: None, lambda: None)
    driver._active = True
    driver.stop_application_mode()
    driver.stop_application_mode()
    assert written == [CLEARED, "left", "left"]
