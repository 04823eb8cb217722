"""Compares every step of a device with the rules on the CPU, for `--device-sync`."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import FINAL_OBSERVATION, Array, Field
from ..core.errors import BackendError
from ..core.inline import InlineBackend
from ..core.stepping import Stepping


class DeviceDiffers(BackendError):
    """A device computed something else than the CPU."""

    title = "The device differs from the CPU"


class SyncCheck:
    """Repeats each step with `inline`, waits for the device, and compares every byte of every field.

    Args:
        envs: The environments on the device.

    Attributes:
        seconds: Time spent so far, in s.
        steps: Steps compared.
    """

    def __init__(self, envs: Stepping) -> None:
        self._envs = envs
        self._inline = InlineBackend(envs.task, envs.environments, seed=envs.seed)
        self.seconds, self.steps = 0.0, 0

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the same episodes, and compare their first observations."""
        if self._inline.order.head:
            self._inline.reset(options={"reset_mask": np.repeat(mask, self._envs.task.players)})
        else:
            self._inline.start()
        self._compare(slot)

    def restore(self, states: Array, slot: int) -> None:
        """Continue from the same states, and compare their observations."""
        self._inline.restore(states)
        self._compare(slot, fields=("observation", "action_mask", "state", "episode"))

    def step(self, slot: int, following: int) -> None:
        """Repeat the step of `slot`, and compare the results.

        Raises:
            DeviceDiffers: A field differs.
            IllegalAction: An action is out of range or masked.
        """
        begun = time.perf_counter()
        self._inline.buffer["action"][0] = self._envs.buffer["action"][slot]
        self._inline.advance(0)
        self.steps += 1
        self._compare(following)
        self.seconds += time.perf_counter() - begun

    def report(self) -> str:
        """Return what the comparison has cost so far."""
        mean = 1e3 * self.seconds / max(1, self.steps)
        return f"device-sync: {self.steps:,} steps are equal to those of the CPU; comparing took {mean:.2f} ms per step"

    def close(self) -> None:
        """Release the environments on the CPU."""
        self._inline.close()

    def _compare(self, slot: int, fields: tuple[str, ...] = ()) -> None:
        for item in self._envs.task.fields:
            if item.name != "action" and (not fields or item.name in fields):
                self._compare_field(item, slot)

    def _compare_field(self, item: Field, slot: int) -> None:
        got = np.asarray(self._envs.buffer[item.name][slot if item.timed else 0])
        wanted = self._inline.buffer[item.name][0]
        differ = (got.view("u1") if got.ndim else got) != (wanted.view("u1") if got.ndim else wanted)
        rows = differ.reshape(len(got), -1).any(axis=1)
        if item.name == FINAL_OBSERVATION:  # those of other rows are older
            rows &= (self._inline.buffer["terminated"][0] | self._inline.buffer["truncated"][0]) > 0
        if rows.any():
            row = int(rows.argmax())
            env = row // (self._envs.task.players if item.per == "seat" else 1)
            raise DeviceDiffers(
                f"after {self.steps:,} steps, {item.name} of environment {env} is {got[row].tolist()}, "
                f"on the CPU it is {wanted[row].tolist()}"
            )
