"""A training of somebody else's, watched: seen, paused, slowed, let go; nothing changes for it, nothing is left."""

import itertools
import math
import multiprocessing
import os
import signal
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorWrapper
from hypothesis import given
from hypothesis import strategies as st

from pac.envs import BadParameter, allocate
from pac.training import watch
from pac.training.runs.sessions import sessions
from pac.training.session.control import CommandRefused, SessionClient
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import Look, take
from pac.training.watching.boards import Boards
from pac.training.watching.mirror import LEAST, TOGETHER, Mirror
from pac.training.watching.task import action_reader, describe_script
from pac.training.watching.vector import WatchedVectorEnv

from ...waiting import LIMIT, until
from .scripted import cartpoles, counted_by, training


def ended(returns, lengths, dones):
    """Episodes as Gymnasium's own wrapper counts them."""
    return [(float(returns[env]), int(lengths[env])) for env in np.flatnonzero(dones)]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_episodes_are_counted_as_gymnasium_counts_them(mode):
    """Returns, lengths and their number are those of RecordEpisodeStatistics, whenever environments begin anew."""
    envs = WatchedVectorEnv(gymnasium.wrappers.vector.RecordEpisodeStatistics(cartpoles(mode=mode)))
    envs.reset(seed=1)
    episodes = []
    for _ in range(200):
        infos = envs.step(envs.action_space.sample())[-1]
        if mode is AutoresetMode.SAME_STEP and "final_info" in infos:
            infos = infos["final_info"] if "episode" in infos["final_info"] else infos
        if "episode" in infos:
            episodes += ended(infos["episode"]["r"], infos["episode"]["l"], infos["_episode"])
    monitor = counted_by(envs)
    assert monitor.counts.episodes == len(episodes)
    assert monitor.counts.return_mean == pytest.approx(np.mean([result for result, _ in episodes[-100:]]))
    envs.close()


def is_full(mirror, actions, rewards, terminated):
    """Note a step; return whether the steps must be flushed before the next."""
    full: list[float] = []
    mirror.tape.settle = full.append
    mirror.tape.before(actions)
    mirror.tape.after((None, rewards, terminated, np.zeros(mirror.environments, np.bool_), {}))
    return bool(full)


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, np.nan, np.inf]), st.booleans()), min_size=1, max_size=20))
def test_a_reward_that_is_no_number_spoils_its_own_episode_alone(steps):
    """The returns before and after it are what they are without it."""
    task = describe_script("toy", gymnasium.spaces.Discrete(2), Boards(None, np.zeros((1, 1), np.float32)))
    mirror, expected, total = Mirror(task, 1, "same step", None), [], 0.0
    for reward, done in steps:
        is_full(mirror, None, [reward], [done])
        total += reward
        expected.append(total)
        total = 0.0 if done else total
    mirror.flush()
    np.testing.assert_array_equal(mirror.buffer["episode_return"][1 : 1 + len(steps), 0], expected)


@given(
    st.sampled_from(["same step", "next step", "by hand"]),
    st.lists(st.tuples(st.lists(st.integers(0, 9), min_size=2, max_size=2), st.booleans()), min_size=1, max_size=150),
)
def test_a_stretch_of_steps_is_counted_as_one_by_one(autoreset, steps):
    """However many steps are flushed at once, the buffer holds the same as after each step alone."""
    task = describe_script("toy", gymnasium.spaces.Discrete(2), Boards(None, np.zeros((2, 1), np.float32)))
    at_once, singly = (Mirror(task, 2, autoreset, action_reader(gymnasium.spaces.Discrete(2))) for _ in range(2))
    seen: tuple[list[object], list[object]] = ([], [])
    over = np.zeros(2, np.bool_)
    for number, (draws, flush) in enumerate(steps):
        done = np.array([draw == 0 for draw in draws]) & ~over
        over = done if autoreset == "next step" else np.zeros(2, np.bool_)
        for mirror, rows, now in ((at_once, seen[0], flush), (singly, seen[1], True)):
            full = is_full(mirror, np.array(draws) % 2, np.array(draws, np.float64), done)
            if now or full or number == len(steps) - 1:
                before = mirror.slot % (mirror.buffer.slots - 1)
                mirror.flush()
                names = ("reward", "episode_return", "episode_length", "terminated", "outcome", "active", "frames")
                rows += [
                    [mirror.buffer[name][slot].tolist() for name in names]
                    for slot in range(before + 1, mirror.slot + 1)
                ]
    assert seen[0] == seen[1]
    assert at_once.buffer["episode"].tolist() == singly.buffer["episode"].tolist()


