"""Learners in processes of their own: equal to the reference, supervised, and without work for the actor."""

import signal

import psutil
import pytest

from pac.training.independent import learners
from pac.training.nets.gradient_step import GradientStep
from pac.training.replay.replay import Replay
from pac.training.trainer import ProcessFailed

from ...waiting import until
from .harness import equal, run, tensors, training

pytestmark = pytest.mark.session


def processes_of(trainer):
    """Return the processes of the learners, by agent."""
    return {status.index: psutil.Process(status.pid) for status in trainer.supervisor.statuses()}


def test_in_lockstep_they_equal_the_reference():
    """Weights, target networks, moments, replay and counts, bit for bit, also after a restart with another N."""
    results, metrics, options = [], [], {"algorithm": "iqn", "frame_stack": 2, "sync_interval": 3}
    for processes in (False, True):
        with training(processes=processes, max_behind=0, save_replay=True, **options, iterations=1) as trainer:
            trainer.owner.open(2)
            metrics.append(run(trainer, 1))
            results.append(trainer.state())
    assert results[0][1] == results[1][1]
    assert equal(results[0][0], results[1][0])
    assert metrics[0]["updates"] == metrics[1]["updates"] > 20


def test_a_replay_of_another_n_is_not_restored():
    """Learners in processes then collect decisions first, instead of drawing from an empty ring."""
    with training(save_replay=True, iterations=1) as one:
        state = one.state()
    with training(processes=True, save_replay=True, max_behind=0, state=state, num_envs=2) as two:
        until(lambda: two.iterate()["updates"] > state[1]["agents"][0]["updates"], "gradient steps")
        assert any("the saved replay does not fit" in note for note in two.notes)
        assert not any("new learner" in note for note in two.notes)
        assert two._agents[0].counts.learn_from == state[1]["decisions"][0] + two._settings.learning_starts


def test_the_actor_takes_no_gradient_step_and_gathers_no_observation(monkeypatch):
    """Both are counted in this process, where the actor is."""
    counted: list[str] = []

    def counting(original):
        def call(*args):
            counted.append(original.__name__)
            return original(*args)

        return call

    monkeypatch.setattr(GradientStep, "take", counting(GradientStep.take))
    monkeypatch.setattr(Replay, "gather", counting(Replay.gather))
    with training(processes=True, max_behind=8) as trainer:
        metrics = run(trainer, 3)
        assert metrics["updates"] > 0
        assert metrics["learner1/updates"] > 0
    assert counted == []


def test_a_learner_that_dies_is_replaced_from_what_it_published():
    """The other one is unaffected, and both go on."""
    with training(processes=True, max_behind=4, publish_interval=4, iterations=2) as trainer:
        before = processes_of(trainer)
        before[0].send_signal(signal.SIGKILL)
        until(lambda: not before[0].is_running() or before[0].status() == psutil.STATUS_ZOMBIE, "its end")
        updates = trainer._agents[0].counts.updates
        until(lambda: trainer.iterate()["updates"] > updates, "gradient steps of the new one")
        after = processes_of(trainer)
        assert after[1].pid == before[1].pid
        assert after[0].pid != before[0].pid
        assert any("agent 1 has a new learner, which continues after gradient step" in note for note in trainer.notes)


def test_a_learner_that_dies_again_and_again_ends_the_training():
    """With the error of its process."""
    with training(processes=True, max_behind=0) as trainer:

        def killed():
            processes_of(trainer)[1].send_signal(signal.SIGKILL)
            trainer.iterate()

        with pytest.raises(ProcessFailed, match="agent 2 failed: killed by SIGKILL"):
            until(killed, "the end")


def test_a_paused_session_stops_the_learners():
    """They block at the gate, and a step lets each of them learn what is due."""
    with training(processes=True, max_behind=10_000, iterations=1) as trainer:
        trainer.gate.pause()
        process = processes_of(trainer)[0]
        until(lambda: process.status() == psutil.STATUS_SLEEPING, "the learner blocks")
        run(trainer, 2)  # nothing else waits at this gate
        updates = trainer._learners._board.updates
        before = updates.copy()
        trainer.gate.step(1)
        until(lambda: bool((updates > before).all()), "gradient steps")
        trainer.gate.resume()


def test_weights_that_are_not_numbers_are_not_published(monkeypatch):
    """The learner fails and is replaced; those that act stay finite."""
    monkeypatch.setattr(learners, "FAILURES", 1_000)  # how many come before the note is a matter of speed
    with training(processes=True, max_behind=0, learning_rate="1e30") as trainer:
        until(lambda: trainer.iterate() and any("has a new learner" in note for note in trainer.notes), "a failure")
        assert any("NaN or infinite" in text for *_, text in trainer.events.recent)
        assert all(value.isfinite().all() for value in tensors(trainer).values() if value.is_floating_point())
