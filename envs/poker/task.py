"""The tasks of this folder."""

from __future__ import annotations

from ..task import TaskFamily

TASKS: tuple[TaskFamily, ...] = ()
