"""The first and the last lines of the screen: the training, the views, the use of the machine."""

from __future__ import annotations

from rich.segment import Segment
from textual.events import Click

from ...backends.system.segment import human_bytes
from ...training.telemetry.records import Phase, Severity
from ...training.telemetry.snapshot import Snapshot
from ..drawing.numbers import NA, clock, percent, whole
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    GROUND,
    RAISED,
    RED,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    blank,
    fit_ends,
    spread,
    styled,
    width_of,
)
from ..drawing.widgets import TextLines
from ..keys import shown as key_shown
from ..messages import ViewChosen
from ..session_text import pause_of_steps
from .diagnosis import COLORS, gravest

PHASES = {
    Phase.STARTING: (YELLOW, "starting"),
    Phase.RUNNING: (GREEN, "running"),
    Phase.PAUSED: (SOFT, "paused"),
    Phase.RESTARTING: (YELLOW, "restarting"),
    Phase.BASELINE: (CYAN, "measuring"),
    Phase.STOPPING: (YELLOW, "stopping..."),
    Phase.ENDED: (SOFT, "ended"),
    Phase.FAILED: (RED, "failed"),
    Phase.DISCONNECTED: (YELLOW, "no connection"),
}
TABS = (
    ("summary", "Summary"),
    ("environment", ""),
    ("timing", "Timing"),
    ("learning", "Learning"),
    ("workers", "Workers"),
    ("diagnosis", "Diagnosis"),
    ("logs", "Output"),
)
"""Views and their names; environments have no name, but a number."""
PARENTS = {"steps": "timing"}
"""Views that are second pages of others."""
NARROW, GAP = 72, 2
LEAST_RUN = 15


def head(snapshot: Snapshot | None, width: int, doing: str = "") -> Row:
    """Return the first line: the task, the trainer, the phase or what the script is `doing`, and the progress."""
    brand = styled(" pac-tui ", GROUND, ground=ACCENT, bold=True)
    if snapshot is None:
        return (brand, styled(f"  {doing or 'starting the session'}", SOFT))
    facts, state = snapshot.description, snapshot.state
    color, word = PHASES[snapshot.phase]
    word = doing or pause_of_steps(snapshot) or word
    about = (facts.trainer, str(state["backend"]) or facts.backend, str(state["device"]) or facts.device)
    left = (brand, styled(f"  {facts.title}", BRIGHT, bold=True))
    detail = (styled("  " + " · ".join([*filter(None, about), f"N={snapshot.num_envs:,}"]), SOFT),)
    units = facts.units
    done = f"{whole(float(state[units.over]))} {units.counted}"
    counters = f"{done}   {clock(float(state['training_seconds']))} "
    if width < NARROW:
        counters = f"{whole(snapshot.fps)} {units.fps} " if snapshot.phase is Phase.RUNNING else f"{done} "
    boards = {Phase.RUNNING: SIGNS.stepping, Phase.BASELINE: SIGNS.stepping, Phase.PAUSED: SIGNS.paused}
    sign = boards.get(snapshot.phase, SIGNS.dot)  # the signs that boards have, which the word beside them explains
    found = gravest(snapshot)
    count = sum(one.lasts and one.severity > Severity.NOTE for one in snapshot.findings)
    warning = (styled(f"{SIGNS.broken} {count}   ", COLORS[found.severity], bold=True),) if found and count else ()
    right = (*warning, styled(f"{sign} {word}   ", color, bold=True), styled(counters, TEXT))
    room = width - width_of(right)
    shown = next((row for row in ((*left, *detail), left, (brand,)) if width_of(row) + GAP < room), ())
    return spread(shown, right, width)


