"""Takes over an environment: a person's action in place of the policy's, and nothing learned from it."""

from __future__ import annotations

from ..envs import BadParameter, Task
from ..envs.task import WAITS, Array, Buffers


class BadAction(BadParameter):
    """An action that cannot be taken."""

    title = "Bad action"


class Hand:
    """What a person wants an environment to do at the next step.

    Attributes:
        wanted: The environment and the action, until that step.
        played: The environment whose last step was a person's, or None.
    """

    def __init__(self, task: Task) -> None:
        self.wanted: tuple[int, int] | None = None
        self.played: int | None = None
        self._task = task

    def want(self, env: int, action: int, num_envs: int, mask: Array | None) -> None:
        """Ask for an action of an environment's first seat.

        Args:
            env: The environment, from 0.
            action: The action.
            num_envs: N.
            mask: The packed bits of what is legal now, if the task tells.

        Raises:
            BadAction: It cannot be taken.
        """
        task = self._task
        if task.action.shape:
            raise BadAction("only environments whose action is one number can be played by hand")
        if not 0 <= env < num_envs:
            raise BadAction(f"environments are numbered 1 to {num_envs:,}, got {env + 1}")
        if not 0 <= action < task.num_actions:
            raise BadAction(f"actions are numbered 0 to {task.num_actions - 1:,}, got {action}")
        if mask is not None and not _is_legal(mask, action):
            raise BadAction(f"action {action} is not legal now; choose another")
        self.wanted = env, action

    def play(self, buffer: Buffers, slot: int) -> None:
        """Write the action into a slot that is about to be stepped, and keep the decision out of the loss.

        What the policy did before is worth what it then expected: its part of the episode ends here as if cut short,
        so no reward that the person finds is credited to it.
        """
        wanted, self.wanted, self.played = self.wanted, None, None
        if wanted is None or wanted[0] * self._task.players >= len(buffer["action"][slot]):
            return
        row = wanted[0] * self._task.players
        if self._task.masked and not _is_legal(buffer["action_mask"][slot, row], wanted[1]):
            return  # it was asked for while the step before was being made
        self.played = wanted[0]
        buffer["action"][slot, row] = wanted[1]
        buffer["active"][slot, row] = WAITS
        if not buffer["terminated"][slot, row] and not buffer["truncated"][slot, row]:
            buffer["truncated"][slot, row] = 1
            buffer["final_observation"][slot, row] = buffer["observation"][slot, row]


def _is_legal(mask: Array, action: int) -> bool:
    """Look an action up in packed bits."""
    return bool(mask[action // 8] >> action % 8 & 1)
