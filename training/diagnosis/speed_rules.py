"""Rules about speed: where the time goes, and what has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite, isnan
from statistics import median

import numpy as np

from ...backends.system.segment import human_bytes
from ..telemetry.knee import find_knee, marginal_efficiencies
from ..telemetry.records import Severity
from .evidence import Evidence
from .memory import LEAST, MIB, full_in, leaks
from .rules import SPEED, Measured, rule

SLOW_WINDOWS, LASTING = 3, 15
"""Windows that must be slow for a note, and for a warning."""
SLOW = 0.2
NOISE = 0.05
"""The share of all windows that may be as slow without a finding: other programs use the machine, too."""
MIN_WINDOWS = 30
"""A minute; before that, a short disturbance would be a finding."""
LEAST_ENVS, LEAST_STEP = 3, 5e-4
"""Environments that are compared, and seconds of a step of the slowest one, below which it is within the noise."""
MINUTE = 50
"""Samples, one per second, that a statement about a minute needs."""
LEAST_SAMPLES, MANY_SAMPLES = 36, 120
"""Samples, one every 5 s, in which memory must have grown, and that are looked at."""
STEADY, SWELLING = 0.7, 0.1
PHASES_OF = {
    "environment": (
        "the environments",
        "more workers, or a faster environment; more environments per worker do not help",
    ),
    "transport": ("waiting for workers", "environments of equal cost per worker; fewer workers than cores"),
    "inference": ("computing actions", "more environments per step, a smaller network, or a GPU"),
    "learner": ("learning", "fewer epochs, larger minibatches, a smaller network, a GPU, or `--ppo.overlap true`"),
    "python": ("the rest of the training loop", "profile the loop with py-spy"),
    "ranks": ("waiting for other ranks", "equal numbers of environments and equally fast machines"),
}
"""What to call the phases of a step, and what makes each faster."""
SCRIPT = (
    "the script's own code, not to its environments",
    "more environments or a faster simulator would not help; profile the script's update, for example with py-spy",
)
WORKS = {"render": "draws pictures", "save": "saves files", "log": "logs"}
NAMES = {"environment": "stepping the environments", "python": "the rest of the loop"}
"""What else the phases of a step are called."""
RECENT = 3
HANDOVER = 50e-6
"""Seconds per environment and step of a process: `AsyncVectorEnv` of environments that do nothing took 40 us."""
BUSY = 1.2
"""Programs that want to run, per core, from which on they are named."""


@rule(
    "throughput-fell",
    SPEED,
    Severity.WARNING,
    sentence="throughput is {fps:,.0f}/s, {value:.0%} below the median of {usual:,.0f}/s{grew}{busy}",
    why="The same training takes longer than it did.",
    advice="look at the timing (key t) for the phase that grew, and at `top` for other programs",
    threshold=SLOW,
    unit="below the median, in 3 windows of 2 s",
    source="our measurement: and below all but the slowest 5 % of the windows",
    needs="30 windows at the present N, a minute; a note only while other programs use the cores, or for 30 s",
)
def throughput_fell(evidence: Evidence) -> Iterator[Measured]:
    """The fps of the last windows are below the median of all windows, and below nearly all others."""
    windows = evidence.windows
    if len(windows) >= MIN_WINDOWS:
        fps, usual = max(windows[-SLOW_WINDOWS:]), median(windows)
        lasting = max(windows[-LASTING:]) < usual * (1 - SLOW)
        noisy = float(np.quantile(windows[:-SLOW_WINDOWS], NOISE))
        if fps < noisy:
            text = busy(os.getloadavg()[0], os.cpu_count() or 1)
            severity = Severity.WARNING if lasting and not text else Severity.NOTE
            numbers = {"fps": fps, "usual": usual, "grew": grew(evidence.costs), "busy": text}
            yield Measured(1 - fps / usual, numbers, curve="fps", severity=severity)


def grew(costs: Sequence[Mapping[str, float]]) -> str:
    """Return which phase takes most of the added time, if that is known."""
    if len(costs) <= 2 * RECENT:
        return ""
    recent, before = list(costs)[-RECENT:], list(costs)[:-RECENT]
    added = {phase: median(one[phase] for one in recent) - median(one[phase] for one in before) for phase in recent[0]}
    phase = max(added, key=added.__getitem__)
    return f"; {NAMES.get(phase) or PHASES_OF.get(phase, (phase,))[0]} grew most" if added[phase] > 0 else ""


def busy(load: float, cores: int) -> str:
    """Return that many programs use the machine, if so."""
    return f"; {load:.0f} programs want to run on {cores} cores" if load > BUSY * cores else ""


@rule(
    "time-goes-to-one-phase",
    SPEED,
    Severity.NOTE,
    sentence="{value:.0%} of the time goes to {what}",
    why="Only what takes most of the time is worth making faster, and more environments help only if that is the "
    "environments.",
    advice="look at the timing (key t)",
    threshold=0.6,
    unit="of the training's time",
    source="our choice: more than all other phases together",
    needs="two iterations",
)
def time_goes_to_one_phase(evidence: Evidence) -> Iterator[Measured]:
    """One phase of a step takes most of the time."""
    known = {phase: share for phase, share in evidence.shares.items() if phase in PHASES_OF}
    if known:
        phase = max(known, key=known.__getitem__)
        what, advice = PHASES_OF[phase]
        if evidence.watched and phase == "python":
            what, advice = SCRIPT
        yield Measured(known[phase], {"what": what}, curve="sps", advice=advice)


@rule(
    "beyond-the-knee",
    SPEED,
    Severity.NOTE,
    sentence="{envs:,} environments are beyond the knee at N = {knee:,}",
    why="Beyond the knee an added environment brings less than half of what one alone does.",
    advice="restart with fewer environments (keys [ and {)",
    threshold=1.0,
    unit="times the N of the knee",
    source="the definition of the knee (docs/benchmarks.md)",
    needs="the fps at N = 1 and at two other N (key v measures them)",
)
def beyond_the_knee(evidence: Evidence) -> Iterator[Measured]:
    """There are more environments than pay off on this machine."""
    knee = find_knee(evidence.scaling)
    if knee is not None and len(evidence.scaling) > 2 and knee.following is not None:
        yield Measured(evidence.num_envs / max(1, knee.most), {"envs": evidence.num_envs, "knee": knee.most})


@rule(
    "below-the-knee",
    SPEED,
    Severity.NOTE,
    sentence="{envs:,} environments are the most that was measured, and the last ones still brought {value:.0f} % each",
    why="More environments would make more frames per second on this machine.",
    advice="restart with more environments (keys ] and }), or `pac-tui tune`",
    threshold=50.0,
    unit="% of what one environment alone brings",
    source="the definition of the knee (docs/benchmarks.md)",
    needs="the fps at N = 1 and at two other N (key v measures them)",
)
def below_the_knee(evidence: Evidence) -> Iterator[Measured]:
    """Environments that were added last pay off, and nobody has measured more of them."""
    efficiencies = marginal_efficiencies(evidence.scaling)
    if (
        efficiencies
        and isfinite(efficiencies[-1])
        and len(evidence.scaling) > 2
        and evidence.scaling[-1].num_envs == evidence.num_envs
    ):
        yield Measured(efficiencies[-1], {"envs": evidence.num_envs}, curve="fps")


@rule(
    "environments-in-turn",
    SPEED,
    Severity.NOTE,
    sentence="the {envs:,} environments step one after the other: on {cores} cores, processes could make the script "
    "up to {value:.1f} times as fast",
    why="Environments that compute for long only use one core while each waits for the one before it.",
    advice="gymnasium.vector.AsyncVectorEnv, or Stable-Baselines3's SubprocVecEnv; `pac-tui tune --task ID` measures a "
    "registered environment at other N and in worker processes",
    threshold=1.3,
    unit="times the speed",
    source="our choice; computed from the time in the environments, the cores, and 50 us per environment and step",
    needs="a minute of a watched script whose environments are in one process",
)
def environments_in_turn(evidence: Evidence) -> Iterator[Measured]:
    """Processes would divide the time of the environments by the number of cores."""
    envs, cores = evidence.num_envs, evidence.cores
    if evidence.in_turn and min(envs, cores) > 1 and len(evidence.windows) >= MIN_WINDOWS:
        step, share = envs / median(evidence.windows), evidence.shares.get("environment", 0.0)
        beside = share * step / min(envs, cores) + HANDOVER * envs
        yield Measured(step / ((1 - share) * step + beside), {"envs": envs, "cores": cores}, curve="fps")


@rule(
    "one-slow-worker",
    SPEED,
    Severity.NOTE,
    sentence="worker {worker} computes {value:.1f} times as much as the others, who wait for it",
    why="A step of all environments takes as long as its slowest worker.",
    advice="look at its environments and its output (keys w, o); deal environments of unequal cost out evenly",
    threshold=1.5,
    unit="times the median CPU time of the workers",
    source="our choice",
    needs="3 workers, one of them with 5 s of CPU time; also of `AsyncVectorEnv` and `SubprocVecEnv` in scripts",
)
def one_slow_worker(evidence: Evidence) -> Iterator[Measured]:
    """A worker has used much more CPU time than the others."""
    for sample in list(evidence.machine.recent.copy())[-1:]:
        yield Measured(sample.slowest, {"worker": sample.worker + 1})


@rule(
    "one-slow-environment",
    SPEED,
    Severity.NOTE,
    sentence="a step of env {env} takes {seconds:.2g} s, {value:.1f} times as long as one of the others",
    why="If environments are stepped one after the other, all wait for the slowest one.",
    advice="look at what differs in this environment: its parameters, its level, what it writes or renders",
    threshold=3.0,
    unit="times the median of the environments",
    source="our choice",
    needs="3 environments that a script steps one by one, 50 timed steps of each, and 0.5 ms for one of the slowest",
)
def one_slow_environment(evidence: Evidence) -> Iterator[Measured]:
    """The median step of one environment takes much longer than that of the others."""
    known = evidence.stepped.timed
    if len(known) >= LEAST_ENVS and min(map(len, known.values())) >= MINUTE:
        timed = {env: median(seconds) for env, seconds in known.items()}
        slowest = max(timed, key=timed.__getitem__)
        usual = median(timed.values())
        if timed[slowest] > LEAST_STEP and usual > 0:
            yield Measured(timed[slowest] / usual, {"env": slowest + 1, "seconds": timed[slowest]}, slowest)


@rule(
    "too-many-threads",
    SPEED,
    Severity.NOTE,
    sentence="PyTorch computes with {threads} threads on {cores} cores",
    why="Threads that share a core wait for each other at the end of every operation.",
    advice="set OMP_NUM_THREADS, or `torch.set_num_threads`, to the number of cores or less; small networks are "
    "fastest with 1",
    threshold=1.0,
    unit="threads per usable core",
    source="the documentation of PyTorch: one thread per physical core",
    needs="PyTorch in the process",
)
def too_many_threads(evidence: Evidence) -> Iterator[Measured]:
    """PyTorch uses more threads than there are usable cores."""
    if evidence.threads:
        yield Measured(evidence.threads / evidence.cores, {"threads": evidence.threads, "cores": evidence.cores})


@rule(
    "gpu-idle",
    SPEED,
    Severity.NOTE,
    sentence="the GPU is busy for {value:.0f} % of the time",
    why="A GPU that waits for environments is no faster than a CPU.",
    advice="more environments per step, larger minibatches, or train on the CPU (`--device cpu`)",
    threshold=20.0,
    below=True,
    unit="% in the median of a minute",
    source="our choice",
    needs="a minute on a GPU whose utilization is known",
)
def gpu_idle(evidence: Evidence) -> Iterator[Measured]:
    """The GPU that the training uses is mostly idle."""
    known = [sample.gpu for sample in evidence.machine.recent.copy() if not isnan(sample.gpu)]
    if len(known) >= MINUTE:
        yield Measured(median(known))


@rule(
    "memory-grows",
    SPEED,
    Severity.WARNING,
    sentence="{what} grows by {rate} per minute: at this pace the machine is full in {left}",
    why="When memory is full, the system ends a process, most likely this one.",
    advice="look for lists that grow with each step or episode: stored observations, infos, tensors with their graph "
    "(`.item()` or `.detach()` what you keep)",
    threshold=3600.0,
    below=True,
    unit="s until the memory is full",
    source="our choice of an hour",
    needs="3 minutes in which memory grew nearly all the time, by a tenth or more",
)
def memory_grows(evidence: Evidence) -> Iterator[Measured]:
    """The memory of the training and its processes grows steadily, and would fill the machine within an hour."""
    samples = list(evidence.machine.hour.copy())[-MANY_SAMPLES:]
    if len(samples) < LEAST_SAMPLES:
        return
    sizes = [sample.rss for sample in samples]
    growing = sum(after > before for before, after in pairwise(sizes)) / (len(sizes) - 1)
    rate = (sizes[-1] - sizes[0]) / (samples[-1].now - samples[0].now)
    if growing >= STEADY and sizes[-1] > (1 + SWELLING) * sizes[0] and rate > 0:
        left = samples[-1].available / rate
        minutes = f"{left / 60:,.0f} minutes"
        largest = evidence.machine.memory.largest
        what = "memory" if largest is None else f"memory, most of all that of {largest.name},"
        yield Measured(left, {"rate": human_bytes(60 * rate), "left": minutes, "what": what})


@rule(
    "worker-leaks",
    SPEED,
    Severity.WARNING,
    sentence="the memory of {who} grows by {value:.1f} MiB per minute, and the machine is full in {left}",
    why="When memory is full, the system ends a process, most likely this one.",
    advice="press M for its memory over time; `pac-tui memory RUN --lines` names the lines that keep memory. Look for "
    "lists, caches and histories in the environment that `reset` does not empty",
    threshold=LEAST / MIB,
    unit="MiB per minute",
    source="our choice: 720 MiB per day. The rate is the median of the slopes between all pairs of points (Theil 1950, "
    "Sen 1968)",
    needs="two minutes of a process beside others that do the same; 195 s if all grow, or if there is one only",
)
def worker_leaks(evidence: Evidence) -> Iterator[Measured]:
    """The own memory of a process that steps environments grows in each part of the time, and faster than others'."""
    samples = evidence.machine.recent
    available = samples[-1].available if samples else 0
    for leak in leaks(evidence.machine.memory.processes):
        first, count = leak.processes[0], len(leak.processes)
        who = f"each of {count} processes" if count > 1 else f"{first.name} ({first.steps})"
        numbers = {"who": who, "left": full_in(available, count * leak.rate)}
        alone = count == 1 and first.envs[1] - first.envs[0] == 1
        yield Measured(leak.rate / MIB, numbers, first.envs[0] if alone else -1)


