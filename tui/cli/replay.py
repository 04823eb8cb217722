"""The command `pac-tui replay`: shows, checks or exports a recorded episode."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...envs.unknown import is_unknown
from ...training.exits import DONE, FAILED
from ...training.past.episode import Episode, check
from ...training.past.episode_file import read
from ...training.past.rerun import RerunMismatch
from ..drawing.numbers import readable
from ..terminal.modes import check_terminal
from ..trust import asking
from .show import console, plain_table, show_json, show_table

if TYPE_CHECKING:
    from ...training.compare.pairing import Pairing

ROWS = 10
"""How many steps are printed: those at which two policies are most apart."""


def replay_episode(path: Path, *, headless: bool, json: bool, export: Path | None, trust: bool = False) -> int:
    """Show, check or export an episode; return the exit code, 1 if a check finds a difference.

    Raises:
        BadEpisode: The file is not a recorded episode.
        NotTrusted: Its task can run code, and neither `trust` nor the user allows that.
        NoTerminal: There is no terminal to show it on.
    """
    episode = read(path, asking(trust=trust))
    if export is not None:
        from ..replay.export import export_episode

        export_episode(episode, path, export)
        print(f"wrote {export}")
        return DONE
    if headless or json:
        return check_episode(episode, path, json=json)
    check_terminal("add --check to compare without the app")
    from ..replay.episode_session import EpisodeConnection, EpisodeSession
    from ..replay.replay import ReplayApp
    from ..terminal.terminal_app import run_in_terminal

    return run_in_terminal(lambda: ReplayApp(EpisodeConnection(lambda: EpisodeSession(episode, path))))


def replay_against(
    path: Path, against: str, *, policy: str | None, runs_dir: Path, headless: bool, json: bool, trust: bool
) -> int:
    """Show what another policy would do at each step of an episode, or print where it differs most; return the code.

    Args:
        policy: Whose episode it is; by default the run in whose folder it is, or whose name it has.

    Raises:
        BadEpisode: The file is not a recorded episode.
        NotTrusted: What it names can run code, and neither `trust` nor the user allows that.
        PacError: A policy cannot be loaded, or the episode cannot be played again.
    """
    from ...training.compare.recorded import KeptPast, owner_of
    from ..compare.app import show_pairing

    if not (headless or json):
        check_terminal("add --json to print it")
    vouch = asking(trust=trust)
    episode = read(path, vouch)
    kept = KeptPast(episode, policy or owner_of(episode, path, runs_dir), runs_dir, vouch)
    pairing = kept.against(against)
    if not (headless or json):
        return show_pairing(pairing)
    with closing(pairing):
        pairing.play(episode.length)
        if json:
            show_json({"file": str(path), "task": episode.task.spec, **disagreement(pairing)})
        else:
            _print_disagreement(pairing)
    return DONE


def disagreement(pairing: Pairing) -> dict[str, Any]:
    """Return how far two policies are apart at each step, and at which ones most, for JSON."""
    steps: list[dict[str, Any]] = []
    for at, divergence in enumerate(pairing.divergences):
        one, other = pairing.decisions(at)
        if one is not None and other is not None:
            known = None if is_unknown(divergence) else divergence
            steps.append({"step": at, "divergence": known, "differs": not one.agrees(other)})
            for name, side in (("a", one), ("b", other)):
                value = None if is_unknown(side.value) else side.value
                steps[-1][name] = {"action": side.actions[side.seat].tolist(), "value": value}
    return {
        "policies": [side.policy.label for side in (pairing.a, pairing.b)],
        "differ": len(pairing.partings),
        "most_apart": pairing.apart[:ROWS],
        "steps": steps,
    }


def _print_disagreement(pairing: Pairing) -> None:
    """Print the steps at which two policies are most apart."""
    from ..dialogs.lockstep import described
    from ..views.environment_rows import action_text

    table = plain_table("step", "KL", "action A", "B", "value A", "B")
    about = described(pairing)
    for at in pairing.apart[:ROWS]:
        one, other = pairing.decisions(at)
        assert one is not None
        assert other is not None
        actions = (action_text(about, side.actions[side.seat]) for side in (one, other))
        values = (readable(side.value) for side in (one, other))
        table.add_row(f"{at:,}", readable(pairing.divergences[at]), *actions, *values)
    console.print(f"A: {pairing.a.policy.label}   B: {pairing.b.policy.label}", markup=False)
    show_table(table)
    console.print(f"The actions differ at {len(pairing.partings):,} of {pairing.length + 1:,} states.")


def check_episode(episode: Episode, path: Path, *, json: bool) -> int:
    """Replay an episode, compare it with the recording and print the result; return the exit code."""
    facts = {
        "file": str(path),
        "task": episode.task.spec,
        "env": episode.env,
        "episode": episode.number,
        "steps": episode.length,
        "trajectory": episode.trajectory,
    }
    place = f"environment {episode.env + 1}, episode {episode.number + 1:,}"
    what = f"{episode.length:,} steps of {episode.task.spec}, {place}"
    try:
        check(episode)
    except RerunMismatch as error:
        reason = "" if episode.replays else "; the replay already differed when it was recorded"
        found = {**facts, "same": False, "step": error.step, "field": error.field, "error": str(error)}
        show_json(found) if json else print(f"{what}: differs at {error}{reason}")
        return FAILED
    show_json({**facts, "same": True}) if json else print(f"{what}: identical, {episode.trajectory}")
    return DONE
