"""Settings of the trainer that viewers change while it trains."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ...envs import UnknownName
from ..settings import setting_text
from ..telemetry.changes import Change, changes_between
from ..telemetry.records import Level
from ..trainer import Trainer
from .control import CommandRefused
from .run_record import RunRecord
from .services import Services
from .training_setup import TrainingSetup

NONE = frozenset({"", "none", "null"})
"""Texts for a setting without a value."""


class LiveSettings:
    """Takes requests from any thread. The training thread applies them between two iterations, on all ranks alike."""

    def __init__(self, setup: TrainingSetup, services: Services, record: RunRecord) -> None:
        self._kind, self._ranks, self._record = setup.kind, setup.ranks, record
        self._counter, self._events = services.counter, services.events
        self._publisher = services.monitor.publisher
        self._lock = threading.Lock()
        self._wanted: dict[str, Any] = {}

    def request(self, name: str, text: str) -> dict[str, str]:
        """Request another value of a setting; return its full name, and both values as texts.

        Raises:
            CommandRefused: The setting cannot be changed now.
            UnknownName: There is no such setting.
            BadParameter: The value does not fit.
        """
        kind, own = self._kind, name.removeprefix(f"{self._kind.name}.").replace("-", "_")
        fields, possible = kind.settings_class.model_fields, sorted(self._record.live)
        if not possible:
            raise CommandRefused(f"{kind.name} has no settings that can be changed while it trains")
        if own not in fields:
            raise UnknownName(f"setting of {kind.name}", name, possible)
        if own not in possible:
            raise CommandRefused(f"{own} cannot be changed while it trains; these can: {', '.join(possible)}")
        value = None if text.strip().lower() in NONE else text.strip()
        with self._lock:
            now = {**self._record.settings, **self._wanted}
            found = kind.settings_class.read(kind.name, {**now, own: value}).model_dump(mode="json")[own]
            if found == now[own]:
                raise CommandRefused(f"{kind.name}.{own} is {setting_text(found)} already")
            self._wanted[own] = found
        return {"name": f"{kind.name}.{own}", "before": setting_text(now[own]), "after": setting_text(found)}

    def begin(self) -> None:
        """Show viewers the changes that a resumed run had before."""
        self._publisher.changes = self._record.changes

    def take(self) -> Mapping[str, Any]:
        """Return the settings that are to be changed now. All ranks call this together."""
        with self._lock:
            wanted, self._wanted = self._wanted, {}
        return self._ranks.from_writer(wanted)

    def apply(self, wanted: Mapping[str, Any], trainer: Trainer) -> None:
        """Have the trainer use other settings from now on, and note the change."""
        before, counts = self._record.settings, self._counter.counts
        settings = {**before, **wanted}
        changes = changes_between(before, settings, counts.steps, self._counter.clock.now(), counts.frames)
        if changes:
            trainer.change_settings(settings)
            self._record.settings = settings
            self.note(changes)

    def note(self, changes: list[Change]) -> None:
        """Note changes in the run, for viewers and as events."""
        self._record.changes = self._publisher.changes = (*self._record.changes, *changes)
        for change in changes:
            text = f"{self._kind.name}.{change.name}: {change.before} -> {change.after}"
            self._events.add(Level.INFO, text, reported=True)
