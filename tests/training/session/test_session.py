"""A real session in a real process: its telemetry, its commands, and what it leaves behind."""

import os
from pathlib import Path

import pytest

from pac.envs.gameboy.cartridge import own_cartridge
from pac.envs.gameboy.layout import CLOCK
from pac.envs.gameboy.looks import LAST_LINES
from pac.envs.gameboy.snapshots import read_picture, read_snapshot
from pac.training.past.episode import check
from pac.training.past.episode_file import read
from pac.training.session.control import CommandRefused
from pac.training.telemetry.records import Notice, Phase

from ..watched import RESIDENT, running, session

pytestmark = pytest.mark.session
DRMARIO = {"task": "drmario", "record": "best"}


def test_a_session_trains_reports_and_leaves_nothing(tmp_path):
    """Steps are counted, boards move, the report has the figures, and its directory is gone."""
    with session(tmp_path, task="drmario") as watched:
        watched.until(lambda snapshot: running(snapshot) and snapshot.state["episodes"] > 0)
        watched.call("pause")  # a snapshot's blocks are each whole, but taken one after the other
        seen = watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)
        assert seen.boards["bottle"].any()
        assert sum(seen.outcomes[1:]) == seen.state["episodes"]
        report = watched.end()
        assert report["steps"] > 0
        assert report["frames"] > report["steps"]
        assert report["fps"] > report["sps"]
        assert not watched.process.directory.exists()