def test_a_stretch_that_is_full_is_flushed_and_another_begun():
    """Of many environments it is short; returns and lengths go on."""
    many = TOGETHER // LEAST
    task = describe_script("toy", gymnasium.spaces.Discrete(2), Boards(None, np.zeros((many, 1), np.float32)))
    mirror, never = Mirror(task, many, "same step", None), np.zeros(many, np.bool_)
    flushed = [step for step in range(1, 2 * LEAST + 3) if is_full(mirror, None, never + 2.0, never) and mirror.flush()]
    mirror.flush()
    assert flushed == [LEAST, 2 * LEAST]
    assert mirror.slot == 2
    assert mirror.buffer["episode_length"][2].tolist() == [2 * LEAST + 2] * many
    assert mirror.buffer["episode_return"][2].tolist() == [2 * (2 * LEAST + 2)] * many


def test_a_watched_script_is_found_and_seen():
    """It stands in the list; its table, its boards, its curves and what it is made of are published."""
    with training() as started:
        until(lambda: "loss" in started.see().curves and len(started.see().curves["loss"].values), "a curve")
        seen = started.see()
        assert (seen.description.task, seen.description.trainer) == ("CartPole-v1", "script")
        assert seen.description.watched
        assert seen.state["backend"] == "SyncVectorEnv"
        assert seen.num_envs == 3
        until(lambda: np.any(started.see().boards["bars"]), "bars")


@pytest.mark.thorough
def test_what_environments_draw_is_shown(monkeypatch):
    """A picture, made small, that changes; here as often as anybody looks, whatever it costs."""
    monkeypatch.setattr("pac.training.watching.boards.SHARE", math.inf)
    with training(cartpoles(render_mode="rgb_array")) as started:
        until(lambda: np.any(started.see().boards["picture"]), "a picture")
        first = started.see().boards["picture"][0]
        assert first.shape[1] <= 96
        until(lambda: not np.array_equal(started.see().boards["picture"][0], first), "another picture")


def test_waiting_goes_into_pictures(monkeypatch):
    """Beyond their share of the time they are drawn while the training stands still anyway."""
    monkeypatch.setattr("pac.training.watching.boards.SHARE", 1e-9)
    shades = itertools.count(1)
    boards = Boards(lambda _env: np.full((4, 4, 3), next(shades), np.uint8), np.zeros((1, 1), np.float32))
    task = describe_script("toy", gymnasium.spaces.Discrete(2), boards)
    buffers = allocate(task, 1)

    def shade(spare: float) -> int:
        buffers["looked_at"][:] = 1
        boards.draw(task, buffers, None, spare=spare)
        return int(buffers["picture"].max())

    first = shade(0.0)
    assert first
    assert shade(0.0) == first
    assert shade(math.inf) == first + 1


def test_a_picture_that_is_observed_is_shown():
    """The newest of a stack of frames, grey, where nothing is drawn."""
    frames = np.zeros((2, 4, 84, 84), np.uint8)
    frames[:, -1] = 200
    boards = Boards(None, frames)
    assert boards.panel.kind == "pixels"
    assert boards.field.shape == (64, 64, 3)


def test_an_environment_that_cannot_be_drawn_shows_what_it_observes():
    """A render that fails costs the picture, not the training."""

    def broken(_env):
        raise RuntimeError("no display")

    assert Boards(broken, np.ones((2, 5))).panel.kind == "bars"


def test_observations_of_any_kind_are_numbers():
    """Dicts and tuples give their parts one after the other; what is no number is left out."""
    observed = {"a": np.ones((2, 2)), "b": (np.zeros((2,), np.int64), np.array(["x", "y"]))}
    assert Boards(None, observed).field.shape == (3,)


