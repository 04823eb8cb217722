"""The search for the fastest settings, with trainings whose rates are known."""

import pytest

from pac.envs import BadParameter
from pac.training.bench import tuning
from pac.training.bench.tuning import Tuner
from pac.training.config import Config


class Trainings:
    """Trainings of 5 s each, whose rates a function knows."""

    def __init__(self, rate, device):
        self.now, self.rate, self.device = 0.0, rate, device

    def __call__(self, config):
        self.now += 5
        rate = self.rate(config.backend, config.num_envs, config.workers or 2, **config.settings)
        return {"sps": rate, "device": self.device}


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(tuning, "usable_cores", lambda: 2)


def searched(rate, seconds=120.0, device="cpu", **options):
    trainings = Trainings(rate, device)
    config = Config(task="noop", num_envs=8, **options)
    tuner = Tuner(config, seconds, lambda *_: None, run=trainings, clock=lambda: trainings.now)
    return tuner.search(), tuner, trainings


def test_environments_that_wait_get_a_worker_each():
    """Each environment makes at most 200 steps/s, and no core computes."""
    best, tuner, trainings = searched(
        lambda backend, n, workers, **_: 200 * (1 if backend == "inline" else min(workers, n))
    )
    assert (best.backend, best.num_envs, best.workers) == ("shm", 64, 64)
    assert best.rate / tuner.default.rate == 32
    assert trainings.now < 130


def test_environments_that_compute_nothing_stay_in_the_process():
    """Workers cost more than such environments, and beyond some N nothing is gained."""
    best, tuner, _ = searched(lambda backend, n, _workers, **_: min(n, 32) * (1000 if backend == "inline" else 300))
    assert (best.backend, best.num_envs) == ("inline", 32)
    assert [len(trial.rates) for trial in (best, tuner.default)] == [3, 3]


def test_what_is_not_faster_is_left_as_it_is():
    """Settings that are less than three percent faster are not preferred, and a backend may be impossible."""

    def rate(backend, n, _workers, **_):
        if backend == "threads":
            raise BadParameter("threads steps only built-in games")
        return 100 + min(n, 200) / 100

    best, tuner, _ = searched(rate)
    assert best is tuner.default
    assert [trial.error for trial in tuner.trials if trial.error] == ["threads steps only built-in games"]


def test_a_training_that_fails_with_its_own_settings_is_an_error():
    """There is nothing to compare with."""
    with pytest.raises(BadParameter, match="no such"):
        searched(lambda *_, **__: (_ for _ in ()).throw(BadParameter("no such task")))


def test_the_search_keeps_to_its_time():
    """With time for the comparison at the end."""
    _, _, trainings = searched(lambda _backend, n, workers, **_: n * workers, seconds=40.0)
    assert trainings.now <= 45


def test_threads_of_the_learner_are_tried_on_a_cpu():
    """Where workers use all cores, the learner is faster in one thread."""
    best, _, _ = searched(lambda _backend, _n, _workers, threads=0: 200 if threads == 1 else 100)
    assert best.options == "--backend shm --num-envs 8 --ppo.threads 1"


def test_minibatches_are_tried_on_a_gpu():
    """Ever larger ones while they are faster, up to a batch."""
    best, tuner, _ = searched(lambda *_, minibatch=256, **__: min(minibatch, 1024), device="cuda:0")
    assert best.options.endswith("--ppo.minibatch 1024")
    assert not any(".threads" in trial.options for trial in tuner.trials)
