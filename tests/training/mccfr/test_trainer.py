"""The solver as a trainer: the iterations of its workers, their order, and what a change of N keeps."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest

from pac.backends import TooManyEnvironments, make
from pac.backends.core import memory
from pac.backends.core.base import Backend
from pac.envs import find
from pac.envs.poker.task import game_of
from pac.training.lone_training import LoneTraining
from pac.training.mccfr.solving.exact import average_strategy, nash_conv
from pac.training.mccfr.trainer import MCCFR
from pac.training.trainer import BufferSpec, Context, Interrupted, Timer
from pac.training.trainers import trainer_settings, transformed_task

from .tables import learned as sampled

SEED = 5


class Gate:
    """A backend behind a gate that permits a number of steps."""

    def __init__(self, backend: Backend, credit: list[int]) -> None:
        self.backend, self._credit = backend, credit
        self.buffer, self.order = backend.buffer, backend.order
        self.environments, self.segment = backend.environments, backend.segment
        self.start, self.carry, self.close = backend.start, backend.carry, backend.close

    def advance(self, slot: int) -> None:
        if not self._credit[0]:
            raise Interrupted
        self._credit[0] -= 1
        self.backend.advance(slot)


@contextmanager
def solving(
    spec: str = "leduc", num_envs: int = 1, backend: str = "inline", credit: int = 10**9, **settings: Any
) -> Iterator[tuple[Any, Callable[[], Backend]]]:
    """Yield a trainer that has started, and a function that returns its backend."""
    game = find(spec)
    chosen = trainer_settings("mccfr", game, settings)
    task = transformed_task("mccfr", game, chosen)
    made: list[Backend] = []
    left = [credit]

    def gated(count: int, spec: BufferSpec) -> Any:
        made.append(make(task, count, backend, seed=SEED, strict=True, **spec.options))
        return Gate(made[-1], left)

    trainer: Any = MCCFR(Context(task, chosen, "cpu", SEED, Timer()))
    with closing(LoneTraining(trainer, gated)) as trainer.owner:
        trainer.owner.open(num_envs)
        yield trainer, lambda: made[-1]


def tables(backend: Backend) -> tuple[Any, Any]:
    return backend.buffer["table"][0, 0].copy(), backend.buffer["updates"][0, 0].copy()


def equal(found: tuple[Any, Any], expected: tuple[Any, Any]) -> bool:
    return all(map(np.array_equal, found, expected))


def learned(iterates: int, **settings: Any) -> tuple[Any, Any]:
    """Return the tables after a number of calls of `iterate`."""
    with solving(**settings) as (trainer, backend):
        for _ in range(iterates):
            trainer.iterate()
        return tables(backend())


def test_tables_that_do_not_fit_are_refused_first(monkeypatch, tmp_path):
    """Before the game is prepared, which takes minutes for hold'em."""
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 20)
    monkeypatch.setenv("PAC_CACHE_DIR", str(tmp_path))
    with (
        pytest.raises(TooManyEnvironments, match="not even one environment fits"),
        solving("holdem:betting=fcpa,flop=9"),
    ):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_one_worker_computes_what_a_sampler_computes():
    """Iterations 0 to n - 1 in order, for batches of any size."""
    table, updates = sampled(game_of(find("leduc")), 1200, SEED)
    for batch in (100, 400):
        with solving(batch=batch) as (trainer, backend):
            metrics = [trainer.iterate() for _ in range(1200 // batch)][-1]
            assert trainer.iterations == 1200
            assert equal(tables(backend()), (table, updates))
            assert metrics["nash_conv"] > 0
            assert metrics["information_sets"] <= np.count_nonzero(updates)


@pytest.mark.thorough
def test_a_long_batch_reports_progress():
    """A worker with many iterations at once does not count as hung, and computes the same ones."""
    with solving(batch=50_000) as (trainer, backend):
        before = int(backend().buffer["heartbeat"][0, 0])
        trainer.iterate()
        assert backend().buffer["heartbeat"][0, 0] - before > 1
        assert equal(tables(backend()), learned(10, batch=5_000))


@pytest.mark.thorough
def test_workers_share_the_numbers_of_iterations():
    """Three workers in turn compute the iterations of one worker, on the same tables."""
    with solving(num_envs=3, batch=50) as (trainer, backend):
        trainer.iterate()
        trainer.iterate()
        assert trainer.iterations == 300
        assert equal(tables(backend()), learned(6, batch=50))


@pytest.mark.thorough
def test_it_learns_with_batches_of_the_size_that_it_chooses():
    """Without a batch size, the average strategy of Leduc comes close to an equilibrium."""
    with solving() as (trainer, backend):
        while trainer.iterations < 200_000:
            metrics = trainer.iterate()
        table, _ = tables(backend())
        assert nash_conv(game_of(find("leduc")), average_strategy(game_of(find("leduc")), table)) < 0.3
        assert metrics["utility"] == pytest.approx(-0.0856, abs=0.1)


def interrupted(before: int, after: int, **settings: Any) -> tuple[Any, Any]:
    """Return the tables of a trainer that resumes from the state of another after `before` calls."""
    with solving(**settings) as (first, _):
        for _ in range(before):
            first.iterate()
        streams, data = first.state()
        tensors = {
            name: np.concatenate([piece.copy() for piece in stream.slices()]).view(stream.dtype).reshape(stream.shape)
            for name, stream in streams.items()
        }
    with solving(**settings) as (second, backend):
        second.close()
        second.load_state(tensors, data)
        second.owner.open(settings["num_envs"])
        for _ in range(after):
            second.iterate()
        return tables(backend())


@pytest.mark.parametrize("method", ["cfr", "cfr+", "dcfr", "outcome"])
@pytest.mark.thorough
def test_it_resumes_from_its_state(method):
    """A trainer that loads the state of another gets the same tables."""
    settings = {"num_envs": 1, "batch": 20, "method": method}
    assert equal(interrupted(2, 2, **settings), learned(4, **settings))


@pytest.mark.thorough
@pytest.mark.parametrize("before", range(1, 8))
def test_it_resumes_in_the_middle_of_a_period(before):
    """In the step in which a period ends, every worker discounts its share."""
    settings = {"num_envs": 4, "batch": 20, "weighting": "discounted", "discount_interval": 170}
    assert equal(interrupted(before, 8 - before, **settings), learned(8, **settings))


def test_another_number_of_workers_keeps_the_tables():
    """At N = 3 after N = 1 the tables are the same, and iterations continue from the same number."""
    with solving(batch=100) as (trainer, backend):
        trainer.iterate()
        before = tables(backend())
        trainer.owner.open(3)
        assert equal(tables(backend()), before)
        trainer.iterate()
        assert trainer.iterations == 400


def test_iterations_that_were_lost_have_numbers():
    """How many count and which number is next are saved apart."""
    with solving() as (trainer, backend):
        (table, updates), (_, data) = tables(backend()), trainer.state()
        trainer.close()
        trainer.load_state({"table": table, "updates": updates}, {**data, "iterations": 5, "next": 9})
        counters = trainer.state()[1]
    assert (counters["iterations"], counters["next"]) == (5, 9)


def test_interrupted_batches_are_learned():
    """Batches that were complete before the gate closed are learned; without any, `Interrupted` is raised."""
    with solving(credit=3) as (trainer, _):
        trainer.iterate()
        made = trainer.iterations
        assert made > 0
        _, data = trainer.state()
        assert data["iterations"] == made
        with pytest.raises(Interrupted):
            trainer.iterate()
        assert trainer.iterations == made


def test_a_game_with_few_information_sets_has_one_worker():
    """Kuhn poker with two workers is refused, with the reason and the number that works."""
    with pytest.raises(TooManyEnvironments, match="12 information sets") as caught, solving("kuhn", num_envs=2):
        pass
    assert caught.value.most == 1


@pytest.mark.session
def test_a_killed_worker_loses_only_the_iterations_it_had_started():
    """The other worker computes the rest; the lost iterations do not count; the replaced worker counts again."""
    with solving(num_envs=2, backend="shm", batch=2000) as (trainer, backend):
        trainer.iterate()
        assert trainer.iterations == 4000
        killed = backend().workers[1].pid
        os.kill(killed, signal.SIGKILL)
        os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
        trainer.iterate()
        frames = backend().buffer["frames"][0]
        assert frames[0] >= 2000
        assert frames[1] == 0
        assert trainer.iterations == 4000 + frames.sum()
        while not backend().workers[1].steps:
            trainer.iterate()
        made = trainer.iterations
        trainer.iterate()
        assert trainer.iterations == made + 4000
