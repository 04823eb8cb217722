"""Environments that are stepped on request: the part of a server that does not depend on the protocol.

There is no auto-reset over connections. The answer to a step that ends an episode has the last observation, and a reset
starts the next episode. The episodes are those of every other backend: episode k of environment i is
seeded by `episode_seed(seed, i, k)`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Field, Task, allocate
from ...envs.fields import ZERO_AT_FIRST, Array, Buffers
from ...envs.signals import handling
from ...envs.task import ASKED, LAST, LAST_DRAWN, LOOKED_AT, MASK_64
from ..core.actions import action_check
from ..core.errors import BackendBusy, BadAction
from ..workers.control import Link

STILL = (*ZERO_AT_FIRST, "reward_terms")
"""Fields that are zero until the first step of an episode."""


@contextmanager
def ending_signals() -> Iterator[list[int]]:
    """Yield a list that collects SIGTERM and SIGINT, which do not end the process in the block."""
    came: list[int] = []
    with handling(dict.fromkeys((signal.SIGTERM, signal.SIGINT), lambda number, _: came.append(number))):
        yield came


class EnvironmentServer:
    """Environments `lo..hi` of a run, each stepped for its client.

    Args:
        lo: First environment.
        hi: One past the last.
        seed: The run's seed.
        link: The fleet that the server is a worker of. A failed environment ends such a server.
    """

    def __init__(self, task: Task, lo: int, hi: int, seed: int, link: Link | None = None) -> None:
        self._task, self._lo, self._seed, self._link = task, lo, seed, link
        buffers = allocate(task, hi)
        self._hosts = [HostedEnvironment(task, env, seed, buffers) for env in range(lo, hi)]
        self.steps = 0

    def _beat(self) -> None:
        """Update the heartbeat, after every reset and step."""
        if self._link:
            self._link.beat(self.steps // len(self._hosts))

    def _close_hosts(self) -> None:
        for host in self._hosts:
            host.close()


class HostedEnvironment:
    """Environment `env` of a run, in this process.

    Args:
        env: Its number in the run, which its seeds depend on.
        seed: The run's seed.
        buffers: Arrays for at least `env + 1` environments and one slot, which several hosted environments share; its
            own if None. Untouched rows use address space, but no memory.

    Attributes:
        env: Its number in the run.
        seed: The run's seed, modulo 2**64.
        begun: Whether an episode has begun.
        ended: Whether the episode has ended, so that a reset must follow.
        rows: The fields as stored, always at the same addresses; `stored` returns the values to read after an end.
    """

    def __init__(self, task: Task, env: int = 0, seed: int = 0, buffers: Buffers | None = None) -> None:
        self.task, self.env = task, env
        self.seed = seed & MASK_64
        self._buffers = allocate(task, env + 1) if buffers is None else buffers
        self.rows = {item.name: self._rows_of(item) for item in task.fields}
        self._fields = {item.name: item for item in task.fields}
        self._chosen = np.ones(1, np.bool_)
        self.begun = self.ended = self._closed = False
        self._no_mask = np.zeros_like(self.rows["action_mask"]) if task.masked else None
        self._episodes = self._buffers["episode"][0].data
        self._actions = self.rows["action"].data
        self._check_action = action_check(task, self.rows["action"][None])
        self._watched, self._asks_for_boards = False, LOOKED_AT in self.rows
        self._open()

    def reset(self, seed: int | None = None, episode: int | None = None) -> None:
        """Start the next episode, or the given one; with `seed`, the first one of that seed."""
        if seed is not None:
            self.recreate(seed)
        if episode is not None:
            self.rows["episode"][...] = episode - 1
            self.ended = False
        if self.ended:
            self._turn()
        else:
            self._environments.reset(self._chosen, 0)
        self.begun, self.ended = True, False

    def step(self, actions: Sequence[Any]) -> None:
        """Take one action per seat.

        Raises:
            BackendBusy: No episode has begun, or it has ended.
            BadAction: There are more or fewer actions than seats, or one is out of range or of another kind.
            PacError: The environment refuses an action, or failed.
        """
        if self.ended or not self.begun:
            raise BackendBusy(f"environment {self.env} cannot step: {self._why()}; reset it first")
        mine = self._actions
        if len(actions) != len(mine):
            raise BadAction(f"expected {len(mine)} actions, one per seat, got {len(actions)}")
        if self.task.action.shape:
            self._take(actions)
        else:
            count = self.task.num_actions
            for seat, action in enumerate(actions):
                if not 0 <= action < count:
                    raise BadAction(f"seat {seat} got action {action}; expected 0 to {count - 1}")
                mine[seat] = action
        if self._asks_for_boards:
            self.rows[LOOKED_AT][...] = self._watched
            self._ask_for_last_boards(wanted=self._watched)
        episodes, env = self._episodes, self.env
        episode = episodes[env]
        self._environments.step(0)
        self.ended = episodes[env] != episode

    def _take(self, actions: Sequence[Any]) -> None:
        """Write actions that have several components or are continuous."""
        mine, kinds = self.rows["action"], "iuf" if self.task.bounds else "iu"
        given = np.asarray(actions)
        if given.shape != mine.shape or given.dtype.kind not in kinds:
            raise BadAction(f"expected actions of shape {mine.shape}, one per seat, got {actions}")
        mine[...] = given
        self._check_action(0)

    def observe(self) -> tuple[Array, NDArray[np.bool_]]:
        """Return the seats' observations, `(players, *shape)`, and which actions are legal, `(players, num_actions)`.

        Raises:
            BackendBusy: No episode has begun.
        """
        if not self.begun:
            raise BackendBusy(f"environment {self.env} cannot be observed: {self._why()}; reset it first")
        return self.decoded("observation"), self.mask()

    def stored(self, name: str) -> Array:
        """Return a field as stored, a view that the next step overwrites.

        Its shape is `(players, *stored_shape)` for fields of seats and `stored_shape` for those of the environment.
        After an end, the observation and the boards are the last ones, and the mask allows nothing. Other fields are as
        after any step that ends an episode.
        """
        if self.ended:
            if name == "action_mask" and self._no_mask is not None:
                return self._no_mask
            if LAST + name in self.rows:
                return self.rows[LAST + name]
        return self.rows[name]

    def decoded(self, name: str) -> Array:
        """Return a field in its logical shape, `(players, *shape)` for fields of seats, else `shape`."""
        return self._fields[name].decode(self.stored(name))

    def mask(self) -> NDArray[np.bool_]:
        """Return which actions are legal, `(players, num_actions)`; none between an end and the reset."""
        if self.task.masked:
            return self.decoded("action_mask").astype(np.bool_)
        return np.full((self.task.players, self.task.num_actions), not self.ended)

    def request_boards(self, *, watched: bool) -> None:
        """Set whether environments that draw only on request draw their boards from now on."""
        self._watched = watched

    def recreate(self, seed: int) -> None:
        """Make the environment again with a seed; no episode has begun."""
        self.close()
        self.seed = seed & MASK_64
        self._open()

    def go_on(self, episode: int, state: bytes | memoryview = b"") -> None:
        """Take the place of another environment: the next reset starts the episode after `episode`.

        Args:
            episode: The number of the last episode that began there.
            state: The bytes of the field `state`, where the task has one.
        """
        self.close()
        self.rows["episode"][...] = episode
        if "state" in self.rows:
            self.rows["state"][...] = np.frombuffer(state, self.rows["state"].dtype)
        self._make()

    def close(self) -> None:
        """Release the environment."""
        if not self._closed:
            self._closed = True
            self._environments.close()

    def _rows_of(self, item: Field) -> Array:
        players, env = self.task.players, self.env
        rows: Any = {"seat": slice(env * players, (env + 1) * players), "env": (env, ...), "all": (0, ...)}
        found: Array = self._buffers[item.name][0][rows[item.per]]
        return found

    def _open(self) -> None:
        self.rows["episode"][...] = -1
        if "state" in self.rows:
            self.rows["state"][...] = 0
        self._make()

    def _make(self) -> None:
        self._environments = self.task.make(self.env, self.env + 1, self._buffers, self.seed)
        self._closed = False
        self._show = getattr(self._environments, "show", None)
        self._ask_for_last_boards(wanted=not self._asks_for_boards)
        self.begun = self.ended = False

    def _ask_for_last_boards(self, *, wanted: bool) -> None:
        """Set whether the boards of the last state are written when an episode ends."""
        if LAST_DRAWN in self.rows:
            drawn = self.rows[LAST_DRAWN]
            drawn[...] = np.where(drawn, drawn, ASKED) if wanted else 0

    def _turn(self) -> None:
        """Continue with the episode that the previous step has started."""
        for name in STILL:
            if name in self.rows:
                self.rows[name][...] = 0
        if self._show is not None:
            self._show(0)

    def _why(self) -> str:
        return "its episode has ended" if self.ended else "no episode has begun"
