"""The benchmarks of users: summaries of figures, and their options."""

import inspect

import pytest

from pac.training.bench.facts import facts, summary_of
from pac.training.bench.parts import PARTS
from pac.training.bench.scaling import scaling
from pac.training.config import Config
from pac.training.session.host import SessionFailed


def test_repetitions_are_summarized():
    """The median and the extremes are kept, with the number of repetitions; facts name versions and the machine."""
    assert summary_of([3.0, 1.0, 2.0]) == {"median": 2.0, "min": 1.0, "max": 3.0, "repetitions": 3}
    known = facts()
    assert known["versions"]["numpy"]
    assert known["cores"] >= 1
    assert known["cpu"]


@pytest.mark.session
def test_scaling_reports_the_error_of_a_session():
    """A session that cannot start ends the measurement with its error."""
    with pytest.raises(SessionFailed, match="unknown task"):
        scaling(Config(task="drmaro"), [1], seconds=2, repeat=1, progress=lambda _text, _share: None)


@pytest.mark.slow
def test_scaling_measures_every_n():
    """Each N is trained in a process of its own; speedup and efficiency follow from the baseline at N = 1."""
    calls: list[str] = []
    config = Config(task="CartPole-v1", trainer="random", backend="inline")
    found = scaling(config, [2, 4], seconds=2.5, repeat=1, progress=lambda text, _share: calls.append(text))
    assert [row["num_envs"] for row in found["rows"]] == [1, 2, 4]
    for row in found["rows"]:
        assert row["speedup"] == pytest.approx(row["fps"]["median"] / found["baseline_fps"])
        assert row["efficiency"] == pytest.approx(100 * row["speedup"] / row["num_envs"])
    added = found["rows"][1]["fps"]["median"] - found["baseline_fps"]
    assert found["rows"][1]["marginal_efficiency"] == pytest.approx(100 * added / found["baseline_fps"])
    assert str(found["knee"]) in found["knee_sentence"] or found["knee"] == 1
    assert calls == ["N=1", "N=2", "N=4", "done"]


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_quick_runs_have_options_of_their_benchmark(part):
    """Each part names a function that takes its options and has defaults for a full run."""
    inspect.signature(part.load()).bind(progress=None, **part.quick)
    inspect.signature(part.load()).bind(progress=None)