def test_it_pauses_steps_and_goes_on():
    """The gate stands in `step`."""
    with training() as started:
        started.client.call("pause")
        until(lambda: started.see().phase is Phase.PAUSED, "paused")
        steps = started.steps
        until(lambda: getattr(started.see().moment, "next_action", None) is not None, "the next action is known")
        started.client.call("step", count=3)
        until(lambda: started.steps == steps + 3, "three steps")
        until(lambda: not started.see().state["credits"], "no more")
        assert started.steps == steps + 3
        seconds = started.see().state["training_seconds"]
        started.client.call("resume")
        until(lambda: started.steps > steps + 50, "it goes on")
        until(lambda: started.see().state["training_seconds"] > seconds, "and its clock")


def test_it_runs_to_the_end_of_an_episode():
    """`f` pauses as soon as that environment has ended an episode."""
    with training() as started:
        started.client.call("pause")
        until(lambda: started.see().phase is Phase.PAUSED, "paused")
        before = started.see().environments["last_length"][1], started.see().environments["ended"][1]
        started.client.call("episode", env=1)
        until(lambda: started.see().environments["ended"][1] > before[1], "the end")
        until(lambda: started.see().phase is Phase.PAUSED, "paused again")


@pytest.mark.parametrize(("command", "arguments"), [("restart", {"num_envs": 4}), ("baseline", {}), ("checkpoint", {})])
def test_what_a_script_keeps_to_itself_is_refused(command, arguments):
    """With a sentence."""
    with training() as started, pytest.raises(CommandRefused, match="this one is a script"):
        started.client.call(command, **arguments)


def test_a_viewer_can_stop_watching():
    """The script trains on, unpaused, and nobody finds it any more."""
    with training() as started:
        started.client.call("pause")
        started.client.call("stop")
        until(lambda: not started.directory.exists(), "gone")
        steps = started.steps
        until(lambda: started.steps > steps + 50, "it goes on")
        assert started.see().phase is Phase.ENDED


@pytest.mark.thorough
def test_only_the_first_viewer_controls_until_another_takes_over():
    """Others are refused, with the name of who controls; when that one leaves, the next one may."""
    with training() as started:
        second = SessionClient(started.directory)
        started.client.call("join", name="pts/1")
        second.call("join", name="pts/2")
        with pytest.raises(CommandRefused, match="pts/1 controls"):
            second.call("pause")
        second.call("control")
        second.call("pause")
        until(lambda: started.see().audience["name"] == "pts/2", "the new one is told")
        with pytest.raises(CommandRefused, match="pts/2 controls"):
            started.client.call("resume")
        second.close()
        until(lambda: started.see().audience["viewers"] == 1, "it left")
        started.client.call("resume")


def test_the_wrapper_is_a_vector_environment():
    """Everything but `step` is the environment's own."""
    bare = cartpoles()
    envs = watch(bare)
    assert isinstance(envs, VectorWrapper)
    assert envs.num_envs == 3
    assert envs.unwrapped is bare
    envs.close()


@pytest.mark.parametrize("wrong", [None, 3, gymnasium.make("CartPole-v1")])
def test_only_vector_environments_can_be_watched(wrong):
    """Anything else is told what to do."""
    with pytest.raises(BadParameter, match="SyncVectorEnv"):
        watch(wrong)


def test_only_numbers_can_be_logged():
    """The name of what is none is told."""
    with training(), pytest.raises(BadParameter, match="'loss' is 'high'"):
        watch.log({"loss": "high"})


def test_environments_begun_by_hand_are_counted():
    """Without autoreset, an episode begins where the script says so."""
    envs = WatchedVectorEnv(cartpoles(mode=AutoresetMode.DISABLED))
    envs.reset(seed=1)
    for _ in range(60):
        _, _, terminated, truncated, _ = envs.step(np.zeros(3, np.int64))
        over = terminated | truncated
        if over.any():
            envs.reset(options={"reset_mask": over})
    monitor = counted_by(envs)
    assert monitor.counts.episodes >= 9
    assert envs._script
    assert envs._script.mirror.buffer["episode"].sum() == monitor.counts.episodes
    envs.close()


