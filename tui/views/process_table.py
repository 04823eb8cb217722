"""The table of the processes of a session: workers, the actor, learners."""

from __future__ import annotations

import numpy as np

from ...backends.system.segment import human_bytes
from ...training.telemetry.declared import decoded
from ...training.telemetry.metric_names import metric_name
from ...training.telemetry.processes import ProcessRole
from ...training.telemetry.snapshot import Snapshot
from ...training.units import plural
from ..drawing.numbers import NA, percent, readable, whole
from ..drawing.styles import FAINT, GREEN, MAGENTA, RED, TEXT, YELLOW, Row, fit, styled
from .number_rows import hint

COLUMNS = {
    "process": 17,
    "worker": 7,
    "node": 24,
    "pid": 8,
    "envs": 11,
    "state": 9,
    "steps/s": 10,
    "heartbeat": 11,
    "restarts": 10,
    "lag": 9,
    "replay": 8,
    "age": 8,
    "loss": 9,
    "epsilon": 9,
    "cpu": 7,
    "rss": 11,
    "device": 9,
}
"""All columns, from left to right, and their widths."""
LEARNING = ("lag", "replay", "age", "loss", "epsilon")
"""Columns that only learners have."""
LEFT_OUT = ("pid", "heartbeat", "envs", "restarts", "device", "rss", "state", "age")
"""Columns that are left out where there is no room for them, the first one first."""
STATES = {"ready": GREEN, "stepping": GREEN, "running": GREEN, "starting": YELLOW, "dead": MAGENTA, "hung": MAGENTA}
LEAST_ERROR = 10


def process_rows(snapshot: Snapshot, width: int, shown: slice) -> list[Row]:
    """Return the table of the processes `shown`, with its heading; with their roles, if there are several."""
    processes, units = snapshot.processes, snapshot.description.units
    if not len(processes):
        owner = "script" if snapshot.description.watched else "session"
        return hint(units.translate(f"no workers: the environments run in the {owner}'s own process"), width)
    columns = _columns(set(processes["role"].tolist()), width, nodes=bool(processes["device"].any()))
    words = {"envs": plural(units.env), "steps/s": f"{plural(units.step)}/s"}
    if "process" in columns:
        words["steps/s"] = "rate/s"
    elif units.env == "worker":  # one process may run several workers of a solver
        words["worker"] = "process"
    names = "".join(f"{words.get(name, name):>{COLUMNS[name]}}" for name in columns)
    room = width - len(names) - 2
    rows: list[Row] = [(styled(names + ("  last error" if room >= LEAST_ERROR else ""), FAINT),)]
    for record in processes[shown]:
        cells = _cells(record, snapshot)
        error = decoded(record["error"])
        rows.append(
            (
                *(
                    styled(
                        f"{fit(cells[name], COLUMNS[name] - 1).rstrip():>{COLUMNS[name]}}",
                        STATES.get(cells[name], TEXT) if name == "state" else TEXT,
                    )
                    for name in columns
                ),
                styled("  " + fit(error, room).rstrip() if room >= LEAST_ERROR else "", RED),
            )
        )
    return rows


def _columns(roles: set[bytes], width: int, *, nodes: bool) -> list[str]:
    """Return the columns for processes of some roles that fit; with the nodes, if workers are on several machines."""
    without = {"worker", "node"} if len(roles) > 1 else {"process", "device"} | (set() if nodes else {"node"})
    if ProcessRole.LEARNER.encode() not in roles:
        without |= set(LEARNING)
    found = [name for name in COLUMNS if name not in without]
    for name in LEFT_OUT:
        if name in found and sum(COLUMNS[one] for one in found) > width:
            found.remove(name)
    return found


def _cells(record: np.void, snapshot: Snapshot) -> dict[str, str]:
    role, number = decoded(record["role"]), str(int(record["index"]) + 1)
    name = "" if role == ProcessRole.ACTOR else decoded(record["name"]) or number
    first, end = int(record["first_env"]), int(record["end_env"])
    return {
        "worker": number,
        "node": decoded(record["device"]),
        "process": f"{role} {name}".rstrip(),
        "pid": str(record["pid"]),
        "envs": f"{first + 1}-{end}" if end - first > 1 else str(end or ""),
        "state": decoded(record["state"]),
        "steps/s": whole(record["rate"]),
        "heartbeat": f"{float(record['heartbeat']):.1f} s",
        "restarts": whole(int(record["restarts"])),
        "cpu": percent(float(record["cpu"])),
        "rss": human_bytes(float(record["rss"])),
        "device": decoded(record["device"]),
        **(_learning(snapshot, int(record["index"])) if role == ProcessRole.LEARNER else dict.fromkeys(LEARNING, "")),
    }


def _learning(snapshot: Snapshot, learner: int) -> dict[str, str]:
    """Return what a learner has reported; the lag is that of the policy, in versions and in gradient steps."""

    def found(name: str) -> float | None:
        return snapshot.metrics.get(metric_name(learner, name))

    versions, steps, filled = found("policy_lag_versions"), found("policy_lag"), found("replay_filled")
    return {
        "lag": NA if versions is None else f"{whole(versions)}/{whole(steps)}",
        "replay": percent(None if filled is None else 100 * filled),
        "age": whole(found("sample_age")),
        "loss": readable(found("loss")),
        "epsilon": readable(found("epsilon")),
    }
