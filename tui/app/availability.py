"""Why a key does nothing at the moment: what the table of keys says that it needs is not there."""

from __future__ import annotations

from ...training.telemetry.description import Description
from ...training.telemetry.records import Phase
from ..keys import Needs, shown, table
from .state import AppState


def why_unavailable(command: str, state: AppState) -> str:
    """Return why a command of the table of keys cannot be executed; an empty text if it can."""
    key, phase, units = table().get(command), state.phase, state.units
    needs = key.needs if key is not None else Needs.NOTHING
    about = state.snapshot.description if state.snapshot is not None else None
    if state.replay:
        return "a recorded episode cannot be changed" if Needs.TRAINING in needs else ""
    if Needs.MEMBERS in needs and not state.members:
        return "only one session is shown; pac-tui attach --all shows several"
    if Needs.SESSION in needs and (phase.over or phase is Phase.STOPPING):
        return "the session has ended" if phase.over else "the session is ending"
    if Needs.OWN in needs and about is not None and about.watched:
        return "a watched script runs its environments itself"
    if Needs.LIVE in needs and about is not None and not about.live:
        return _why_fixed(about)
    if Needs.EPISODES in needs and not units.episodes:
        return f"a {units.environment} has no episodes"
    if Needs.STATE in needs and (about is None or not about.state_files):
        return "this task makes no files of a state"
    if Needs.STATE in needs and phase is not Phase.PAUSED:
        return f"pause the session first ({shown('pause')})"
    return ""


def _why_fixed(about: Description) -> str:
    """Return why no setting of the trainer can be changed."""
    if about.watched:
        return "a watched script has settings of its own"
    if about.rank:
        return "only rank 0 can change settings"
    return f"{about.trainer} has no settings that can be changed while it trains"


def works_after_end(command: str, state: AppState) -> bool:
    """Return whether a command still does something after the end of a script; others leave the app."""
    key = table()[command]
    within = (key.within or key.view).split()
    return not key.needs and (not within or state.view in within)
