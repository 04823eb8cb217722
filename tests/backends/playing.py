"""Plays games with random legal actions, and keeps what backends publish."""

from __future__ import annotations

from collections.abc import Collection

from pac.backends.core.base import Backend
from pac.training.bench.backends.rates import RandomLegal


def trajectory(envs: Backend, steps: int, names: Collection[str] = ()) -> list[bytes]:
    """Return the named fields, or all, after every step, as bytes."""
    envs.start()
    choose, seen = RandomLegal(envs.task, envs.num_envs), []
    for _ in range(steps):
        if envs.order.full:
            envs.carry()
        choose(envs, envs.order.newest)
        envs.advance(envs.order.newest)
        slots = dict.fromkeys(names or envs.buffer, envs.order.newest) | {"action": envs.order.acted(envs.order.newest)}
        seen.append(
            b"".join(envs.buffer[name][slot % len(envs.buffer[name])].tobytes() for name, slot in slots.items())
        )
    return seen