def test_dropped_environments_are_watched_no_more():
    """A script that makes new ones and closes none leaves no session per round."""
    envs = watch(cartpoles(), name="dropped")
    envs.reset(seed=1)
    assert [session for session in sessions() if session.name == "dropped"]
    del envs
    until(lambda: not [session for session in sessions() if session.name == "dropped"], "gone")


def forked(envs, answers):
    envs.step(envs.action_space.sample())
    answers.put(os.getpid())


@pytest.mark.session
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_is_not_watched():
    """It steps, unseen; what is watched is the process that called `watch`."""
    envs = watch(cartpoles(), name="parent")
    envs.reset(seed=1)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=forked, args=(envs, answers))
    child.start()
    assert answers.get(timeout=LIMIT) == child.pid
    child.join(LIMIT)
    assert child.exitcode == 0
    (found,) = [session for session in sessions() if session.name == "parent"]
    assert found.pid == os.getpid()
    envs.close()


SCRIPT = """
import sys
import gymnasium
from pac.training import watch
envs = watch(gymnasium.make_vec("CartPole-v1", num_envs=2), name="a-process")
envs.reset(seed=1)
print("stands", flush=True)
sys.stdin.readline()
raise SystemExit(0) if sys.argv[1] == "ends" else ValueError("the loss is nan")
"""


@pytest.mark.session
@pytest.mark.parametrize(
    ("how", "phase", "message"),
    [("ends", Phase.ENDED, "ended"), ("fails", Phase.FAILED, "ValueError: the loss is nan")],
)
def test_whoever_looks_sees_how_a_script_ended(how, phase, message):
    """Its last state and its error stay with the viewer; nothing stays in the runtime directory."""
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert script.stdout
    assert script.stdout.readline() == "stands\n"
    (found,) = [session for session in sessions() if session.name == "a-process"]
    reader = TelemetryReader(found.directory)
    script.communicate("\n", timeout=LIMIT)
    last = take(reader, Look())
    assert (last.phase, last.message) == (phase, message)
    assert not found.directory.exists()


@pytest.mark.session
def test_what_a_killed_script_leaves_is_removed_by_the_next_watch():
    """kill -9 leaves a directory behind, and the next start removes it."""
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "ends"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert script.stdout
    script.stdout.readline()
    (found,) = [session for session in sessions() if session.name == "a-process"]
    script.send_signal(signal.SIGKILL)
    script.communicate(timeout=LIMIT)
    assert found.directory.exists()
    envs = watch(cartpoles())
    envs.reset(seed=1)
    assert not found.directory.exists()
    envs.close()


class Blinking(gymnasium.Env):
    """Shows for one step what is no number."""

    observation_space = gymnasium.spaces.Dict(
        {"place": gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32), "kind": gymnasium.spaces.Discrete(2)}
    )
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, at):
        self.at, self.count = at, 0

    def reset(self, **_):
        return {"place": np.zeros(2, np.float32), "kind": 0}, {}

    def step(self, _action):
        self.count += 1
        place = np.array([0, np.nan if self.count == self.at else np.inf], np.float32)
        return {"place": place, "kind": 1}, 0.0, False, False, {}


@pytest.mark.thorough
def test_a_number_that_is_none_for_one_step_rings():
    """Of observations and of what was logged, although both are fine again by the time that somebody looks."""
    envs = WatchedVectorEnv(SyncVectorEnv([lambda: Blinking(at=0), lambda: Blinking(at=7)]))
    envs.reset()
    assert envs._script is not None
    alarms = envs._script.monitor.alarms
    for steps in (6, 3):
        assert not alarms.told
        for _ in range(steps):
            envs.step(np.zeros(2, np.int64))
        counted_by(envs)
    assert alarms.told == ["alarm: env 2: its observation is not a number"]
    for loss in (np.nan, 0.5):
        watch.log({"loss": loss})

    def stepped():
        envs.step(np.zeros(2, np.int64))
        return len(alarms.told) > 1

    until(stepped, "an iteration")
    assert alarms.told[1:] == ["alarm: loss is not a number: nan"]
    envs.close()
