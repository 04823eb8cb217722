"""Environments whose steps a test writes into a buffer itself."""

from pac.backends.core.layout import Layout
from pac.envs import Field
from pac.envs.fields import DECIDES
from pac.training.telemetry.blocks import TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.trainer import PolicyOutput

from ...toys import FACTS, toy

TASK = toy(shape=(1,), boards=(Field("board", "uint8", (2, 2), timed=False),))
N = 4


def segment(folder):
    """Return the writer of a new telemetry segment for these environments."""
    return TelemetryWriter(describe(TASK, **FACTS), N, 1, folder)


class Source:
    """A buffer of `N` environments and five slots."""

    workers = ()

    def __init__(self):
        self.buffer = Layout(TASK, N, slots=5).map()
        self.buffer["episode"][:] = 0
        self.buffer.order.begin(0)

    def save(self, _slot):
        return False

    def step(self, **fields):
        """Make a step with one decision and one frame in each environment, and these results."""
        if self.buffer.order.full:
            self.buffer.carry()
        slot = self.buffer.order.next(self.buffer.order.newest)
        self.buffer.order.wrote(slot)
        for name, values in {"active": DECIDES, "frames": 1, "episode_length": slot, **fields}.items():
            self.buffer[name][slot if len(self.buffer[name]) > 1 else 0] = values


class Policy:
    """Prefers action 2."""

    def inspect(self, row):
        return PolicyOutput(0.1 * row, 1.5, [2], [1.0])

    def values(self, _slots):
        return None
