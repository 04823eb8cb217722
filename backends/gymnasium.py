"""The entry point of `gymnasium.make_vec`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..envs.gym.single import task_of
from .factory import make

if TYPE_CHECKING:
    from ..envs import Task
    from .core.base import Backend


def vector(
    task: Task | str, num_envs: int, backend: str = "inline", *, copy: bool = True, seed: int = 0, **parameters: Any
) -> Backend:
    """Make a vector environment whose batches are copies, as Gymnasium's are.

    Args:
        num_envs: Number of environments.
        backend: Its name, one of `pac.backends.BACKENDS`.
        copy: Whether batches are copies; views are overwritten by the next step.
        seed: Seed until `reset` is given one.
        **parameters: The task's parameters.

    Returns:
        A vector environment of `num_envs` times the task's players rows.
    """
    return make(task_of(task, parameters), num_envs, backend, seed=seed, copy=copy)
