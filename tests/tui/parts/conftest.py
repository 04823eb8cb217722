"""The parts of the app without the app: a state that the test sets, and a host that records what parts ask of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.units import SOLVED
from pac.tui.app.state import AppState
from pac.tui.keys import shown


@dataclass
class RecordingHost:
    """An app that only notes what its parts ask of it."""

    messages: list[str] = field(default_factory=list)
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    timers: list[Callable[[], Any]] = field(default_factory=list)
    exit_codes: list[int] = field(default_factory=list)
    refreshes: int = 0

    def notify(self, message: str, **_options: Any) -> None:
        self.messages.append(message)

    def send(self, command: str, **arguments: Any) -> None:
        self.sent.append((command, arguments))

    def key_of(self, command: str) -> str:
        return shown(command)

    def refresh_now(self) -> None:
        self.refreshes += 1

    def draw_footer(self) -> None:
        """Draw nothing."""

    def set_timer(self, _delay: float, callback: Callable[[], Any]) -> None:
        self.timers.append(callback)

    def exit(self, result: int, return_code: int) -> None:
        assert result == return_code
        self.exit_codes.append(result)


@pytest.fixture
def host():
    """A host that has been asked for nothing yet."""
    return RecordingHost()


@pytest.fixture
def state(fake):
    """The state of an app that has seen eight running environments."""
    return AppState(take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=0)))


@pytest.fixture
def change(state):
    """Return a function that changes fields of the newest snapshot; `state_...` changes its record of the session."""

    def changed(**values: Any) -> None:
        record = {name.removeprefix("state_"): value for name, value in values.items() if name.startswith("state_")}
        fields = {name: value for name, value in values.items() if not name.startswith("state_")}
        state.snapshot = replace(state.snapshot, state={**state.snapshot.state, **record}, **fields)

    return changed


@pytest.fixture
def solver(state, change):
    """The state of an app that shows a solver, whose workers have no episodes."""
    change(description=replace(state.snapshot.description, units=SOLVED))
    return state
