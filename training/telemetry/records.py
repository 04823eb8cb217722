"""The records of the telemetry, and their enumerations."""

from __future__ import annotations

from enum import IntEnum

from ...backends.core.status import EnvStatus
from ..trainer import PHASES
from .declared import (
    AMOUNT,
    ANY,
    FLAG,
    FROM_0,
    FROM_NONE,
    OUTCOME,
    RATE,
    SHARE,
    TIME,
    Range,
    Record,
    number,
    one_of,
    several,
    text,
)

WAITING, RECORDING = 1, 2
METRIC_NAME_BYTES = 96
TOP_ACTIONS, CRITICS = 8, 2
MAX_BREAKPOINTS = 32
MAX_EPISODES = 1000
MAX_LANES, MAX_PHASES, MAX_LAPS = 24, 8, 256
MAX_SPANS, MAX_WAITS, MAX_SLOW = 8192, 256, 16
"""Times of workers and environments, steps, and environments that are waited for most."""
MESSAGE_BYTES = 480
MAX_ACTION_NUMBERS = 32
"""Of a continuous action, so many are published."""
MAX_STEPS_BACK = 500
"""Steps that a viewer can go back."""
MAX_FINDINGS = 64
TERMINATED, TRUNCATED = 1, 2
BINS, MAX_SPREADS = 24, 32
"""Bins of a histogram, and the most numbers of an action or an observation that have one."""


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
    """A problem was found here in the running episode."""
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


class Severity(IntEnum):
    """How grave a finding is."""

    NOTE = 0
    """Worth knowing: usual in some trainings that learn."""
    WARNING = 1
    """A training with it learns or runs worse than it could."""
    FAULT = 2
    """What is learned is being lost, or soon will be."""


