"""Which processes leak, by recordings of real ones: pages of own memory each second, as far as they changed.

`leak` has PPO with four workers, of which the third keeps 1 MiB per minute; `replay` has DQN, whose replay fills.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from pac.backends.core.status import PAGE_BYTES
from pac.training.diagnosis.all_rules import RULES
from pac.training.diagnosis.evidence import Evidence
from pac.training.diagnosis.machine import MachineSample
from pac.training.diagnosis.memory import KEPT, LEAST, MIB, ThinnedRows, full_in

RECORDED = json.loads(Path(__file__).with_name("memory.json").read_text())
FREE = 8 << 30
RULE = RULES["worker-leaks"]


def recorded(run):
    """Return the bytes of each process second by second, by its name."""
    found = {}
    for name, one in RECORDED[run].items():
        seconds, pages = np.array(one["changes"]).T
        found[name] = PAGE_BYTES * pages[np.searchsorted(seconds, range(one["seconds"]), "right") - 1]
    return found


def findings(series):
    """Yield the seconds at which something is found, with its sentence; processes may begin later."""
    evidence = Evidence()
    machine = evidence.machine
    names = {name: (name, pid) for pid, name in enumerate(series, 1)}
    workers = {int(name[-1]) - 1: who for name, who in names.items() if name.startswith("worker")}
    envs = {who: (4 * at, 4 * at + 4) for at, who in workers.items()}
    for second in range(max(map(len, series.values()))):
        now = {names[name]: (int(sizes[second]), 0) for name, sizes in series.items() if second < len(sizes)}
        machine.memory.add(second, {who: size for who, size in now.items() if size[0]}, envs)
        machine.recent.append(MachineSample(second, 0, FREE, 0.0, 0.0, 0.0))
        if (found := RULE.found(evidence, 1.0)) is not None:
            yield second, RULE.sentence.format(value=found.value, **found.numbers)


def without(series, *names):
    return {name: sizes for name, sizes in series.items() if name not in names}


def test_a_leak_in_one_of_four_workers_is_named_soon():
    """After two minutes, in a recording of 1 MiB per minute, and never another one."""
    found = dict(findings(recorded("leak")))
    assert min(found) < 125
    assert len(found) > 100
    assert all(text.startswith("the memory of worker 3 (environments 9-12) grows by ") for text in found.values())
    assert found[200] == (
        "the memory of worker 3 (environments 9-12) grows by 1.0 MiB per minute, and the machine is full in 5 d"
    )


def test_a_leak_is_named_within_three_minutes_whenever_it_begins_and_through_noise():
    """1 MiB per minute, from the 240th second on; and from the beginning, with a noise of 0.2 MiB."""
    calm, second = np.full(480, 50 * MIB), np.arange(480)
    noise = (np.random.default_rng(0).normal(size=(4, 480)) * MIB / 5).astype(np.int64)
    late = {f"worker {at}": calm + MIB * np.maximum(second - 240, 0) // 60 * (at == 2) for at in range(1, 5)}
    noisy = {f"worker {at}": calm + MIB * second // 60 * (at == 2) + noise[at - 1] for at in range(1, 5)}
    for series, begun in ((late, 240), (noisy, 15)):
        found = dict(findings(series))
        assert begun < min(found) < begun + 180
        assert all("worker 2" in text for text in found.values())


@pytest.mark.parametrize("shift", [0, 20, 70])
def test_healthy_workers_are_not_named(shift):
    """Nor one that was replaced later and warms up while the others do not, nor a session or a replay that fills."""
    healthy = without(recorded("leak"), "worker 3")
    late = healthy["worker 2"]
    healthy["worker 2"] = np.concatenate([np.zeros(shift, np.int64), late])
    assert not list(findings(healthy))
    assert not list(findings(recorded("replay")))


def test_workers_that_leak_all_alike_are_named_later():
    """After three minutes, since all that warm up grow, too; one worker alone counts as all."""
    one = recorded("leak")["worker 3"]
    steady = one[60] + np.arange(240) * MIB // 60
    found = dict(findings({f"worker {number}": steady for number in range(1, 5)}))
    assert 180 < min(found) < 210
    assert "the memory of each of 4 processes grows by 1.0 MiB per minute" in found[min(found)]
    assert 180 < min(second for second, _ in findings({"worker 1": steady})) < 210


@pytest.mark.parametrize(
    "size",
    [
        lambda second: 0.3 * MIB * second / 60,
        lambda second: 40 * MIB * (second > 100),
        lambda second: 40 * MIB * (1 - np.exp(-second / 40)),
        lambda second: 3 * MIB * np.sin(second / 9),
        lambda second: 5 * MIB * (second % 97) / 97,
    ],
    ids=["slowly", "once", "ever slower", "up and down", "until it is emptied"],
)
def test_growth_that_ends_is_no_leak(size):
    """Beside others that do not grow: a cache that fills, a block that is taken once, memory that comes and goes."""
    calm = np.full(240, 50 * MIB)
    assert not list(findings({"worker 1": calm + np.array([int(size(at)) for at in range(240)]), "worker 2": calm}))


def test_a_curve_of_any_length_has_a_limited_number_of_points():
    """The first point stays, and the distance between them is the same everywhere."""
    series = ThinnedRows()
    for now in range(5000):
        series.add(now, 2 * now)
    times = [row[0] for row in series.rows()]
    assert KEPT // 2 <= len(times) <= KEPT
    assert times[0] == 0
    assert len(set(np.diff(times))) == 1


def test_the_time_until_memory_is_full_has_a_unit_for_people():
    """Minutes, hours or days; nothing if it does not grow."""
    assert [full_in(600 * MIB, rate * MIB) for rate in (30, 4, 0.1, 0)] == ["20 min", "2 h", "4 d", ""]
    assert RULE.threshold * MIB == LEAST
