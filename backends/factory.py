"""Makes a backend by name, or its fallback where it cannot run."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from ..envs import BadParameter, Task, UnknownName, find
from ..envs.errors import brief
from ..envs.foreign import importing
from ..envs.task import load
from .core.errors import BackendUnavailable
from .core.layout import Layout
from .core.memory import TooManyEnvironments, check_memory
from .system.cores import default_num_envs

if TYPE_CHECKING:
    from .core.base import Backend

BACKENDS: dict[str, tuple[str, str]] = {
    "inline": (".core.inline:InlineBackend", ""),
    "threads": (".core.threads:ThreadsBackend", "inline"),
    "device": (".device.backend:DeviceBackend", "threads"),
    "shm": (".workers.shm:ShmBackend", "socket"),
    "socket": (".socket_backend.client:SocketBackend", "http"),
    "http": (".http_backend.client:HttpBackend", "inline"),
}
"""The class of every built-in backend of one machine, and its fallback where it cannot run."""

ON_CLUSTERS: dict[str, tuple[str, str]] = {"ray": (".ray_backend.backend:RayBackend", "shm")}
"""The same for the backends that need a running cluster."""

_BUILT_IN = BACKENDS | ON_CLUSTERS

ENTRY_POINTS = "pac.backends"
FALLBACK = "inline"
"""The fallback of the backends of installed packages."""

log = logging.getLogger(__name__)


@cache
def _installed() -> dict[str, EntryPoint]:
    """The backends of installed packages by name. None is imported, and none replaces a built-in one."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in _BUILT_IN}


def backend_names() -> tuple[str, ...]:
    """Return the names of all backends, the built-in ones first; no package is imported."""
    return (*_BUILT_IN, *_installed())


def make(
    task: Task | str,
    num_envs: int | None = None,
    backend: str = "shm",
    *,
    strict: bool = False,
    slots: int = 1,
    seed: int = 0,
    first_env: int = 0,
    workers: int | None = None,
    timeout: float = 60.0,
    hang_timeout: float = 10.0,
    copy: bool = False,
    segment: bool = False,
    device: str = "cpu",
    ring: bool = False,
    rollouts: int = 1,
    ray_address: str = "auto",
) -> Backend:
    """Make N environments of a task.

    Args:
        task: The task, or its spec.
        num_envs: Number of environments N; if None the task's own, or four per core, at least 8.
        backend: Its name, one of `backend_names()`.
        strict: Whether to raise an error when it cannot run here, instead of using its fallback.
        slots: Time steps that the buffer holds, one more than a rollout has; 1 steps in place.
        seed: The run's seed.
        first_env: The number of the first environment among those of all processes of the run. Environment i plays the
            episodes that environment `first_env + i` of one process would play.
        workers: Number of workers or threads; the usable cores if None.
        timeout: Time limit for a start or a step, in s.
        hang_timeout: Time after which a worker without a sign of life is replaced, in s.
        copy: Whether Gymnasium's batches are copies rather than views.
        segment: Whether the buffer is in shared memory that other processes can map, see `Stepping.segment`. The
            buffer of `shm` always is.
        device: Where the buffer is: `cpu`; with the backend `device` also `cuda` or `cuda:K`.
        ring: Whether slot 0 follows the last slot, as in a replay, instead of a carry.
        rollouts: Number of rollouts that the slots hold, one after the other. While one is written, another thread can
            learn from the others, so waits for workers do not poll, which would take the interpreter's lock from it.
        ray_address: The address of the cluster of the backend `ray`, or `auto`.

    Returns:
        A vector environment with N times the task's players rows. The caller closes it.

    Raises:
        UnknownName: There is no backend or task of that name.
        BackendUnavailable: It cannot run here and `strict` is set.
        TooManyEnvironments: There is not enough memory for so many.
        BadParameter: Environments cannot write into memory of that device.
    """
    if backend not in backend_names():
        raise UnknownName("backend", backend, backend_names())
    task = find(task) if isinstance(task, str) else task
    num_envs = (task.num_envs or default_num_envs()) if num_envs is None else num_envs
    layout = Layout(task, num_envs, slots, device, ring=ring, rollouts=rollouts)
    if backend != "device" and device != "cpu":
        raise BadParameter(
            f"the {backend} backend cannot write into memory of the device {device!r}; use the backend device"
        )
    kind, note = _available(backend, task, layout, strict=strict)
    if task.gpu_only and device == "cpu":
        reason = f"{task.gpu_only} needs environments on a GPU (--backend device --device cuda)"
        if strict:
            raise BackendUnavailable(reason)
        note = "; ".join(filter(None, (note, f"{reason}, using the CPU")))
    device = device if kind.name == "device" else "cpu"
    _check_memory(Layout(task, num_envs, slots, device, ring=ring, rollouts=rollouts))
    made = kind(
        task,
        num_envs,
        slots=slots,
        seed=seed,
        first_env=first_env,
        workers=workers,
        timeout=timeout,
        hang_timeout=hang_timeout,
        copy=copy,
        segment=segment,
        device=device,
        ring=ring,
        rollouts=rollouts,
        **({"address": ray_address} if kind.name == "ray" else {}),
    )
    if note:
        log.warning(note)
        made.warn(note)
    return made


def _check_memory(layout: Layout) -> None:
    """Check that there is memory for the environments of a layout, on its device."""
    if layout.device == "cpu":
        check_memory(layout.task, layout.num_envs, layout.slots, ring=layout.ring)
        return
    from .device.budget import budget_of

    budget = budget_of(layout)
    if budget.needed > budget.free:
        raise TooManyEnvironments(budget.text, int(layout.num_envs * budget.free / budget.needed))


def _available(backend: str, task: Task, layout: Layout, *, strict: bool) -> tuple[type[Backend], str]:
    """Return the backend or the first fallback that can run here, and why an earlier one cannot."""
    kind, notes = _class(backend), []
    while (fallback := _fallback(kind, task)) and (reason := kind.unavailable(layout)):
        if strict:
            raise BackendUnavailable(f"the {kind.name} backend cannot run {task.name} here: {reason}")
        notes.append(f"{kind.name} cannot run {task.name} here ({reason}), using {fallback}")
        kind = _class(fallback)
    return kind, "; ".join(notes)


def _fallback(kind: type[Backend], task: Task) -> str:
    """Return the fallback of a backend; tables are shared by threads, but not over connections."""
    if kind.name == "shm" and task.shared and task.native:
        return "threads"
    return _BUILT_IN[kind.name][1] if kind.name in _BUILT_IN else FALLBACK


def _class(name: str) -> type[Backend]:
    if name in _BUILT_IN:
        built_in: type[Backend] = load(_BUILT_IN[name][0], __package__)
        return built_in
    from .core.base import Backend

    with importing(f"the backend {name} of an installed package"):
        found = _installed()[name].load()
    if not (isinstance(found, type) and issubclass(found, Backend) and found.name == name):
        raise BadParameter(
            f"the entry point {name} of {ENTRY_POINTS} must be a subclass of Backend with the name {name!r}, "
            f"got {brief(found)}"
        )
    return found
