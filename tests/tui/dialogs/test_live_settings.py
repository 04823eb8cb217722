"""Settings of the trainer in the app: their present values, and new ones."""

import pytest
from textual.widgets import Input

from pac.training.telemetry.changes import Change, write_changes
from pac.tui.dialogs.live_settings import LiveSettingsDialog

from ..fake_session import SIZES, seen, until

SETTINGS = {"clip": 0.2, "epochs": 4, "learning_rate": 3e-4, "target_kl": None}


async def opened(fake, app, pilot):
    """Open the dialog in a session of PPO."""
    fake.facts = {"settings": SETTINGS, "live": tuple(SETTINGS)}
    fake.restart(8)
    await until(lambda: app.state.snapshot is not None and app.state.snapshot.description.live)
    await pilot.press("L")
    await until(lambda: isinstance(app.screen, LiveSettingsDialog))


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES)
async def test_a_value_is_sent_for_the_selected_setting(fake, open_app, size):
    """It waits for the end of the iteration; then it is the present value."""
    async with open_app(fake, size) as (app, pilot):
        await opened(fake, app, pilot)
        await pilot.press("down", "down", *"1e-4", "enter")
        await until(lambda: fake.commands == [("set", {"name": "learning_rate", "text": "1e-4"})])
        assert [item.wanted for item in app.screen.shown] == ["", "", "1e-4", ""]
        with fake.writer.write("changes") as block:
            write_changes(block, [Change("learning_rate", "0.0003", "0.0001", 4096, 3.0, 4096)])
        fake.say()
        await until(lambda: [item.value for item in app.screen.shown] == ["0.2", "4", "0.0001", "none"])
        assert not any(item.wanted for item in app.screen.shown)
        assert [change.name for change in app.state.snapshot.changes] == ["learning_rate"]
        if size == (80, 24):
            await seen(app, "at step 4,096: 0.0003 -> 0.0001", "Learning rate of Adam")


@pytest.mark.thorough
async def test_a_refused_value_stays_in_the_input(fake, open_app):
    """The reason is in the dialog."""
    fake.refusal = "Bad parameter: ppo.clip expects a number"
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(fake, app, pilot)
        await pilot.press(*"x", "enter")
        await seen(app, "ppo.clip expects a number")
        assert app.screen.query_one(Input).value == "x"
        assert not any(item.wanted for item in app.screen.shown)
