"""Checks that a session may resume a run: task, trainer, observations and actions must be the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...envs import BadParameter, Task
from .folder import RunFolder


def run_identity(task: Task, trainer: str) -> dict[str, str]:
    """Return the values in a run's metadata and checkpoints that must not change; a trainer may check more."""
    facts = [trainer, asdict(task.observation), asdict(task.action), task.num_actions, task.players]
    facts += [task.version] if task.version > 1 else []
    fingerprint = hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]
    return {"task": task.spec, "trainer": trainer, "fingerprint": fingerprint}


def check_identity(folder: RunFolder, ours: Mapping[str, str]) -> None:
    """Make sure that a run has the requested task and trainer.

    Raises:
        BadParameter: The run has another task or trainer.
    """
    metadata = folder.metadata()
    if (metadata.get("trainer"), metadata.get("task")) != (ours["trainer"], ours["task"]):
        raise BadParameter(
            f"{folder.name} trains {metadata.get('task')} with {metadata.get('trainer')}, not {ours['task']} with "
            f"{ours['trainer']}: leave out --task, --wrap and --trainer, or start a new run"
        )
    if metadata.get("fingerprint") != ours["fingerprint"]:
        raise BadParameter(
            f"{folder.name} was trained on another {ours['task']}, with other observations, actions or seats: "
            "start a new run, or go back to that version"
        )


OF_DEVICE = "settings_of_device"
"""The key of a run's metadata with the names of settings that followed from its device."""


def settings_of_device(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a run's settings that followed from its device."""
    names = metadata.get(OF_DEVICE)
    return tuple(map(str, names)) if isinstance(names, list) else ()


def changed_settings(folder: RunFolder, settings: Mapping[str, Any], *, planned: bool = False) -> list[str]:
    """Return a text for each setting of a run's trainer that has changed.

    Args:
        planned: Whether `settings` are those of a run that was not started, which knows no device.
    """
    metadata = folder.metadata()
    before, left_out = metadata.get("config", {}).get("settings", {}), settings_of_device(metadata) if planned else ()
    now = json.loads(json.dumps(settings))
    return [
        f"{name} {now[name]} instead of {value}"
        for name, value in before.items()
        if name in now and name not in left_out and now[name] != value
    ]
