"""Shows a loop that has no environment object, such as a simulator of one's own, or environments in JAX."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from ...envs import BadParameter
from . import groups
from .followed import Followed
from .large_log import batch_logs
from .observations import row_of
from .script import ShownEnvs, script_name
from .step_log import StepLog


class _Loop(Followed):
    """A loop of the script, which is never gone."""

    batch = True

    def __init__(self, name: str) -> None:
        super().__init__(self, (), name)
        self.entered = perf_counter()
        groups.join(self, ("loop", name), name, "", batch=True)


_loops: dict[str, _Loop] = {}


def step(  # noqa: PLR0917 - in Gymnasium's order
    observations: Any, actions: Any, rewards: Any, terminated: Any, truncated: Any, infos: Any, name: str | None
) -> None:
    """Note a step of N environments, and wait while viewers pause the script; see `WatchFunction.step`."""
    try:
        count = len(rewards)
    except TypeError:
        raise BadParameter(f"watch.step expects a reward per environment, got {rewards!r}: give it [reward]") from None
    loop = _loops.get(name or "") or _loops.setdefault(name or "", _Loop(name or ""))
    log: Any = loop.log
    if log is not None and log.ended:
        return
    if log is None or log.num_envs != count:
        log = loop.log = _open(loop, observations, actions, count)
    log.note(actions, loop.entered, observations, rewards, terminated, truncated, infos)
    if log.attention[0]:
        log.wait_for(actions)
    loop.entered = perf_counter()


def _open(loop: _Loop, observations: Any, actions: Any, num_envs: int) -> StepLog:
    assert loop.group is not None
    shown = ShownEnvs(
        kind="loop",
        task=loop.group.name or script_name(),
        actions=None,
        render=None,
        observation=row_of(observations, 0, num_envs),
        make_log=batch_logs(observations),
        begins_at_once=True,
        action=row_of(actions, 0, num_envs),
    )
    return groups.open_session(loop.group, shown, num_envs).step_log
