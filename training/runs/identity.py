"""What a run is of: what must be the same for a session to go on with it, and what may change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...envs import BadParameter, Task
from .folder import RunFolder


def run_identity(task: Task, trainer: str) -> dict[str, str]:
    """Return what a run's metadata and its checkpoints say that it is of; its trainer may ask for more."""
    facts = [trainer, asdict(task.observation), asdict(task.action), task.num_actions, task.players]
    facts += [task.version] if task.version > 1 else []
    fingerprint = hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]
    return {"task": task.spec, "trainer": trainer, "fingerprint": fingerprint}


def check_identity(folder: RunFolder, ours: Mapping[str, str]) -> None:
    """Make sure that a run is of what is asked for.

    Raises:
        BadParameter: It is not.
    """
    metadata = folder.metadata()
    if (metadata.get("trainer"), metadata.get("task")) != (ours["trainer"], ours["task"]):
        raise BadParameter(
            f"{folder.name} trains {metadata.get('task')} with {metadata.get('trainer')}, and {ours['task']} with "
            f"{ours['trainer']} is asked for: leave --task and --trainer out, or start a new run"
        )
    if metadata.get("fingerprint") != ours["fingerprint"]:
        raise BadParameter(
            f"{folder.name} was trained on another {ours['task']}, with other observations or actions: "
            "start a new run, or go back to that version"
        )


def changed_settings(folder: RunFolder, settings: Mapping[str, Any]) -> list[str]:
    """Return in words which settings of a run's trainer are others than before."""
    before = folder.metadata().get("config", {}).get("settings", {})
    now = json.loads(json.dumps(settings))
    return [
        f"{name} {now[name]} instead of {value}" for name, value in before.items() if name in now and now[name] != value
    ]
