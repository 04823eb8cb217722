"""Numbers in infos that appear after the environment was described: they become scalars of a running session."""

import pytest

from pac.envs import Field
from pac.envs.spaces.infos import ROOM
from pac.envs.unknown import unknown_in
from pac.training.telemetry.counts import TOTALS, Counts
from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import Phase

from ...toys import toy
from ..late import LATE, TEAM
from ..watched import session

pytestmark = pytest.mark.session
NAMES = {"first", "second", "parts.odd", "won", "lucky"}


@pytest.fixture(params=["inline", "shm"])
def watched(request, tmp_path):
    """A session of which all numbers are known."""
    with session(tmp_path, task=LATE, backend=request.param, workers=2 if request.param == "shm" else None) as watched:
        watched.until(lambda snapshot: set(snapshot.description.info) == NAMES)
        yield watched


def numbers(snapshot, name):
    return snapshot.info[:, snapshot.description.info.index(name)]


def test_numbers_that_appear_late_are_shown_in_curves_conditions_and_after_restarts(watched):
    """Those of a second step, of a dict, of an end and of some resets."""
    watched.until(lambda snapshot: {"info/won", "info/second"} <= snapshot.metrics.keys())
    number = watched.call("break", text="second == 2")["number"]
    seen = watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)
    assert (numbers(seen, "second") == 2).any()
    watched.call("unbreak", number=number)
    watched.call("restart", num_envs=2)
    watched.call("resume")
    watched.until(lambda snapshot: snapshot.num_envs == 2 and (numbers(snapshot, "second") == 2).all())


def test_earlier_steps_show_numbers_that_appear_late(watched):
    """They are read when the step is replayed."""
    watched.call("break", text="second == 2")
    watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)
    watched.call("look", focus=0, detail=True, back=7)

    def there(_):
        moment = watched.see(focus=0, detail=True, back=7).moment
        return moment is not None and moment.back == 7 and moment.source is MomentSource.REBUILT

    at = watched.until(there).description.info.index("second")
    moment = watched.see(focus=0, detail=True, back=7).moment
    assert unknown_in(moment.info[at]) == (moment.values["episode_length"] < 2)


def test_each_seat_has_numbers_of_its_own(tmp_path):
    """The seats of a parallel environment report different ones."""
    with session(tmp_path, task=TEAM, in_process=True) as watched:
        watched.until(
            lambda snapshot: snapshot.description.info == ("number",) and (numbers(snapshot, "number") == 1).any()
        )


def test_a_resumed_run_keeps_the_returns_of_its_last_episodes():
    """Numbers that it does not know yet are left out of them."""
    counts = Counts(toy(info=(Field("first", "float32"),)))
    counts.load_state({**dict.fromkeys(TOTALS, 1), "recent": [[3.0, 5.0, 1.0, 2.0]]})
    assert counts.metrics() == {"return_mean": 3.0, "length_mean": 5.0, "info/first": 1.0}


def test_numbers_beyond_the_room_are_named_in_an_event(tmp_path):
    """An environment that keeps adding numbers gets room for some."""
    with session(tmp_path, task=f"{LATE}:more=True", in_process=True) as watched:
        seen = watched.until(lambda snapshot: any(f"at most {ROOM}" in event.text for event in snapshot.events))
        assert len(seen.description.info) == 1 + ROOM
