"""Two policies at the steps of a recording: branches of a session's past, and what another policy would do there."""

import threading

import numpy as np
import pytest

from pac.envs import BadParameter
from pac.envs.trust import accept
from pac.training.compare.pairing import RECORDED, Pairing, random_policy, unknown_policy
from pac.training.compare.recorded import KeptPast, owner_of
from pac.training.past.episode_file import read
from pac.training.past.rebuilding import passage
from pac.training.past.rerun import RerunMismatch
from pac.training.runs.checkpoint import load_newest
from pac.training.runs.folder import RunFolder
from pac.training.session.commands import Commands
from pac.training.session.viewers import Viewer

from ...waiting import until
from ..journey import Journey
from ..watched import run_here

SEED, STEPS = 11, 220
PPO = {"batch": 128, "minibatch": 64, "epochs": 1, "threads": 1}
COMMON = {"task": "drmario", "num_envs": 2, "backend": "inline", "device": "cpu", "steps": 512, "settings": PPO}


@pytest.fixture(scope="module")
def journey():
    """Three bottles."""
    return Journey("drmario", STEPS, seed=SEED)


def another_action(branch):
    """Return a legal action that the recording does not have where a branch begins."""
    original, own = (side.steps[-1].decision for side in (branch.a, branch.b))
    return next(action for action in np.flatnonzero(own.legal) if action != original.actions[0])


@pytest.mark.parametrize("back", [1, 60, 100])
def test_a_branch_begins_in_the_state_that_was_there(journey, back):
    """The steps around a state are those that were made, byte for byte, and stay so when the branch plays on."""
    episode, at = passage(journey.task, SEED, journey.history, 1, STEPS - back, number=1, run="a-run")
    policy = random_policy()
    pairing = Pairing(journey.task, (policy, policy), SEED, 1, recorded=episode, follow=True)
    branch = pairing.branching(at)
    branch.part(another_action(branch))
    branch.play(10_000)
    first = STEPS - back - at
    assert branch.parting == at
    for number, step in enumerate(branch.a.steps):
        truth = journey.truth[first + number][1]
        for name in ("observation", "mask", "reward", "episode_return", "end", "board:bottle"):
            assert step.moment is not None
            assert step.moment[name].tobytes() == truth[name].tobytes() or not number, (number, name)
    assert len(branch.b.steps) > at + 1
    branch.close()
    pairing.close()


def test_another_game_than_the_recorded_one_is_noticed(journey):
    """A replay that leads to another state ends with the step."""
    episode, _ = passage(journey.task, SEED, journey.history, 1, STEPS, number=1, run="a-run")
    with pytest.raises(RerunMismatch, match="step 0 of the replay differs"):
        Pairing(journey.task, (unknown_policy(RECORDED), random_policy()), SEED + 1, 1, recorded=episode, follow=True)


@pytest.mark.session
def test_the_past_of_a_paused_session_changes_nothing(tmp_path):
    """A training that was paused and asked for step -100, from where a branch played on, has the weights of another.

    The other one was not. The branch is played by the policy of the session, which another one is asked beside.
    """
    played = []

    def ask(session):
        commands = Commands(
            session.setup, session.services, session.envs, session.record, session.checkpoints, live=session.live
        )
        gate = session.services.gate
        until(lambda: gate.paused and not gate.credits and session.debugger.history.now == 130, "the pause")
        try:
            answer = commands.as_keep_past(Viewer(), env=1, back=100)
            path, at = tmp_path / "asked" / "past" / "env2.jsonl", answer["at"]
            episode = read(path, own=True)
            kept = KeptPast(episode, f"{owner_of(episode, path, tmp_path)}@paused", tmp_path, accept)
            branch = kept.branching(at)
            branch.part(another_action(branch))
            branch.play(at + 20)
            beside = kept.against("random")
            beside.play(at)
            played.append((branch.a.policy.trainer, branch.parting, at, len(beside.apart)))
            branch.close()
            beside.close()
        finally:
            commands.do_resume()

    def begin(session):
        session.services.gate.step(130)
        threading.Thread(target=ask, args=(session,)).start()

    run_here(tmp_path, name="plain", **COMMON)
    run_here(tmp_path, name="asked", begin=begin, **COMMON)
    ((trainer, parting, at, known),) = played
    assert (trainer, parting) == ("ppo", at)
    assert known == at + 1
    plain, asked = (load_newest(RunFolder.find(tmp_path, name).checkpoints).tensors for name in ("plain", "asked"))
    assert all(np.array_equal(plain[name], asked[name]) for name in plain)


def test_who_has_no_policy_cannot_play_on(journey, tmp_path):
    """The error says how to name one."""
    episode, at = passage(journey.task, SEED, journey.history, 0, STEPS, number=0, run="a-run")
    with pytest.raises(BadParameter, match="--policy RUN"):
        KeptPast(episode, "", tmp_path, accept).branching(at)
