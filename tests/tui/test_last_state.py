"""A step that ends an episode leads to two states: the app shows the last one, then the next episode's first one."""

from functools import partial

import pytest

from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import Phase

from .fake_session import until

NOW = 100


def at(fake, block, *, step=NOW, now=NOW, **values):
    """Publish the moment of environment 3 after a step."""
    record = {
        "env": 2, "step": step, "now": now, "source": MomentSource.NOW, "full": 1, "decided": 1, "episode": 5,
        "next_action": 12, **values,
    }  # fmt: skip
    fake.write(block, **record)


def ended(fake, *ends, now=NOW):
    """Pause the session at step `now`; episodes have ended `ends` steps back."""
    with fake.writer.write("line") as line:
        line["env"], line["now"], line["ends_count"], line["rewards_count"] = 2, now, 100, 100
        line["ends"] = 0
        for back in ends:
            line["ends"][99 - back] = 1
    at(fake, "detail", begun=1, now=now, step=now)
    fake.say(phase=Phase.PAUSED)


def looks(fake, back, last):
    """Return whether the app requests that state."""
    return bool(fake.looks) and (fake.looks[-1]["back"], fake.looks[-1]["last"]) == (back, last)


async def test_arrows_visit_both_states_of_a_past_end(fake, open_app):
    """Backward the next episode's first state and then the last state; forward in the other order."""
    ended(fake, 1)
    async with open_app(fake) as (app, pilot):
        await pilot.press("3")
        await until(lambda: app.debugger.can_travel and app.state.snapshot.line is not None)
        for key, back, last in (
            ("left", 1, 0), ("left", 1, NOW), ("left", 2, 0), ("right", 1, NOW), ("right", 1, 0), ("right", 0, 0),
        ):  # fmt: skip
            await pilot.press(key)
            await until(partial(looks, fake, back, last), key)


@pytest.mark.thorough
async def test_every_new_end_is_requested(fake, open_app):
    """Even if the request differs only in the step."""
    ended(fake, 0, 1)
    async with open_app(fake) as (_, pilot):
        await pilot.press("3")
        await until(lambda: looks(fake, 0, NOW))
        ended(fake, 0, 1, now=NOW + 1)
        await until(lambda: looks(fake, 0, NOW + 1))


@pytest.mark.thorough
async def test_who_plays_sees_the_next_episode(fake, open_app):
    """Not the last state of the one that has ended."""
    ended(fake, 0)
    async with open_app(fake) as (_, pilot):
        await pilot.press("3")
        await until(lambda: looks(fake, 0, NOW))
        await pilot.press("p")
        await until(lambda: looks(fake, 0, 0))
