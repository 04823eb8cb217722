"""The command `pac-tui film`, and `pac-tui replay --video`: films of trainings and of recorded episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...envs import BadParameter
from ...training.config import Config
from ...training.exits import DONE
from ...training.past.episode import Episode
from ...training.past.episode_file import read
from ..replay.film import make_film
from ..replay.film_files import check_film
from ..terminal.progress import progress_bar
from ..trust import asking

MOST = 64
"""The most episodes in a grid."""


def film_episodes(files: Sequence[Path], target: Path, *, fps: float | None, scale: int | None, trust: bool) -> int:
    """Make a film of recorded episodes, side by side if they are several; return the exit code.

    Raises:
        BadEpisode: A file is not a recorded episode.
        CannotExport: The film cannot be made.
    """
    check_film(target)
    if len(files) > MOST:
        raise BadParameter(f"a film shows at most {MOST} episodes side by side, got {len(files)}")
    episodes = [read(path, asking(trust=trust)) for path in files]
    tracks = [[("" if len(files) == 1 else path.stem, episode)] for path, episode in zip(files, episodes, strict=True)]
    return _make(tracks, target, fps, scale)


def film_training(config: Config, target: Path, *, fps: float | None, scale: int | None) -> int:
    """Make a film of the same episode, played by every kept checkpoint of a run; return the exit code.

    Raises:
        BadParameter: The run has another task or trainer.
        NoCheckpoint: There is no valid checkpoint.
        CannotExport: The film cannot be made.
    """
    from ...training.playing import episodes_by_checkpoint

    check_film(target)
    with progress_bar(f"play {config.resume}") as progress:
        played = episodes_by_checkpoint(config, progress)
    return _make([[(f"after {step:,} steps", episode) for step, episode in played]], target, fps, scale)


def _make(tracks: Sequence[Sequence[tuple[str, Episode]]], target: Path, fps: float | None, scale: int | None) -> int:
    with progress_bar(f"film {target.name}") as progress:
        make_film(tracks, target, rate=fps, scale=scale, on_progress=progress)
    print(f"wrote {target}")
    return DONE
