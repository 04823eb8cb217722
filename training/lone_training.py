"""A trainer without a session, as in an evaluation or a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from ..backends import make
from ..envs import Task
from .trainer import AnyEnvs, BufferSpec, Trainer, open_envs


def maker(task: Task, backend: str = "inline", *, device: str = "cpu", **options: Any) -> Callable[..., Any]:
    """Return what makes environments with the buffer that a trainer needs.

    Args:
        device: Where the environments are, if the trainer can use them there.
        options: Further arguments of `pac.backends.make`.
    """

    def made(num_envs: int, spec: BufferSpec) -> Any:
        return make(task, num_envs, backend, device=device if spec.on_device else "cpu", **spec.options, **options)

    return made


class LoneTraining(Generic[AnyEnvs]):
    """A trainer and its environments.

    Args:
        trainer: The trainer, which is closed with its environments.
        make: Makes environments, from N and the buffer that the trainer needs, see `maker`.

    Attributes:
        envs: The environments that the trainer has; unset before `open`.
    """

    envs: AnyEnvs

    def __init__(self, trainer: Trainer, make: Callable[[int, BufferSpec], AnyEnvs]) -> None:
        self._trainer, self._make = trainer, make
        self._open: AnyEnvs | None = None

    def open(self, num_envs: int) -> AnyEnvs:
        """Lend `num_envs` environments to the trainer, in place of those that it has."""
        self._trainer.detach()
        self._close_envs()
        self.envs = open_envs(self._trainer, num_envs, self._made)
        return self.envs

    def _made(self, num_envs: int, spec: BufferSpec) -> AnyEnvs:
        self._open = self._make(num_envs, spec)
        return self._open

    def close(self) -> None:
        """Close the trainer, and then its environments."""
        self._trainer.close()
        self._close_envs()

    def _close_envs(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()
