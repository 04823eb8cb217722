"""A running session in one line, and the report of an ended one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..training.runs.folder import RunFolder
from ..training.telemetry.records import Phase
from ..training.telemetry.snapshot import Snapshot
from ..training.trainers import trainer_kind
from ..training.units import RETURN, Units, first_of, plural
from .drawing.numbers import age, readable, whole

NEWLINE = "\n"
IDLE = 3.0
"""Seconds without a step from which on a user wonders what the training does."""
Progress: TypeAlias = tuple[float, float]
"""Seconds of training, and the fraction of the limit that is used up."""


def pause_of_steps(snapshot: Snapshot) -> str:
    """Return what a running training does instead of steps, `learning for 12 s`; an empty text if it steps."""
    idle = float(snapshot.system["pulse"]) - float(snapshot.state["now"])
    if snapshot.phase is not Phase.RUNNING or idle < IDLE:
        return ""
    step = snapshot.description.units.step
    return f"{'learning' if snapshot.system['learning'] else f'no {step}'} for {age(idle)}"


def progress_text(snapshot: Snapshot, start: Progress) -> str:
    """Return one line on a session, whose progress was `start` when it started or resumed."""
    state, about = snapshot.state, snapshot.description
    units = about.units
    head = f"{about.task} {about.trainer} {state['backend'] or about.backend} N={snapshot.num_envs:,}"
    if snapshot.phase is not Phase.RUNNING and state["message"]:
        return f"{head} · {state['message']}"
    if snapshot.phase is Phase.PAUSED:
        command = f"pac-tui attach {shlex.quote(about.run)}"
        return f"{head} · paused at {state[units.over]:,} {units.counted}; to show it: {command}"
    parts = [head, *_limit(state, start), f"{whole(state['fps'])} {units.fps}", f"{whole(state['sps'])} {units.sps}"]
    if state["episodes"] and units.episodes:
        parts += [f"return {state['return_mean']:.3f}", f"{state['episodes']:,} episodes"]
    goal = first_of(about.figures, snapshot.metrics)
    if goal != RETURN and goal.name in snapshot.metrics:
        parts.append(f"{goal.title} {readable(snapshot.metrics[goal.name])}")
    return " · ".join(parts)


def _limit(state: Mapping[str, Any], start: Progress) -> Iterator[str]:
    """Yield the progress of the run, and how long it will take."""
    seconds, share = state["training_seconds"], state["limit"]
    yield f"{seconds:.0f} s"
    if share > 0:
        yield f"{100 * min(1, share):.0f} %"
    if share > start[1]:
        yield f"ETA {(seconds - start[0]) * (1 - min(1, share)) / (share - start[1]):.0f} s"


def _of_it(report: Mapping[str, Any], units: Units) -> str:
    """Return which of a report's steps and seconds did not count towards its limit."""
    parts = []
    if report["discarded_steps"]:
        parts.append(f"{report['discarded_steps']:,} {plural(units.step)} of an unfinished rollout were discarded")
    if report["sweep_seconds"]:
        parts.append(f"{report['sweep_seconds']:.1f} s were the baseline or a sweep")
    return f" ({'; '.join(parts)})" if parts else ""


def report_text(report: Mapping[str, Any]) -> str:
    """Return a report as text."""
    kind = trainer_kind(report["trainer"])
    units = kind.units
    counted = f"{report['steps']:,} {plural(units.step)}, {report['frames']:,} {plural(units.frame)}"
    if units.episodes:
        ends = ", ".join(f"{count:,} {name}" for name, count in report["outcomes"].items() if count)
        counted += f", {report['episodes']:,} episodes{f' ({ends})' if ends else ''}"
    lines = [
        f"{report['task']} · {report['trainer']} · {report['backend']} · {report['device']} · N={report['num_envs']:,}",
        f"{counted} in {report['seconds']:.1f} s{_of_it(report, units)}",
        ", ".join(
            (
                f"{whole(report['fps'])} {units.fps}",
                f"{readable(report['fps_per_env'])} {units.fps} per {units.environment}",
                f"{whole(report['sps'])} {units.sps}",
            )
        ),
    ]
    if report["ranks"] > 1:
        total = f"{whole(report['ranks'] * report['sps'])} {units.sps}"
        lines.append(f"of rank 0; all {report['ranks']} ranks together {total}")
    if report["speedup"] is not None:
        lines.append(
            f"speedup {report['speedup']:.2f}x over one {units.environment}, efficiency {report['efficiency']:.0f} %"
        )
    if not units.episodes:
        known = [(item.title, report[item.name]) for item in kind.figures if report.get(item.name) is not None]
        lines += [", ".join(f"{title} {readable(value)}" for title, value in known)] if known else []
    elif report["return_mean"] is not None:
        lines.append(f"mean return {report['return_mean']:.3f} over the last 100 episodes")
    lines += [f"ended by {report['reason']}"] if report["reason"] else []
    lines += [f"event: {event.partition(NEWLINE)[0]}" for event in report["events"]]
    return "\n".join([*lines, *([f"run: {report['run']}", *_what_next(report["run"])] if report["run"] else [])])


def end_text(snapshot: Snapshot) -> str:
    """Return how a session that another process has started has ended, and how to continue it."""
    about = snapshot.description
    steps = f"{int(snapshot.state['steps']):,} {plural(about.units.step)}"
    return "\n".join([f"{about.run} has ended after {steps}", *_what_next(about.folder)])


def _what_next(folder: str) -> list[str]:
    """Return the commands that continue and measure a run, if it has a checkpoint."""
    if not folder or not RunFolder(Path(folder)).saved:
        return []
    name = shlex.quote(Path(folder).name)
    return [f"continue it: pac-tui run --resume {name}", f"measure it: pac-tui eval {name}"]