STATE = Record(
    number("phase", "u1", one_of(Phase)),
    number("num_envs", "u4", ANY),
    number("target_envs", "u4", ANY),  # what a restart in progress goes to
    number("steps", "u8", ANY),  # environment steps (decisions), all environments
    number("frames", "u8", ANY),
    number("episodes", "u8", ANY),
    number("iterations", "u8", ANY),
    number("started", "f8", TIME),  # s since the epoch
    number("now", "f8", TIME),  # when this was written, s since the epoch
    number("training_seconds", "f8", TIME),  # without pauses and restarts
    number("fps", "f8", ANY),
    number("sps", "f8", ANY),
    number("speed", "f8", ANY),  # limit in steps/s of all environments together, 0 = none
    number("credits", "u8", ANY),  # steps left before the pause
    number("baseline", "f8", ANY),  # fps at N = 1, NaN if not known
    number("baseline_when", "f8", ANY),  # when a remembered one was measured, s since the epoch; else NaN
    number("progress", "f8", SHARE),  # of what the message names; NaN if unknown
    number("limit", "f8", SHARE),  # of the run's own limit, NaN without one
    number("return_mean", "f8", ANY),  # over the last 100 episodes
    number("length_mean", "f8", ANY),
    text("message", MESSAGE_BYTES),
    text("backend", 24),
    text("device", 24),
)
TIMES = Record(*(number(name, "f8", AMOUNT) for name in ("wall", "steps", *PHASES)))  # s and steps of one window
SYSTEM = Record(
    number("cores", "u4", ANY),  # that this session may use
    number("cpu", "f4", ANY),  # % of one core, session and workers together
    number("cpu_machine", "f4", ANY),  # % of the machine
    number("shown", "f4", ANY),  # % of one core, what session and workers publish and draw for viewers; part of "cpu"
    number("rss", "u8", ANY),  # bytes, session and workers together
    number("memory", "u8", ANY),
    number("memory_used", "u8", ANY),
    number("shm", "u8", ANY),  # bytes of shared memory that this session holds
    number("gpus", "u1", ANY),
    number("gpu", "f4", ANY),  # %, NaN where it is not known, as of a MIG instance
    number("vram", "u8", ANY),
    number("vram_total", "u8", ANY),  # 0 where it is not known
    text("gpu_name", 48),
    number("learning", "u1", FLAG),  # whether the training thread computes outside of the environments
    number("pulse", "f8", TIME),  # when this was written, s since the epoch
)
ENVIRONMENT = Record(
    number("episode", "i8", ANY),  # number of the running episode, from 0
    number("episode_return", "f4", ANY),
    number("episode_length", "i4", ANY),
    number("last_return", "f4", ANY),  # NaN before the first end
    number("last_length", "i4", ANY),
    number("last_outcome", "u1", OUTCOME),  # 0 none yet
    number("ended", "f8", TIME),  # s since the epoch, 0 before the first end
    number("action", "i4", ANY),  # -1 where the seat waited, and where the block "actions" has several numbers
    number("reward", "f4", ANY),
    number("frames", "i4", ANY),  # of the last step
    number("status", "u1", one_of(EnvStatus)),
    number("notice", "u1", one_of(Notice)),
    number("recording", "u1", Range(0, RECORDING)),  # 0 no, 1 from its next episode on, 2 yes
    number("worker", "i4", ANY),
)
EPISODE = Record(
    number("number", "i8", ANY),  # of all episodes that ended, from 1; 0 in rows that are not used
    number("env", "i4", FROM_0),
    number("episode", "i8", FROM_0),  # of this environment, from 0
    number("ret", "f4", ANY),  # of the first seat
    number("length", "i4", ANY),  # steps
    number("outcome", "u1", OUTCOME),
    number("end", "u1", Range(0, TRUNCATED)),  # how it ended
    number("time", "f8", TIME),  # s since the epoch
)
POLICY = Record(  # a `PolicyOutput`
    number("env", "i4", ANY),  # -1: nothing watched
    number("seat", "u2", ANY),  # from 0
    number("value", "f4", ANY),
    number("entropy", "f4", ANY),
    several("actions", "i4", ANY, TOP_ACTIONS),
    several("probabilities", "f4", ANY, TOP_ACTIONS),
    several("means", "f4", ANY, MAX_ACTION_NUMBERS),
    several("deviations", "f4", ANY, MAX_ACTION_NUMBERS),
    several("values", "f4", ANY, TOP_ACTIONS),
    several("ranges", "f4", ANY, TOP_ACTIONS, (2,)),
    number("epsilon", "f4", ANY),
    several("critics", "f4", ANY, CRITICS),
)
PROCESS = Record(  # a `ProcessStatus`
    text("role", 8),  # worker, actor, learner or rank; empty in rows that are not used
    number("index", "u4", ANY),  # among the processes of this role, from 0
    text("name", 40),  # empty if it has only a number
    number("pid", "i4", ANY),
    text("device", 24),  # empty if unknown
    number("first_env", "u4", ANY),  # of a worker
    number("end_env", "u4", ANY),
    text("state", 12),
    number("count", "u8", ANY),  # steps of a worker or actor, updates of a learner or rank, since its start
    number("rate", "f4", RATE),  # of these per second, NaN if unknown
    number("heartbeat", "f4", RATE),  # s since its last sign of life
    number("restarts", "u4", ANY),
    number("cpu", "f4", RATE),  # % of one core
    number("rss", "u8", ANY),  # bytes
    text("error", 240),
)
LANE = Record(
    text("name", 40),  # empty in rows that are not used
    number("pid", "i4", ANY),
    text("phases", 16, (MAX_PHASES,)),
    number("count", "u4", Range(0, MAX_LAPS)),  # of laps, oldest first
    number("phase", "u1", Range(0, MAX_PHASES - 1), (MAX_LAPS,)),  # index into phases
    number("begin", "f8", TIME, (MAX_LAPS,)),  # s of the monotonic clock
    number("end", "f8", TIME, (MAX_LAPS,)),
)
SPAN = Record(  # of a worker or an environment in one of the last steps, see `WorkerTimes`
    number("worker", "u2", ANY),
    number("env", "i4", FROM_NONE),  # -1: all of the worker's
    number("begin", "f8", TIME),  # s of the monotonic clock
    number("end", "f8", TIME),  # 0 in rows that are not used
)
WAIT = Record(  # a `Waited`: of what ended a step
    number("worker", "u2", ANY),  # the last to arrive
    number("end", "f8", TIME),  # when it did; 0 in rows that are not used
    number("late", "f8", AMOUNT),  # s after the worker before it
    number("env", "i4", FROM_NONE),  # its slowest environment; -1 if environments were not timed
    number("seconds", "f8", AMOUNT),
)
SLOW = Record(  # a `Slow`; rows that are not used have no steps
    number("worker", "i4", FROM_NONE),  # of a worker; -1 of an environment
    number("env", "i4", FROM_NONE),
    number("steps", "u4", ANY),  # in which it was waited for
    number("of", "u4", ANY),  # steps of which that is known
    number("seconds", "f8", AMOUNT),  # its median time in these steps
    number("usual", "f8", AMOUNT),  # the median of all workers or environments
)
EVENT = Record(
    number("number", "u8", ANY),
    number("time", "f8", TIME),
    number("level", "u1", one_of(Level)),
    number("env", "i4", FROM_NONE),
    text("text", 240),
)
FINDING = Record(  # a `Finding`
    number("number", "u4", ANY),  # from 1; 0 in rows that are not used
    text("rule", 32),
    number("severity", "u1", one_of(Severity)),
    text("text", 240),
    text("advice", 320),
    number("value", "f8", ANY),
    number("threshold", "f8", ANY),
    number("step", "u8", ANY),  # the environment step at which it began, all environments
    number("began", "f8", TIME),  # s since the epoch
    number("ended", "f8", TIME),  # 0 while it lasts
    number("env", "i4", FROM_NONE),
    text("curve", METRIC_NAME_BYTES),
)
SPREAD = Record(  # a histogram: the numbers between the two ends
    number("low", "f4", ANY),
    number("high", "f4", ANY),
    number("counts", "u4", ANY, (BINS,)),
)
AUDIENCE = Record(number("viewers", "u4", ANY), number("controller", "u4", ANY), text("name", 48))  # 0: no controller
SCALING = Record(
    number("num_envs", "u4", ANY),
    number("samples", "u4", ANY),
    *(number(name, "f8", AMOUNT) for name in ("fps", "low", "high", "seconds")),
)
BREAKPOINT = Record(
    number("number", "u4", ANY),  # from 1; 0 in rows that are not used
    number("on", "u1", FLAG),
    number("hits", "u8", ANY),
    number("env", "i4", FROM_NONE),  # where it hit last, -1 before
    text("text", 200),
)
CHANGE = Record(  # of a setting; rows that are not used have no name
    text("name", 64),
    text("before", 128),
    text("after", 128),
    number("steps", "u8", ANY),
    number("seconds", "f8", TIME),
    number("frames", "u8", ANY),
)
LINE = Record(  # an environment's `RecentSteps`
    number("env", "i4", ANY),
    number("seat", "u2", ANY),
    number("now", "i8", ANY),
    several("ends", "u1", Range(0, TRUNCATED), MAX_STEPS_BACK),
    several("rewards", "f4", ANY, MAX_STEPS_BACK),
    several("values", "f4", ANY, MAX_STEPS_BACK),
    several("entropies", "f4", ANY, MAX_STEPS_BACK),
    several("actions", "f4", ANY, MAX_STEPS_BACK),
)
