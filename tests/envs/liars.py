"""The bottle game with one promise broken each."""

from __future__ import annotations

import os

from pac.envs import next_slot
from pac.envs.driver import NativeEnvironments
from pac.envs.drmario.driver import GAME


class Liar(NativeEnvironments):
    """Plays as it should, then spoils the slot it wrote."""

    def __init__(self, task, lo, hi, buffers, seed):
        super().__init__(task, lo, hi, buffers, seed, game=GAME)
        self.buffers = buffers

    def step(self, slot):
        super().step(slot)
        self.spoil(next_slot(slot, len(self.buffers["action"])))

    def spoil(self, slot):
        raise NotImplementedError


class Generous(Liar):
    def spoil(self, slot):
        self.buffers["reward"][slot, self.lo : self.hi] += 1


class Forgetful(Liar):
    def spoil(self, slot):
        self.buffers["observation"][slot, self.lo] ^= os.urandom(1)[0] | 1


class Stingy(Liar):
    def spoil(self, slot):
        self.buffers["action_mask"][slot, self.lo : self.hi] = 0


class Wild(Liar):
    def spoil(self, slot):
        self.buffers["reward"][slot, self.lo] = float("inf")


class Amnesiac(Liar):
    def spoil(self, slot):
        self.buffers["outcome"][slot, self.lo : self.hi] = 0