@rule(
    "swapping",
    SPEED,
    Severity.WARNING,
    sentence="the machine swaps {value:,.0f} pages per second",
    why="Memory on a disk is a thousand times slower than memory.",
    advice="fewer environments or a smaller replay; end other programs",
    threshold=200.0,
    unit="pages per second in the median of a minute",
    source="our choice",
    needs="a minute",
)
def swapping(evidence: Evidence) -> Iterator[Measured]:
    """The machine moves memory to and from the disk all the time."""
    known = [sample.swapped for sample in evidence.machine.recent.copy()]
    if len(known) >= MINUTE:
        yield Measured(median(known))


@rule(
    "cpu-quota-used-up",
    SPEED,
    Severity.NOTE,
    sentence="the container's CPU quota is used up: processes stand still for {value:.0%} of the time",
    why="Threads beyond the quota do not compute faster; all stand still together until the next period.",
    advice="fewer workers and threads, or a larger quota",
    threshold=0.1,
    unit="s of standing still per second, all cores together, in the median of a minute",
    source="our choice",
    needs="a minute in a control group with a quota",
)
def cpu_quota_used_up(evidence: Evidence) -> Iterator[Measured]:
    """The control group throttles the processes of the training."""
    known = [sample.throttled for sample in evidence.machine.recent.copy()]
    if len(known) >= MINUTE:
        yield Measured(median(known))


@rule(
    "inner-loop-works",
    SPEED,
    Severity.WARNING,
    sentence="the script {does} in its inner loop: in {value:.0%} of the samples of the last minute",
    why="What happens at every step costs as often as there are steps.",
    advice="do it every so many steps or episodes, or in another process",
    threshold=0.3,
    unit="of the last minute's seconds",
    source="our choice",
    needs="a minute of a watched script; what is drawn for viewers does not count",
)
def inner_loop_works(evidence: Evidence) -> Iterator[Measured]:
    """The thread that steps the environments is often found drawing, saving or logging."""
    shares, count = evidence.machine.shares(), len(evidence.machine.work)
    if evidence.watched and count >= MINUTE:
        for kind, does in WORKS.items():
            yield Measured(shares[kind] / count, {"does": does})
