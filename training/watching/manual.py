"""Shows a loop that has no environment object, such as a simulator of one's own, or environments in JAX."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from . import groups
from .batch_log import BatchLog
from .observations import host_array, row_of
from .script import Environments, script_name

_loops: dict[str, tuple[BatchLog, list[float]]] = {}


def step(  # noqa: PLR0917 - in Gymnasium's order
    observations: Any, actions: Any, rewards: Any, terminated: Any, truncated: Any, infos: Any, name: str | None
) -> None:
    """Note a step of N environments, and wait while viewers pause the script; see `WatchFunction.step`."""
    known = _loops.get(name or "")
    if known is None or known[0].ended or known[0].num_envs != len(host_array(rewards)):
        known = _loops[name or ""] = _open(observations, actions, len(host_array(rewards)), name), [perf_counter()]
    log, entered = known
    log.note(actions, entered[0], observations, rewards, terminated, truncated, infos)
    if log.attention[0]:
        log.wait_for(actions)
    entered[0] = perf_counter()


def _open(observations: Any, actions: Any, num_envs: int, name: str | None) -> BatchLog:
    group = groups.Group(("loop", name), name or "", "")
    shown = Environments(
        kind="loop",
        task=name or script_name(),
        actions=None,
        render=None,
        observation=row_of(observations, 0, num_envs),
        make_log=BatchLog.of(observations),
        begins_at_once=True,
        action=row_of(actions, 0, num_envs),
    )
    log = groups.open_session(group, shown, num_envs).step_log
    assert isinstance(log, BatchLog)
    return log
