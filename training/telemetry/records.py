"""The dtypes of the telemetry's blocks, and their enumerations."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ..trainer import PHASES

WAITING, RECORDING = 1, 2
METRIC_NAME_BYTES = 96
TOP_ACTIONS = 8
MAX_BREAKPOINTS = 32
MAX_EPISODES = 1000
MAX_LANES, MAX_PHASES, MAX_LAPS = 24, 8, 256
MESSAGE_BYTES = 480
MAX_ACTION_NUMBERS = 32
"""Of a continuous action, so many are published."""


class Phase(IntEnum):
    """What a session is doing."""

    STARTING = 0
    RUNNING = 1
    PAUSED = 2
    RESTARTING = 3
    BASELINE = 4
    STOPPING = 5
    ENDED = 6
    FAILED = 7
    DISCONNECTED = 8
    """Of a session of another machine: what is shown is the last that came."""

    @property
    def over(self) -> bool:
        """Whether the session has ended."""
        return self in {Phase.ENDED, Phase.FAILED}


class Notice(IntEnum):
    """What viewers show at an environment."""

    NOTHING = 0
    BREAK = 1
    """A breakpoint hit here at the last step."""
    ALARM = 2
    """An alarm was raised here in the running episode."""
    PLAYED = 3
    """A person made its last step."""


class Level(IntEnum):
    """The severity of an event."""

    INFO = 0
    GOOD = 1
    WARNING = 2
    ERROR = 3
    FATAL = 4
    """The session ends because of it."""


STATE = np.dtype(
    [
        ("phase", "u1"),
        ("num_envs", "u4"),
        ("target_envs", "u4"),  # what a restart in progress goes to
        ("steps", "u8"),  # environment steps (decisions), all environments
        ("frames", "u8"),
        ("episodes", "u8"),
        ("iterations", "u8"),
        ("started", "f8"),  # s since the epoch
        ("now", "f8"),  # when this was written, s since the epoch
        ("training_seconds", "f8"),  # without pauses and restarts
        ("fps", "f8"),
        ("sps", "f8"),
        ("speed", "f8"),  # limit in steps/s of all environments together, 0 = none
        ("credits", "u8"),  # steps left before the pause
        ("baseline", "f8"),  # median fps at N = 1, NaN if not measured
        ("progress", "f8"),  # of what the message names, 0 to 1; NaN if unknown
        ("limit", "f8"),  # 0 to 1 of the run's own limit, NaN without one
        ("return_mean", "f8"),  # over the last 100 episodes
        ("length_mean", "f8"),
        ("message", f"S{MESSAGE_BYTES}"),
        ("backend", "S24"),
        ("device", "S24"),
    ]
)
TIMES = np.dtype([("wall", "f8"), ("steps", "f8"), *((phase, "f8") for phase in PHASES)])  # s and steps of one window
SYSTEM = np.dtype(
    [
        ("cores", "u4"),  # that this session may use
        ("cpu", "f4"),  # % of one core, session and workers together
        ("cpu_machine", "f4"),  # % of the machine
        ("rss", "u8"),  # bytes, session and workers together
        ("memory", "u8"),
        ("memory_used", "u8"),
        ("shm", "u8"),  # bytes of shared memory that this session holds
        ("gpus", "u1"),
        ("gpu", "f4"),  # %, NaN where it is not known, as of a MIG instance
        ("vram", "u8"),
        ("vram_total", "u8"),  # 0 where it is not known
        ("gpu_name", "S48"),
        ("learning", "u1"),  # whether the training thread computes outside of the environments
        ("pulse", "f8"),  # when this was written, s since the epoch
    ]
)
ENVIRONMENT = np.dtype(
    [
        ("episode", "i8"),  # number of the running episode, from 0
        ("episode_return", "f4"),
        ("episode_length", "i4"),
        ("last_return", "f4"),  # NaN before the first end
        ("last_length", "i4"),
        ("last_outcome", "u1"),  # 0 none yet, else 1 + index into the outcomes
        ("ended", "f8"),  # s since the epoch, 0 before the first end
        ("action", "i4"),  # -1 where the seat waited, and where the block "actions" has several numbers
        ("reward", "f4"),
        ("frames", "i4"),  # of the last step
        ("status", "u1"),
        ("notice", "u1"),
        ("recording", "u1"),  # 0 no, 1 from its next episode on, 2 yes
        ("worker", "i4"),
    ]
)
EPISODE = np.dtype(
    [
        ("number", "i8"),  # of all episodes that ended, from 1; 0 in rows that are not used
        ("env", "i4"),
        ("episode", "i8"),  # of this environment, from 0
        ("ret", "f4"),  # of the first seat
        ("length", "i4"),  # steps
        ("outcome", "u1"),  # 0 none, else 1 + index into the outcomes
        ("end", "u1"),  # 1 terminated, 2 truncated
        ("time", "f8"),  # s since the epoch
    ]
)
POLICY = np.dtype(
    [
        ("env", "i4"),  # -1: nothing watched
        ("seat", "u2"),  # from 0
        ("value", "f4"),
        ("entropy", "f4"),
        ("count", "u1"),
        ("actions", "i4", (TOP_ACTIONS,)),
        ("probabilities", "f4", (TOP_ACTIONS,)),
        ("numbers", "u1"),
        ("means", "f4", (MAX_ACTION_NUMBERS,)),
        ("deviations", "f4", (MAX_ACTION_NUMBERS,)),
        ("valued", "u1"),  # values of actions
        ("values", "f4", (TOP_ACTIONS,)),
        ("ranged", "u1"),
        ("ranges", "f4", (TOP_ACTIONS, 2)),
        ("epsilon", "f4"),
    ]
)
PROCESS = np.dtype(
    [
        ("role", "S8"),  # worker, actor, learner or rank; empty in rows that are not used
        ("index", "u4"),  # among the processes of this role, from 0
        ("name", "S40"),  # empty if it has only a number
        ("pid", "i4"),
        ("device", "S24"),  # empty if unknown
        ("first_env", "u4"),  # of a worker
        ("end_env", "u4"),
        ("state", "S12"),
        ("count", "u8"),  # steps of a worker or actor, updates of a learner or rank, since its start
        ("rate", "f4"),  # of these per second, NaN if unknown
        ("heartbeat", "f4"),  # s since its last sign of life
        ("restarts", "u4"),
        ("cpu", "f4"),  # % of one core
        ("rss", "u8"),  # bytes
        ("error", "S240"),
    ]
)
LANE = np.dtype(
    [
        ("name", "S40"),  # empty in rows that are not used
        ("pid", "i4"),
        ("phases", "S16", (MAX_PHASES,)),
        ("count", "u4"),  # of laps, oldest first
        ("phase", "u1", (MAX_LAPS,)),  # index into phases
        ("begin", "f8", (MAX_LAPS,)),  # s of the monotonic clock
        ("end", "f8", (MAX_LAPS,)),
    ]
)
EVENT = np.dtype([("number", "u8"), ("time", "f8"), ("level", "u1"), ("env", "i4"), ("text", "S240")])
AUDIENCE = np.dtype([("viewers", "u4"), ("controller", "u4"), ("name", "S48")])  # controller 0: no viewer has control
SCALING = np.dtype(
    [("num_envs", "u4"), ("samples", "u4"), ("fps", "f8"), ("low", "f8"), ("high", "f8"), ("seconds", "f8")]
)
BREAKPOINT = np.dtype(
    [
        ("number", "u4"),  # from 1; 0 in rows that are not used
        ("on", "u1"),
        ("hits", "u8"),
        ("env", "i4"),  # where it hit last, -1 before
        ("text", "S200"),
    ]
)


def encode_clipped(text: str, size: int) -> bytes:
    """Return a text as at most `size` bytes of UTF-8; one that was cut ends with an ellipsis."""
    encoded, more = text.encode(errors="backslashreplace"), "…".encode()
    return encoded if len(encoded) <= size else encoded[: size - len(more)].decode(errors="ignore").encode() + more
