"""What a watched training's steps are copied as."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.training.diagnosis.all_rules import RULES
from pac.training.diagnosis.evidence import Evidence
from pac.training.watching.batch_log import BatchLog
from pac.training.watching.row_log import RowLog
from pac.training.watching.step_log import DROPPED, RESET, SMALL_BYTES, TERMINATED, TRUNCATED, small_kind

OBSERVED = np.zeros((3, 2), np.float32)
REWARDS, NEVER = np.array([1.0, 2.0, 3.0]), np.zeros(3, np.bool_)
INTEGERS = np.dtype("i8")


def taken(log) -> Any:
    """What was noted."""
    return log.take()


def noted(actions, rewards, observed=OBSERVED, first=OBSERVED, terminated=NEVER):
    """Two steps of a batch, the first of which is usual."""
    log = BatchLog(3, INTEGERS, small=small_kind(first)[1] > 0)
    log.note(np.arange(3), 0.0, first, REWARDS, NEVER, NEVER, {})
    log.note(actions, 0.0, observed, rewards, terminated, NEVER, {})
    return taken(log)


@pytest.mark.parametrize("actions", [np.arange(3, dtype="i4"), [0, 1, 2], np.arange(6)[::2] // 2, np.arange(3.0)])
@pytest.mark.parametrize("rewards", [np.array([1, 2, 3]), [1, 2, 3], np.repeat(REWARDS, 2)[::2], REWARDS.astype("f4")])
def test_a_step_of_another_kind_says_the_same(actions, rewards):
    """Lists, other types of numbers, arrays that are not in one piece."""
    steps = noted(actions, rewards)
    assert steps.actions[1, :, 0].tolist() == [0, 1, 2]
    assert steps.rewards[1].tolist() == [1.0, 2.0, 3.0]


def test_what_is_written_into_afterwards_stays_as_it_was():
    """Environments that use their arrays again."""
    log, rewards = BatchLog(3, INTEGERS, small=True), np.zeros(3)
    for step in range(3):
        rewards[:] = step
        log.note(np.arange(3), 0.0, OBSERVED, rewards, NEVER, NEVER, {})
    assert taken(log).rewards.tolist() == [[step] * 3 for step in range(3)]
    assert taken(log) is None


@pytest.mark.parametrize("width", [2, SMALL_BYTES])
def test_who_observes_what_is_no_number_is_found(width):
    """In batches that are copied and in those that are looked at."""
    seen = np.zeros((3, width), np.float32)
    bad = seen.copy()
    bad[1, -1] = np.nan
    assert noted(np.arange(3), REWARDS, bad, seen).unknown == [1]


def test_flags_may_be_numbers():
    """And observations of another type than the first."""
    steps = noted(np.arange(3), REWARDS, OBSERVED.astype("f8"), terminated=np.array([0, 1, 0]))
    assert steps.ends[1].tolist() == [0, TERMINATED, 0]
    assert steps.unknown == []


def rows(num_envs=2):
    """A log of environments that are stepped one by one."""
    return RowLog(num_envs, INTEGERS, small_kind(OBSERVED[0]))


def step(log, row, *, reward=1.0, terminated=False, truncated=False, observed=OBSERVED[0]):
    log.note(row, row, 0.0, observed, reward, terminated, truncated, {})


def test_a_round_is_over_when_an_environment_steps_again():
    """Whoever did not step in it has no step there."""
    log = rows()
    for row in (0, 1, 1, 0, 0):
        step(log, row)
    assert taken(log).stepped.tolist() == [[True, True], [True, True], [True, False]]


def test_a_flag_ends_an_episode_if_a_reset_follows():
    """Otherwise, as in a script that ignores it, nothing ends; a reset without a flag ends an episode, too."""
    log = rows(1)
    for flags in ({"truncated": True}, {}, {"terminated": True, "truncated": True}):
        step(log, 0, **flags)
    log.begin(0, OBSERVED[0])
    step(log, 0)
    log.begin(0, OBSERVED[0])
    log.begin(0, OBSERVED[0])  # nothing was played since
    step(log, 0)
    log.begin(0, OBSERVED[0], dropped=True)
    assert taken(log).ends[:, 0].tolist() == [0, 0, TERMINATED, RESET, DROPPED]


def test_an_end_that_is_known_late_is_told_without_a_step():
    """The step with the flag was processed already, since somebody looks at every step."""
    log = rows(1)
    log.every = True
    step(log, 0, truncated=True)
    assert taken(log).ends.tolist() == [[0]]
    log.begin(0, OBSERVED[0])
    late = taken(log)
    assert (late.ends.tolist(), late.stepped.tolist(), late.rewards.tolist()) == ([[TRUNCATED]], [[False]], [[0.0]])


def test_a_step_with_a_flag_is_held_back():
    """Until it is known whether it ended the episode."""
    log = rows(1)
    step(log, 0)
    step(log, 0, terminated=True)
    assert taken(log).ends.tolist() == [[0]]
    assert taken(log) is None
    log.begin(0, OBSERVED[0])
    assert taken(log).ends.tolist() == [[TERMINATED]]


STEP = st.tuples(st.integers(0, 2), st.sampled_from(["step", "end", "cut", "reset", "drop"]))
TAKE = st.tuples(st.sampled_from([0.0, np.inf]), st.just("take"))


@given(st.lists(STEP | TAKE, max_size=60))
def test_episodes_are_the_same_in_whatever_stretches(events):
    """Rewards and ends by environment, against a list that is read with hindsight."""
    log, number = rows(3), 0
    expected: list[list[list[int]]] = [[] for _ in range(3)]  # rewards, and how the episode ended after them
    found: list[list[list[int]]] = [[] for _ in range(3)]
    pending = [0] * 3

    def read():
        steps = taken(log)
        for slot in range(0 if steps is None else len(steps.ends)):
            for row in range(3):
                own = found[row]
                if steps.stepped[slot, row]:
                    own.append([int(steps.rewards[slot, row]), 0])
                if steps.ends[slot, row]:
                    own[-1][1] = int(steps.ends[slot, row])

    for row, event in events:
        if event == "take":
            log.every = not row
            read()
        elif event in {"reset", "drop"}:
            if expected[row] and not expected[row][-1][1]:
                expected[row][-1][1] = pending[row] or {"reset": RESET, "drop": DROPPED}[event]
            log.begin(row, OBSERVED[0], dropped=event == "drop")
        else:
            number += 1
            pending[row] = {"end": TERMINATED, "cut": TRUNCATED}.get(event, 0)
            expected[row].append([number, 0])
            step(log, row, reward=number, terminated=event == "end", truncated=event == "cut")
    log.settle_all()
    read()
    for row, own in enumerate(expected):
        if own and not own[-1][1]:
            own[-1][1] = pending[row]
    assert found == expected


def test_an_environment_may_come_later():
    """Its row is beside the others."""
    log = rows(1)
    step(log, 0)
    log.grow(2)
    step(log, 1, reward=3.0, observed=np.array([0, np.nan], np.float32))
    steps = taken(log)
    assert (steps.rewards.tolist(), steps.unknown) == ([[1.0, 3.0]], [1])


def test_a_reward_may_have_parts():
    """They are kept apart."""
    log = RowLog(1, None, small_kind(OBSERVED[0]), 3)
    step(log, 0, reward=np.array([1.0, 2.0, -1.0]))
    assert taken(log).parts.tolist() == [[[1.0, 2.0, -1.0]]]


def test_numbers_of_an_info_are_only_of_its_own_step():
    """Also if the next step has no info and is noted in the fastest way."""
    log, infos = BatchLog(3, INTEGERS, small=True), {"speed": REWARDS}
    log.info_reader.names = log.info_reader.find(infos)[0]
    log.watched, log.runs, log.capacity = True, True, 9
    actions = np.arange(3)
    log.note(actions, 0.0, OBSERVED, REWARDS, NEVER, NEVER, infos)
    note = log.noter(lambda *_: pytest.fail("noted in the slow way"))
    note("step", (None, actions), {}, (OBSERVED, REWARDS, NEVER, NEVER, {}), 0.0)
    assert np.isnan(taken(log).infos[0, 1]).all()


def test_observations_of_several_types_are_named():
    """A script that sometimes returns float64 is told so: networks convert it, or fail."""
    first = np.zeros(3, np.float32)
    log = RowLog(1, np.dtype(np.int64), small_kind(first))
    for observation in (first, first, first.astype(np.float64)):
        log.note(0, 1, 0.0, observation, 1.0, False, False, {})
    assert log.kinds == {"float32", "float64"}
    evidence = Evidence()
    evidence.stepped.kinds = log.kinds
    rule = RULES["observation-kind-changes"]
    found = rule.found(evidence, 1.0)
    assert found is not None
    assert rule.sentence.format(**found.numbers) == "observations are sometimes float32 and sometimes float64"
    evidence.stepped.kinds = set()
    assert rule.found(evidence, 1.0) is None
