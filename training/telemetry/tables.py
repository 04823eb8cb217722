"""Writes the blocks about all environments, the rates and the policy."""

from __future__ import annotations

import numpy as np

from ...backends.core.layout import Buffer
from ...envs import Task
from ...envs.fields import DECIDES, PLAYED, Array
from ...envs.task import first_seats
from ...envs.unknown import UNKNOWN
from ..trainer import PHASES, PolicyOutput, Saliency
from .blocks import TelemetryWriter
from .counts import Counts
from .moments import MOST_AXES, NOTE_BYTES, info_scalars
from .records import BINS, POLICY, TIMES
from .throughput import Mark, Throughput


def write_throughput(writer: TelemetryWriter, throughput: Throughput, now: Mark) -> None:
    """Write the time per phase of the last iterations, and the fps at every N."""
    first, last = throughput.span(now)
    phases = [end - begin for begin, end in zip(first.phases, last.phases, strict=True)]
    wall = max(last.seconds - first.seconds, sum(phases))  # two clocks, read one after the other
    with writer.write("times") as times:
        TIMES.put(times, {"wall": wall, "steps": last.steps - first.steps, **dict(zip(PHASES, phases, strict=True))})
    with writer.write("scaling") as block:
        block[:] = 0
        for index, entry in enumerate(throughput.scaling()[: len(block)]):
            block[index] = (entry.num_envs, entry.samples, entry.fps, entry.low, entry.high, entry.seconds)


def write_environments(
    writer: TelemetryWriter, task: Task, buffer: Buffer, slot: int, counts: Counts, **columns: Array | int
) -> None:
    """Write the state of all environments after the step that wrote `slot`; `columns` are columns not in the buffer."""
    players, num_envs = task.players, buffer.num_envs
    acted = buffer.order.acted(slot)
    with writer.write("environments") as table:
        table["episode"] = buffer["episode"][0]
        table["episode_return"] = buffer["episode_return"][slot, ::players]
        table["episode_length"] = buffer["episode_length"][slot]
        table["last_return"] = counts.ended["ret"]
        table["last_length"] = counts.ended["length"]
        table["last_outcome"] = counts.ended["outcome"]
        table["ended"] = counts.ended["time"]
        table["action"] = -1
        if not task.action.shape:
            decided = np.isin(buffer["active"][acted, ::players], (DECIDES, PLAYED))
            table["action"][decided] = buffer["action"][acted, ::players][decided]
        table["reward"] = buffer["reward"][slot, ::players]
        table["frames"] = buffer["frames"][slot]
        table["status"] = buffer["status"][0]
        for name, values in columns.items():
            table[name] = values
    with writer.write("actions") as actions:
        actions[:] = buffer["action"][acted, ::players].reshape(num_envs, -1)[:, : actions.shape[1]]
    with writer.write("info") as info:
        for index, item in enumerate(info_scalars(task)):
            info[:, index] = first_seats(task, buffer, item, slot)
    writer.put("terms", counts.terms[::players])
    writer.put("last_terms", counts.last_terms.reshape(num_envs, players, -1))
    writer.put("last_returns", counts.last_returns)
    writer.put("outcomes", counts.outcomes)


def write_policy(writer: TelemetryWriter, env: int, seat: int, output: PolicyOutput | None) -> None:
    """Write the policy's output for a seat of an environment, if there is one."""
    with writer.write("policy") as policy:
        POLICY.put(policy, {"env": -1, "seat": seat} if output is None else {**vars(output), "env": env, "seat": seat})


def write_saliency(writer: TelemetryWriter, env: int, seat: int, step: int, found: Saliency | None) -> None:
    """Write what the policy's choice for a seat depends on; that it is unknown, if there is nothing."""
    with writer.write("saliency") as record:
        record["env"], record["seat"], record["step"] = env, seat, step
        record["of"], record["chosen"], record["axes"] = b"", False, 0
        record["note"] = b"" if found is None else found.note.encode()[:NOTE_BYTES]
        if found is None or found.gradient.size > len(record["gradient"]) or found.gradient.ndim > MOST_AXES:
            return
        record["of"], record["axes"], record["named"] = found.of.encode(), found.gradient.ndim, found.named
        record["shape"][: found.gradient.ndim] = found.gradient.shape
        record["gradient"][: found.gradient.size] = found.gradient.ravel()
        if found.given is not None:
            record["given"][: found.given.size] = found.given.ravel()
        if found.action is not None:
            record["chosen"], record["action"] = True, found.action


def write_spread(spreads: Array, values: Array) -> None:
    """Write a histogram of each of the first numbers of vectors `(count, numbers)`, within the range that they have."""
    for spread, numbers in zip(spreads, values.T, strict=False):
        known = numbers[np.isfinite(numbers)].astype(np.float64)
        low, high = (known.min(), known.max()) if len(known) else (UNKNOWN, UNKNOWN)
        bins = (known - low) / ((high - low) or 1.0) * BINS
        spread["low"], spread["high"] = low, high
        spread["counts"] = np.bincount(bins.astype(np.intp).clip(0, BINS - 1), minlength=BINS)
