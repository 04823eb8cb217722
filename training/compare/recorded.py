"""Two policies at the steps of a recording: of an episode that was recorded, or of a paused session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...envs import BadParameter, PacError
from ...envs.trust import Vouch
from ..past.episode import Episode
from ..runs.folder import RunFolder
from .pairing import RANDOM, RECORDED, Pairing, SavedPolicy, random_policy, unknown_policy
from .seeds import common_task, saved_policy


@dataclass(frozen=True)
class KeptPast:
    """A recording whose steps two policies are shown at.

    Attributes:
        owner: Whose actions it has: a run, one of its checkpoints, or `random`; empty if that is not known.
        runs_dir: Folder that contains the runs.
    """

    episode: Episode
    owner: str
    runs_dir: Path
    vouch: Vouch

    def policy(self, name: str) -> SavedPolicy:
        """Return the policy of a name.

        Raises:
            BadParameter: It plays another task.
            PacError: It cannot be loaded.
        """
        if name == RANDOM:
            return random_policy()
        found, task = saved_policy(name, self.runs_dir, self.vouch)
        common_task(["the episode", found.label], [self.episode.task, task])
        return found

    def _pairing(self, policies: tuple[SavedPolicy, SavedPolicy], **how: Any) -> Pairing:
        episode = self.episode
        if not episode.replays:
            raise BadParameter(f"{episode.task.name} is not deterministic, so its steps cannot be played again")
        for policy in policies:
            if episode.state is not None and policy.settings.get("memory"):
                raise BadParameter(
                    f"{policy.label} remembers the steps from the beginning of the episode, which are no longer kept"
                )
        return Pairing(episode.task, policies, episode.seed, episode.env, recorded=episode, **how)

    def against(self, name: str) -> Pairing:
        """Return what the policy of a name would do at each step, beside the one that is known to have played.

        Raises:
            PacError: It cannot be loaded, or the steps cannot be played again.
        """
        other = self.policy(name)
        try:
            own = self.policy(self.owner) if self.owner else unknown_policy(RECORDED)
        except PacError:  # the recording says what it did, and nothing says why
            own = unknown_policy(RECORDED)
        return self._pairing((own, other), follow=True)

    def branching(self, at: int) -> Pairing:
        """Return two sides that are at a step, where the second one is to branch off.

        Raises:
            PacError: The policy cannot be loaded, or the steps cannot be played again.
        """
        if not self.owner:
            raise BadParameter("the run of this episode is not known, so nobody can play on: name it with --policy RUN")
        own = self._pairing((self.policy(self.owner),) * 2, follow=True)
        try:
            return own.branching(at)
        finally:
            own.close()


def owner_of(episode: Episode, path: Path, runs_dir: Path) -> str:
    """Return the run that an episode is of: that in whose folder it is, or the one with its name; empty if neither."""
    folders: Sequence[Path] = (path.resolve().parents[1], runs_dir / episode.run) if episode.run else ()
    for folder in folders:
        try:
            return str(RunFolder.find(runs_dir, str(folder)).path)
        except PacError:
            continue
    return ""