def test_times_add_up_to_the_wall_clock(live):
    """Per window, the phases sum to no more than the wall time, and also on a busy machine to most of it."""
    times = live(**DRMARIO).until(lambda snapshot: snapshot.times["wall"] > 0.5).times
    accounted = sum(value for name, value in times.items() if name not in {"wall", "steps"})
    assert 0.5 * times["wall"] <= accounted <= 1.01 * times["wall"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the cores that may be used cannot be told here")
def test_only_usable_cores_are_counted(tmp_path):
    """A session that may use one core shows one."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        with session(tmp_path) as watched:
            watched.until(lambda snapshot: snapshot.system["cores"] == 1)
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("backend", ["inline", *RESIDENT])
def test_a_paused_session_does_not_step_until_requested(live, backend):
    """Pause holds the counters; `step` steps every environment exactly so many times; resume continues."""
    watched = live(task="drmario", backend=backend)
    paused = watched.pause().state["steps"]
    watched.call("step", count=3)
    stepped = watched.until(lambda snapshot: snapshot.state["steps"] > paused and not snapshot.state["credits"])
    assert stepped.state["steps"] == paused + 3 * 4
    watched.call("resume")
    watched.until(lambda snapshot: snapshot.state["steps"] > paused + 100)


@pytest.mark.parametrize("backend", ["shm", "device", *RESIDENT])
def test_a_breakpoint_stops_the_session_before_the_next_step(live, backend):
    """The step that hits is the last one; resume continues; with another N, the breakpoint still exists."""
    watched = live(task="drmario", backend=backend)
    number = watched.call("break", text="env 3: length == 5")["number"]
    stopped = watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)
    assert stopped.environments["episode_length"][2] == 5
    assert stopped.environments["notice"].tolist() == [0, 0, Notice.BREAK, 0]
    assert stopped.events[-1].text == "break: env 3: length == 5 (length 5)"
    assert stopped.breakpoints["hits"].tolist() == [1]
    watched.call("step")
    watched.until(lambda snapshot: snapshot.environments["episode_length"][2] == 6)
    watched.until(lambda snapshot: not snapshot.environments["notice"].any())
    assert watched.call("break", text="ended and reward < -1e9") == {"number": number + 1}
    watched.call("unbreak", number=number + 1)
    with pytest.raises(CommandRefused, match="expected a number or a name"):
        watched.call("break", text="reward <")
    watched.call("restart", num_envs=3)
    watched.call("resume")
    watched.until(lambda snapshot: snapshot.num_envs == 3 and snapshot.environments["episode_length"][2] == 5)
    again = watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)
    assert again.breakpoints["number"].tolist() == [number]
    assert again.environments["episode_length"][2] == 5
    assert len(again.environments) == 3
    assert again.state["steps"] > stopped.state["steps"]


def test_the_numbers_of_the_first_seat_are_shown(tmp_path):
    """In the table and in the inspector, as on the board."""
    with session(tmp_path, task="autochess:players=8", breakpoints=("env 3: length == 60",)) as watched:
        watched.call("look", focus=2, count=4, detail=True)
        watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED)

        def seen(_):
            shown = watched.see(focus=2)  # blocks of telemetry are read one after the other
            if shown.moment is None or shown.moment.env != 2:
                return False
            at = [shown.description.info.index(name) for name in ("life", "rank")]
            first = shown.focus_boards["seats"].reshape(8, 2)[0].tolist()
            return shown.info[2, at].tolist() == shown.moment.info[at].tolist() == first and first[1] > 0

        watched.until(seen)


def test_a_viewer_sees_one_environment_in_all_its_pixels(tmp_path):
    """While it asks for that, whichever worker has the environment; of the others, it sees the boards."""
    with session(tmp_path, task="CartPole-v1", backend="shm", workers=2) as watched:
        for focus in (3, 0):
            watched.call("look", focus=focus, count=4, large=True)
            look = {"focus": focus, "count": 4, "large": True}
            watched.until(lambda _, look=look: watched.see(**look).large is not None)
            picture = watched.see(**look).large
            assert picture.shape == (200, 300, 3)
            assert picture.max() == 255
        watched.call("look", focus=1, count=4)
        watched.until(lambda _: watched.see(focus=1).focus_boards["picture"].any())
        assert watched.see(focus=1, large=True).large is None


@pytest.mark.parametrize("backend", ["shm", "device", *RESIDENT])
def test_a_paused_session_shows_earlier_steps(live, backend):
    """They equal what a viewer saw then; the running environments do not change."""
    watched = live(task="drmario", backend=backend)
    begun = watched.see().state["steps"]  # of a session that other tests have used, not all are kept
    watched.until(lambda snapshot: snapshot.state["steps"] > begun + 4 * (40 if backend in RESIDENT else 600))
    watched.call("look", focus=2, count=4, detail=True)
    steps, seen = watched.pause().state["steps"], []

    def looked_at(condition):
        return watched.until(lambda _: (now := watched.see(focus=2).moment) and condition(now)) and watched.see(focus=2)

    first = looked_at(lambda now: now.next_action is not None).moment.step
    for step in range(first + 1, first + 7):
        watched.call("step", count=1)
        seen.append(looked_at(lambda now, step=step: now.step == step and now.next_action is not None))
    for back in range(1, 6):
        watched.call("look", focus=2, count=4, detail=True, back=back)

        def there(_, back=back):
            moment = watched.see(focus=2, back=back).moment
            return moment is not None and moment.back == back and moment.shown

        watched.until(there)
        was, now = watched.see(focus=2, back=back).moment, seen[5 - back].moment
        assert (was.boards["bottle"] == now.boards["bottle"]).all()
        assert (was.observation == now.observation).all()
        assert (was.action, was.next_action) == (now.action, now.next_action)
        assert was.values["reward"] == now.values["reward"]
    line = watched.see(focus=2).line
    assert len(line.ends) == 500 or backend in RESIDENT
    assert line.now == was.now
    assert watched.see().state["steps"] == steps + 6 * 4


@pytest.mark.parametrize("backend", ["shm", "device", *RESIDENT])
def test_an_episode_is_recorded_and_replays(live, backend):
    """From the next reset of the environment on, into the run's folder; an event names the file."""
    watched = live(task="drmario", backend=backend)
    about = watched.pause().description
    assert watched.call("record", env=1) == {"recording": True}
    assert watched.call("record", env=2) == {"recording": True}
    assert watched.call("record", env=2) == {"recording": False}
    watched.call("resume")
    watched.until(lambda snapshot: any(event.text.startswith("recorded") for event in snapshot.events))
    with pytest.raises(CommandRefused):
        watched.call("record", env=9)
    (path,) = Path(about.folder, "episodes").iterdir()
    episode = read(path)
    assert (episode.env, episode.run, episode.replays) == (1, about.run, True)
    check(episode)


def test_an_episode_of_the_list_is_written_for_a_replay(live):
    """Any viewer may ask for it; the best episode so far is recorded without being asked for."""
    watched = live(**DRMARIO)
    watched.until(lambda _: len(watched.see(episodes=True).episodes) > 20)
    folder = Path(watched.pause().description.folder)
    row = watched.see(episodes=True).episodes[-1]
    wanted = {"env": int(row["env"]), "episode": int(row["episode"]), "length": int(row["length"])}
    episode = read(Path(watched.call("keep_episode", **wanted)["path"]))
    with pytest.raises(CommandRefused, match="no longer kept"):
        watched.call("keep_episode", **{**wanted, "length": wanted["length"] + 1})
    with pytest.raises(CommandRefused, match="its environment no longer exists"):
        watched.call("keep_episode", **{**wanted, "env": 99})
    check(episode)
    assert (episode.env, episode.number, episode.length) == tuple(wanted.values())
    assert sum(step.reward for step in episode.steps) == pytest.approx(float(row["ret"]))
    check(read(folder / "episodes" / "best.jsonl"))


@pytest.mark.parametrize("backend", ["shm", "device"])
def test_states_of_a_paused_session_are_saved(live, backend):
    """Any viewer may ask for the files of the newest state and of earlier ones, which go into the run's folder."""
    watched = live(task="gameboy", backend=backend)
    with pytest.raises(CommandRefused, match="pause the session"):
        watched.call("save_state", env=1)
    watched.until(lambda snapshot: snapshot.environments["episode_length"][1] > 40)
    paused = watched.pause()
    if paused.environments["episode_length"][1] < 3:  # the earlier state would be of another episode
        watched.call("step", count=3)
        watched.until(lambda snapshot: snapshot.state["steps"] == paused.state["steps"] + 12)
    newest = [Path(path) for path in watched.call("save_state", env=1)["paths"]]
    picture = read_picture(newest[1])
    watched.until(lambda _: (watched.see(focus=1).focus_boards["frame"].reshape(-1) == picture).all())
    earlier = [Path(path) for path in watched.call("save_state", env=1, back=2)["paths"]]
    with pytest.raises(CommandRefused, match="environments are numbered 1 to 4"):
        watched.call("save_state", env=9)
    clocks = [read_snapshot(path, own_cartridge("catch"))[CLOCK] for path in (newest[0], earlier[0])]
    assert clocks[0] > clocks[1]
    assert {path.parent for path in (*newest, *earlier)} == {Path(paused.description.folder, "states")}


def test_the_inspector_of_a_paused_session_shows_the_last_instructions(live):
    """They are above the next ones, as soon as the step was played again."""
    watched = live(task="gameboy", backend="shm")
    watched.call("look", focus=2, count=4, detail=True)
    watched.pause()
    watched.until(lambda _: (watched.see(focus=2).focus_boards["code"][LAST_LINES - 1] != ord(" ")).any())


def test_an_episode_can_be_run_to_its_end(live):
    """`episode` pauses as soon as that environment has ended an episode; there are no files of a state."""
    watched = live(**DRMARIO)
    before = watched.pause().environments["episode"][2]
    with pytest.raises(CommandRefused, match="no files of a state"):
        watched.call("save_state", env=0)
    watched.call("episode", env=2)
    watched.until(lambda snapshot: snapshot.phase is Phase.PAUSED and snapshot.environments["episode"][2] == before + 1)


def test_a_person_plays_an_environment(live):
    """While paused, an action steps all environments once; the board of the played one is marked."""
    watched = live(task="drmario-frames")
    with pytest.raises(CommandRefused, match="pause the session"):
        watched.call("act", env=2, action=1)
    steps = watched.pause().state["steps"]
    for count, action in enumerate((1, 3, 2, 1), start=1):
        watched.call("act", env=2, action=action)
        watched.until(lambda snapshot, done=4 * count: snapshot.state["steps"] == steps + done)
        played = watched.until(lambda snapshot: snapshot.environments["notice"][2])
        assert played.environments["action"][2] == action
        assert played.environments["notice"].tolist() == [0, 0, Notice.PLAYED, 0]
    with pytest.raises(CommandRefused, match="actions are numbered"):
        watched.call("act", env=2, action=999)
    watched.call("step")
    watched.until(lambda snapshot: not snapshot.environments["notice"].any())


def test_a_session_says_what_it_runs_on(tmp_path, monkeypatch):
    """Transport, environments and device are in the events and in the log, and so are variables without an effect."""
    monkeypatch.setenv("TRAINING_SHM_NAME", "mine")
    with session(tmp_path, task="CartPole-v1", trainer="ppo", device="cpu", backend="threads") as watched:
        events = [event.text for event in watched.until(running).events]
        watched.end()
    assert "using transport: inline, 4 envs, inference on cpu" in events
    assert any("threads cannot run CartPole-v1 here" in text for text in events)
    assert any("TRAINING_SHM_NAME has no effect" in text for text in events)
    (log,) = tmp_path.glob("*/session.log")
    assert "INFO using transport: inline, 4 envs, inference on cpu" in log.read_text()
