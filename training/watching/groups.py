"""The environments of a script, and which session shows them.

Environments of one kind that are made at the same place, by the same calls, are one group, and one session shows a
group. If none of them was stepped since another one was made, that one replaces them, as in a script that makes a new
environment for each episode, trial or evaluation. A group also takes over the session of another one that is gone. So a
process has as many sessions as it has groups at a time.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .script import ShownEnvs, WatchedScript
    from .step_log import StepLog


class EnvGroupMember(Protocol):
    """One environment of a group, see `Followed`."""

    env: weakref.ref[Any]
    group: EnvGroup | None
    row: int
    made: float
    log: StepLog | None

    @property
    def alive(self) -> bool:
        """Whether the script may step it."""


lock = threading.RLock()
"""Held by threads that add an environment to a group, or open its session."""
_groups: list[EnvGroup] = []
recognized: list[str] = []
"""The names of the sessions that were opened, or were about to be."""


class EnvGroup:
    """Environments of one kind that are made at the same place.

    Attributes:
        key: Their kind and place.
        name: Name of the session; empty for that of the script.
        role: `eval` if they are for evaluation, else an empty text.
        members: The environments by row; for a batch, its one object.
        session: Shows them, once one was stepped.
    """

    def __init__(self, key: Hashable, name: str, role: str) -> None:
        self.key, self.name, self.role = key, name, role
        self.members: list[Any] = []
        self.session: WatchedScript | None = None

    @property
    def alive(self) -> bool:
        """Whether the script may still step one of the environments."""
        return any(member.alive for member in self.members)

    def shows(self, role: str) -> bool:
        """Whether a session shows it, and it has a role."""
        return self.role == role and self.session is not None and not self.session.step_log.ended

    def environment(self, row: int) -> Any:
        """Return the object of a row; None if it is gone."""
        return self.members[row].env() if row < len(self.members) else None

    def replaced_by(self, member: EnvGroupMember) -> bool:
        """Whether an environment comes after all others, which are gone, or were not stepped since it was made."""
        return not self.alive or (self.session is not None and self.session.step_log.left < member.made)

    def add(self, member: EnvGroupMember) -> None:
        """Add an environment, in place of one that is gone if there is one."""
        gone = self.members if self.replaced_by(member) else [other for other in self.members if not other.alive]
        free = gone[0].row if gone else len(self.members)
        for other in self.members if len(gone) == len(self.members) else gone[:1]:
            other.release()
        if len(gone) == len(self.members):
            self.members, free = [], 0
        member.group, member.row = self, free
        self.members[free : free + 1] = [member]


def join(member: EnvGroupMember, key: Hashable, name: str, role: str, *, batch: bool) -> None:
    """Add an environment, which was reset, to the group that it belongs to."""
    with lock:
        mine = [group for group in _groups if group.key == key and (not batch or group.replaced_by(member))]
        if not mine:
            mine = [EnvGroup(key, name, role)]
            _groups.append(mine[0])
        mine[0].add(member)


def open_session(group: EnvGroup, environments: ShownEnvs, num_envs: int) -> WatchedScript:
    """Return the session that shows a group from now on: its own, that of a group that is gone, or a new one."""
    from .script import WatchedScript, free_name, script_name

    with lock:
        session = group.session
        if session is None or session.step_log.ended:
            gone = next((other for other in _groups if other.shows(group.role) and not other.alive), None)
            if gone is not None:
                _groups.remove(gone)
                session, gone.session = gone.session, None
        if session is None or session.step_log.ended:
            recognized.append(group.name or script_name())
            name = group.name or "-".join(filter(None, (script_name(), group.role)))
            session = WatchedScript(free_name(name), environments, num_envs)
        elif session is not group.session or session.mirror.environments != num_envs:
            session.show(environments, num_envs)
        group.session = session
        return session


def sessions() -> Mapping[str, WatchedScript]:
    """Return the open sessions by name."""
    return {group.session.name: group.session for group in _groups if group.session is not None}
