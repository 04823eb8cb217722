"""Which state of a training is its best one."""

from pac.training.config import Config
from pac.training.runs.checkpoint import Best
from pac.training.session.best_state import BestState, Copied
from pac.training.session.resume_point import ResumePoint
from pac.training.session.training_setup import set_up


def best_state(**options):
    return BestState(set_up(Config.model_validate(options)))


def test_without_evaluations_it_is_that_of_the_best_figure():
    """The mean return counts once 100 episodes have ended, NashConv from the first time; a higher or a lower one."""
    found = best_state(task="noop")
    for value, episodes, better in ((9.0, 99, False), (5.0, 100, True), (4.0, 101, False), (6.0, 102, True)):
        found.take({"return_mean": value}, episodes)
        assert found.is_better(found.current) == better
        found.saved = found.current if better else found.saved
    solver = best_state(task="kuhn")
    for value, better in ((0.5, True), (0.6, False), (0.4, True)):
        solver.take({"nash_conv": value, "regret": 1.0}, 0)
        assert solver.is_better(solver.current) == better
        solver.saved = solver.current if better else solver.saved


def test_with_evaluations_it_is_the_state_that_was_evaluated():
    """Its copy waits until its results are there; those of policies that are skipped are let go."""
    found, point = best_state(task="noop", eval_every=2), ResumePoint({}, 0.0, 1, None)
    copies = {number: Copied(point, {}, {"number": number}, 0.0) for number in (2, 4, 6, 8)}
    assert [number for number in range(1, 9) if found.wants_copy(number)] == [*copies]
    for number, evaluating in ((2, 2), (4, 2), (6, 2)):
        found.keep(number, copies[number], evaluating)
    assert list(found._copies) == [2, 6]
    found.take({"return_mean": 99.0, "eval/return": 5.0, "eval/iteration": 2}, 200)
    assert found.waiting == (Best("eval/return", 5.0, only=True), copies[2])
    found.keep(8, copies[8], 6)
    found.take({"eval/return": 4.0, "eval/iteration": 6}, 200)
    assert found.waiting[1] is copies[2]
    found.take({"eval/return": 7.0, "eval/iteration": 8}, 200)
    assert found.waiting[1] is copies[8]


def test_a_return_is_never_better_than_an_evaluation():
    """A run that is resumed without evaluations keeps its best checkpoint; with them, the first one is better."""
    found = best_state(task="noop")
    found.saved = Best("eval/return", 5.0)
    assert not found.is_better(Best("return_mean", 9.0))
    found.saved = Best("return_mean", 9.0)
    assert found.is_better(Best("eval/return", 5.0))
