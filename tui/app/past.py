"""The newest snapshot with one environment as it was some steps ago, and what is known of one that is not inspected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...envs.unknown import UNKNOWN, is_unknown
from ...training.telemetry.moments import Moment, MomentSource, RecentSteps
from ...training.telemetry.snapshot import Snapshot
from ...training.trainer import PolicyOutput


def newest_known(snapshot: Snapshot, env: int) -> Moment:
    """Return what is published of an environment whose last step is not: of its first seat, without observation."""
    about, record = snapshot.description, snapshot.environments[env]
    several = bool(about.bounds or about.choices)
    known = several or record["action"] >= 0
    terms = snapshot.terms[env, : len(about.reward_terms)]
    return Moment(
        env=env,
        seat=0,
        step=0,
        now=0,
        source=MomentSource.NOW,
        progress=1.0,
        note="shown after the next step",
        values={
            **{
                name: record[name].item()
                for name in ("episode", "episode_length", "episode_return", "frames", "reward")
            },
            "end": 0,
            "outcome": 0,
            "value": UNKNOWN,
        },
        action=np.array(snapshot.actions[env] if several else record["action"]) if known else None,
        next_action=None,
        observation=None,
        mask=None,
        reward_terms=np.full_like(terms, UNKNOWN),
        terms=terms,
        info=snapshot.info[env],
        boards={},
    )


def _entropy_at(line: RecentSteps | None, moment: Moment) -> float:
    """Return the entropy of the decision that the value of `moment` belongs to; NaN if it is unknown."""
    if line is None:
        return UNKNOWN
    at = moment.step + (moment.next_action is not None) - moment.now + len(line.entropies) - 1
    return float(line.entropies[at]) if 0 <= at < len(line.entropies) else UNKNOWN


def snapshot_at(snapshot: Snapshot, moment: Moment) -> Snapshot:
    """Return the snapshot with the environment of `moment` as its seat saw it; unknown values are NaN or blank.

    Views show the first seat's returns and terms, so those of the moment's seat take their place.
    """
    env, values = moment.env, moment.values
    environments, info, terms = snapshot.environments.copy(), snapshot.info.copy(), snapshot.terms.copy()
    actions, last_terms = snapshot.actions.copy(), snapshot.last_terms.copy()
    if env >= len(environments):
        return snapshot
    row = environments[env]
    for name in ("episode", "episode_length", "episode_return"):
        row[name] = values[name]
    row["frames"] = values["frames"] if moment.info is not None else -1
    row["reward"] = values["reward"]
    single = moment.action is not None and moment.action.ndim == 0
    row["action"] = moment.action if single else -1
    actions[env] = UNKNOWN if moment.action is None else moment.action.reshape(-1)[: actions.shape[1]]
    row["ended"] = 0
    if moment.seat:
        row["last_return"], last_terms[env, 0] = snapshot.last_returns[env, moment.seat], last_terms[env, moment.seat]
    for table, known in ((info, moment.info), (terms, moment.terms)):
        table[env] = UNKNOWN
        if known is not None:
            table[env, : len(known)] = known
    boards = {
        name: board if moment.shown else np.zeros_like(board)
        for name, board in (moment.boards or snapshot.focus_boards).items()
    }
    policy: PolicyOutput | None = snapshot.policy
    if moment.back:
        entropy = _entropy_at(snapshot.line, moment)
        has_policy = not (is_unknown(values["value"]) and is_unknown(entropy)) or not snapshot.description.watched
        policy = PolicyOutput(values["value"], entropy, (), ()) if has_policy else None  # scripts may have no policy
    return replace(
        snapshot,
        environments=environments,
        actions=actions,
        info=info,
        terms=terms,
        last_terms=last_terms,
        focus_boards=boards,
        policy=policy,
        moment=moment,
        large=None if moment.back or values["end"] else snapshot.large,
    )
