"""The command `pac-tui replay`: shows, checks or exports a recorded episode."""

from __future__ import annotations

from pathlib import Path

from ...training.exits import DONE, FAILED
from ...training.past.episode import Episode, check
from ...training.past.episode_file import read
from ...training.past.rerun import RerunMismatch
from ..terminal.modes import check_terminal
from ..trust import asking
from .show import show_json


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