def system(snapshot: Snapshot | None, cost: float, width: int, controlled_by: str = "") -> Row:
    """Return the viewer in control, the session's use of CPU, memory and GPU, and what showing it costs.

    Args:
        snapshot: The newest snapshot.
        cost: The app's use of the CPU, as a share of one core. What the session publishes and draws is added.
        width: Columns of the line.
        controlled_by: The viewer in control, if it is another one.
    """
    values = snapshot.system if snapshot is not None and float(snapshot.system["pulse"]) else None
    total = 100 * cost + (float(values["shown"]) if values is not None else 0.0)
    own = (styled("ui ", FAINT), styled(f"{total:4.1f} % ", TEXT if cost < 0.05 else YELLOW))
    row = _audience(int(snapshot.audience["viewers"]), controlled_by) if snapshot is not None else ()
    if snapshot is None or values is None:
        return spread(row, own, width)
    cores = int(values["cores"])
    shown = [
        ("cpu", f"{percent(float(values['cpu'])):>6} of {100 * cores} %"),
        ("rss", f"{human_bytes(float(values['rss'])):>9}"),
        ("shm", f"{human_bytes(float(values['shm'])):>9}"),
        *gpu(snapshot),
    ]
    for name, value in shown:
        wider = (*row, styled(f" {name} ", FAINT), styled(f"{value} ", TEXT))
        if width_of(wider) + width_of(own) >= width:
            break
        row = wider
    else:
        name = snapshot.description.run
        room = min(len(name), width - width_of(row) - width_of(own) - len(" run  "))
        if room >= min(len(name), LEAST_RUN):
            row = (*row, styled(" run ", FAINT), styled(fit_ends(name, room), TEXT))
    return spread(row, own, width)


def _audience(viewers: int, controlled_by: str) -> Row:
    """Return the viewer in control, if there are several."""
    if controlled_by:
        offer = f"{key_shown('control')} takes control "
        return (styled(f" {controlled_by} has control ", YELLOW), styled(offer, TEXT))
    return (styled(f" you have control, {viewers - 1} watching ", GREEN),) if viewers > 1 else ()


def gpu(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the utilization and memory of the GPU, or that there is none."""
    values = snapshot.system
    if not int(values["gpus"]):
        return [("gpu", "no GPU")]
    total = float(values["vram_total"])
    memory = f"{human_bytes(float(values['vram']))} of {human_bytes(total)}" if total else NA
    return [("gpu", f"{percent(float(values['gpu'])):>6} {values['gpu_name']}"), ("vram", memory)]


class Tabs(TextLines):
    """The names of the views; a click opens one."""

    def __init__(self) -> None:
        super().__init__(id="tabs")
        self._spans: list[tuple[int, int, str]] = []

    def draw(self, view: str, env: int, snapshot: Snapshot | None, note: str) -> None:
        """Mark the current view."""
        name = "Env 1/0"
        if snapshot is not None:
            name = snapshot.description.env_title(min(env, max(1, snapshot.num_envs) - 1), f"/{snapshot.num_envs:,}")
        tail = (styled(f"{note} ", FAINT),) if note else (blank(1),)
        for keys, margin in ((True, " "), (True, ""), (False, " "), (False, "")):
            row = self._named(view, name, keys=keys, margin=margin)
            if width_of(row) + width_of(tail) < self.size.width:
                break
        self.show([spread(row, tail, self.size.width)])

    def _named(self, view: str, environment: str, *, keys: bool, margin: str) -> Row:
        """Return the names with a margin before each, and their keys if asked for; store their columns for clicks."""
        row: list[Segment] = []
        self._spans = []
        for name, title in TABS:
            label = f"{margin}{environment if name == 'environment' else title} "
            active, at = name == PARENTS.get(view, view), width_of(row)
            ground = RAISED if active else GROUND
            row += [
                styled("▌" if active else " ", ACCENT, ground=ground),
                styled(label, BRIGHT if active else SOFT, ground=ground, bold=active),
            ]
            if keys:
                key = f"{key_shown(f'view.{name}')} " if title else ""
                row.append(styled(key, FAINT, ground=ground))
            self._spans.append((at, width_of(row), name))
        return tuple(row)

    def on_click(self, event: Click) -> None:
        """Open the view that was clicked."""
        for begin, end, name in self._spans:
            if begin <= event.x < end:
                self.post_message(ViewChosen(name))
