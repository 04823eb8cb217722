"""Changes of a trainer's settings during its training, as viewers see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ...envs.fields import Array
from ..settings import setting_text
from .records import CHANGE

CHANGED = "changes"
"""The key of the changes in a run's metadata and report."""


@dataclass(frozen=True)
class Change:
    """A setting that was changed between two iterations.

    Attributes:
        name: The setting, without the trainer's name.
        before: Its value before, as text.
        after: Its value from then on.
        steps: Environment steps until then.
        seconds: Seconds of training until then.
        frames: Frames until then.
    """

    name: str
    before: str
    after: str
    steps: int
    seconds: float
    frames: int

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "step": self.steps,
            "seconds": self.seconds,
            "frames": self.frames,
            "name": self.name,
            "from": self.before,
            "to": self.after,
        }

    @property
    def text(self) -> str:
        """What was changed, for people."""
        return f"{self.name} from {self.before} to {self.after} at step {self.steps:,}"

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Change:
        """Return the change that `as_json` has described.

        Raises:
            LookupError, TypeError, ValueError: It is something else.
        """
        steps, frames, seconds = int(found["step"]), int(found["frames"]), float(found["seconds"])
        if not 0 <= steps < 2**63 or not 0 <= frames < 2**63 or not (isfinite(seconds) and seconds >= 0):
            raise ValueError(f"a change was counted as {found}")
        return cls(str(found["name"]), str(found["from"]), str(found["to"]), steps, seconds, frames)


def changes_in(metadata: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the changes that a run's metadata has; others that no session has written are left out."""
    found = metadata.get(CHANGED, ())
    for each in found if isinstance(found, list) else ():
        with suppress(LookupError, TypeError, ValueError):
            yield Change.of(each)


def changes_between(
    before: Mapping[str, Any], after: Mapping[str, Any], steps: int, seconds: float, frames: int
) -> list[Change]:
    """Return a change for each setting whose value is another one."""
    return [
        Change(name, setting_text(before[name]), setting_text(value), steps, seconds, frames)
        for name, value in after.items()
        if name in before and before[name] != value
    ]


def write_changes(block: Array, changes: Sequence[Change]) -> None:
    """Write the last changes into a block of records."""
    block[:] = np.zeros((), block.dtype)
    for record, change in zip(block, changes[-len(block) :], strict=False):
        CHANGE.put(record, vars(change))


def read_changes(block: Array) -> tuple[Change, ...]:
    """Return the changes in a block of records, oldest first."""
    return tuple(Change(**CHANGE.get(record)) for record in block if record["name"])
