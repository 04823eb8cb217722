"""Several sessions on one screen: ranks of a training, or all sessions of a machine."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from pac.training.telemetry.records import Phase
from pac.tui.app.app import PacApp
from pac.tui.connections.session_group import GroupMember, SeenSession, SessionGroup, slowest

from .fake_session import FakeSession, run, screen_text, seen, until


@pytest.fixture
def ranks(runtime_directory):
    """Two ranks of a training; rank 1 waits less for rank 0 than the other way round."""
    fakes = []
    for rank, waited in enumerate((3.0, 0.5)):
        fake = FakeSession(runtime_directory)
        fake.facts = {"rank": rank, "ranks": 2, "host": "box"}
        fake.restart(8)
        fake.write("times", wall=10.0, steps=1000, environment=5.0, ranks=waited)
        fakes.append(fake)
    yield fakes
    for fake in fakes:
        fake.close()


def member(fake, number):
    """Return a fake session as rank `number` of a group."""
    return GroupMember(number, f"rank {number}", lambda: fake)


@asynccontextmanager
async def opened(fakes, size=(120, 40), **options):
    group = SessionGroup([member(fake, number) for number, fake in enumerate(fakes)], **options)
    app = PacApp(group)
    async with run(app, size) as pilot:
        await until(lambda: app.state.snapshot is not None and all(one.snapshot for one in app.state.members))
        yield app, pilot
    group.close()


@pytest.mark.thorough
async def test_keys_select_a_rank_and_commands_go_to_it(ranks):
    """`>` goes from rank 0 to rank 1; the rank that is left need not draw any more."""
    first, second = ranks
    async with opened(ranks) as (app, pilot):
        await pilot.press("greater_than_sign", "space")
        await until(lambda: ("pause", {}) in second.commands)
        assert not first.commands
        await until(lambda: first.looks[-1].get("count") == 0 and second.looks)
        await pilot.press("greater_than_sign")
        await seen(app, "All ranks")
        await pilot.press("greater_than_sign")
        await until(lambda: app.state.selected == 0 and app.state.view == "summary")


@pytest.mark.thorough
async def test_the_app_stays_until_all_sessions_have_ended(ranks):
    """One that has ended is shown as such meanwhile."""
    async with opened(ranks) as (app, pilot):
        await pilot.press("a")
        ranks[0].say(phase=Phase.ENDED)
        await until(lambda: app.state.members[0].over)
        await seen(app, "ended")
        assert app.return_code is None
        ranks[1].say(phase=Phase.ENDED)
        await until(lambda: app.return_code == 0)


@pytest.mark.thorough
async def test_sessions_that_start_later_are_added(ranks):
    """They get a name in the line of sessions."""
    found = [member(ranks[0], 0)]
    async with opened(ranks[:1], find=lambda: found) as (app, _):
        found.append(member(ranks[1], 1))
        await seen(app, "rank 1")


async def test_a_single_session_has_no_line_of_sessions(fake, open_app):
    """The keys say how to show several."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("a")
        await seen(app, "pac-tui attach --all")
        assert "All a" not in screen_text(app)


def test_the_slowest_rank_is_the_one_that_waits_least(ranks):
    """It is unknown for a single rank, and for ranks that are equally fast."""
    group = SessionGroup([member(fake, number) for number, fake in enumerate(ranks)])
    for number in range(2):
        group._connections[number].wait()
    group._looked = 0.0
    first, second = group.members()
    group.close()
    assert slowest([first, second]) == 1
    assert slowest([first, first]) is None
    assert slowest([first, SeenSession("rank 1")]) is None


def test_sessions_that_have_ended_since_the_last_look_are_waited_for(ranks):
    """What has started them gets no signal while it ends by itself."""

    class Owner:
        def ended(self, *, over):
            return over

        def detach(self):
            pass

        terminate = kill = detach

    group = SessionGroup([member(fake, number) for number, fake in enumerate(ranks)], owner=Owner())
    for connection in group._connections:
        connection.wait()
    group.members()
    assert not group.ended
    for fake in ranks:
        fake.say(phase=Phase.ENDED)
    assert group.ended
    group.close()
