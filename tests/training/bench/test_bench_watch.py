"""The overhead of `watch` is measured on real trainings."""

import pytest

from pac.training.bench.watching import turns, watch_cost


def test_turns_compare_speeds(monkeypatch):
    """Twice as slow with `watch` is a ratio of 0.5, and periodic work is postponed by the turns without it."""
    clock = [0.0]
    off: list[float] = []
    monkeypatch.setattr("pac.training.bench.watching.time.perf_counter", lambda: clock[0])

    def taking(seconds):
        def iterate():
            clock[0] += seconds

        return iterate

    ratios = list(turns({False: taking(0.25), True: taking(0.5)}, seconds=4.0, pairs=3, postpone=off.append))
    assert ratios == pytest.approx([0.5] * 3)
    assert sum(off) == pytest.approx(3 * 4.0)


@pytest.mark.slow
@pytest.mark.session
def test_all_trainings_are_measured_with_and_without_the_app():
    """There is a ratio for each combination."""
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: pip install pac-tui[peers]")
    result = watch_cost(seconds=0.1, pairs=1, progress=lambda _what, _share: None)
    loops = {loop: {"nobody", "attached"} for loop in ("gymnasium", "ppo", "dqn", "sb3")}
    assert {loop: set(by) for loop, by in result["ratio"].items()} == loops
    assert all(figure["median"] > 0 for by in result["ratio"].values() for figure in by.values())
    assert result["startup"]["watched"]["median"] > result["startup"]["plain"]["median"] > 0
