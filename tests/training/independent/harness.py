"""A trainer of independent learners in this process, with real learner processes if they are asked for."""

from contextlib import contextmanager
from typing import Any

import torch

from pac.backends import make
from pac.backends.system.segment import own_directory
from pac.envs import find
from pac.training.independent.trainer import Independent
from pac.training.lone_training import LoneTraining
from pac.training.session.gate import Gate
from pac.training.session.trainer_processes import ProcessSupervisor
from pac.training.telemetry.events import EventLog
from pac.training.trainer import Context, Timer
from pac.training.trainers import trainer_settings

SMALL: dict[str, Any] = {
    "learning_starts": 100,
    "hidden": 16,
    "channels": 0,
    "replay_size": 600,
    "train_frequency": 16,
    "batch": 16,
}
SMALL |= {"epsilon": 0.3}


class Supervised:
    """Environments whose steps fail if a learner has failed, as those of a session."""

    def __init__(self, envs, supervisor):
        self._envs, self._supervisor = envs, supervisor

    def __getattr__(self, name):
        return getattr(self._envs, name)

    def hold(self):
        self._supervisor.poll()
        self._supervisor.check()

    def advance(self, slot):
        self.hold()
        self._envs.advance(slot)


@contextmanager
def training(spec="treasure:agents=2", seed=0, backend="inline", *, state=None, num_envs=4, iterations=0, **overrides):
    """Yield a trainer that has started, from a state if there is one, and iterated; `notes` are what people read."""
    task = find(spec)
    notes: list[str] = []
    gate = Gate(own_directory())
    events = EventLog()
    supervisor = ProcessSupervisor(task, own_directory(), events)

    def made(count, spec):
        return Supervised(make(task, count, backend, seed=1, **spec.options), supervisor)

    settings = trainer_settings("independent", task, {**SMALL, "processes": False, **overrides})
    context = Context(task, settings, "cpu", seed, Timer(), notify=notes.append, start_processes=supervisor.start)
    trainer: Any = None
    try:
        trainer = Independent(context)
        trainer.owner = LoneTraining(trainer, made)
        trainer.notes, trainer.events, trainer.supervisor, trainer.gate = notes, events, supervisor, gate
        if state is not None:
            trainer.load_state(*state)
        trainer.owner.open(num_envs)
        run(trainer, iterations)
        yield trainer
    finally:
        if trainer is not None:
            trainer.owner.close()
        supervisor.close()
        gate.close()
        (own_directory() / "gate").unlink()


def tensors(trainer):
    """Return what a checkpoint contains."""
    return trainer.state()[0]


def equal(a, b):
    """Whether two checkpoints are equal, bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(torch.as_tensor(a[name]), torch.as_tensor(b[name])) for name in a)


def run(trainer, iterations):
    """Let a trainer iterate, and return the last metrics."""
    metrics = None
    for _ in range(iterations):
        metrics = trainer.iterate()
    return metrics
