"""What steps add up to."""

import json
from dataclasses import replace

import numpy as np

from pac.backends.core.layout import Layout
from pac.envs import Field, Outcome
from pac.envs.fields import DECIDES, WAITS
from pac.envs.slots import Span
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.counts import Counts
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import MAX_EPISODES
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.telemetry.step_results import StepReader

from ...toys import FACTS, toy

ALONE = toy()
PAIR = toy(players=2, reward_terms=("gain", "loss"))


def add(counts, task, buffer, steps):
    """Count so many steps whose results are in slot 1 and the next ones; return where episodes ended."""
    reader = StepReader(task, buffer)
    reader.request(Span(slice(1, 1 + steps), slice(steps)))
    (results,) = reader.delivered()
    counts.add(results)
    return results.ended_envs.tolist()


def counted(**fields):
    """Counts of three steps of two environments with two seats each, whose results stand in slots 1 to 3."""
    buffer, counts = Layout(PAIR, 2, slots=4).map(), Counts(PAIR)
    counts.resize(2)
    for name, values in fields.items():
        buffer[name][1:] = values
    return counts, add(counts, PAIR, buffer, 3)


def test_a_step_is_one_whoever_of_the_seats_decides():
    """Seats that take turns make as many steps as seats that decide at once; where all wait there is none."""
    counts, _ = counted(
        active=[[DECIDES, WAITS, DECIDES, DECIDES], [WAITS, DECIDES, DECIDES, DECIDES], [DECIDES, WAITS, WAITS, WAITS]]
    )
    assert counts.steps == 5


def test_the_last_of_several_episodes_is_an_environments_last():
    """Ends come in the order of the steps; the terms of each episode are its own."""
    terms = np.ones((3, 4, 2)) * [1, 10]
    ends = [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    counts, ended = counted(
        terminated=ends,
        reward_terms=terms,
        episode_return=np.arange(12).reshape(3, 4),
        episode_length=[[1, 1], [1, 2], [2, 3]],
    )
    assert ended == [0, 0, 1]
    assert (counts.episodes, counts.return_mean, counts.length_mean) == (3, (0 + 8 + 10) / 3, 2)
    assert counts.ended["ret"].tolist() == [8, 10]
    assert counts.last_returns.tolist() == [[8, 9], [10, 11]]
    assert counts.ended["length"].tolist() == [2, 3]
    assert counts.last_terms.tolist() == [[2, 20], [2, 20], [3, 30], [3, 30]]
    assert not counts.terms.any()


def test_a_resumed_run_counts_on():
    """Totals, ends by reason and the means of the last episodes are those of before; reasons are known by name."""
    outcomes = (Outcome("won", "good"), Outcome("lost", "bad"))
    task = replace(PAIR, outcomes=outcomes, info=(Field("score", "int32"),))
    buffer, before = Layout(task, 2, slots=3).map(), Counts(task)
    before.resize(2)
    for name, values in {"terminated": 1, "frames": 3, "outcome": [[1, 2], [0, 2]], "score": [[5, 6], [7, 9]]}.items():
        buffer[name][1:] = values
    add(before, task, buffer, 2)
    after = Counts(replace(task, outcomes=outcomes[::-1]))
    after.load_state(json.loads(json.dumps(before.state())))
    assert after.totals() == before.totals()
    assert before.outcomes.tolist() == [1, 1, 2]
    assert after.outcomes.tolist() == [1, 2, 1]
    assert after.metrics() == before.metrics() == {"return_mean": 0, "length_mean": 0, "info/score": 6.75}


def test_rates_and_quantiles_are_over_all_environments():
    """Rates are of the steps of an iteration; info fields of the headline are read after the newest step."""
    task = replace(PAIR, info=(Field("score", "int32"), Field("other", "int32")), headline=("score",))
    buffer, counts = Layout(task, 2, slots=3).map(), Counts(task)
    counts.resize(2)
    assert counts.end_iteration() == {}
    fields = {"terminated": [[1, 1, 0, 0], [0, 0, 0, 0]], "truncated": [[0, 0, 0, 0], [0, 0, 1, 1]]}
    for name, values in {**fields, "score": [[5, 6], [1, 3]], "episode_length": [[2, 4], [1, 6]]}.items():
        buffer[name][1:] = values
    reader = StepReader(task, buffer)
    reader.request(Span(slice(1, 3), slice(2)), newest=counts.chosen)
    for results in reader.delivered():
        counts.add(results)
    found = counts.end_iteration()
    assert [found[f"rate/{name}"] for name in ("done", "truncated", "reset")] == [0.25, 0.25, 0.5]
    assert (found["info/score/p50"], found["length/p50"]) == (2, 4)
    assert "info/other/p50" not in found
    assert counts.end_iteration() == {}


def test_the_last_episodes_are_listed_with_their_numbers(tmp_path):
    """Also if an environment ends several between two counts; of too many, the last ones are kept."""
    counts = Counts(ALONE)
    counts.resize(2)
    buffer = Layout(ALONE, 2, slots=4).map()
    buffer["terminated"][1:] = [[1, 0], [0, 0], [1, 1]]
    buffer["truncated"][1:] = [[0, 0], [1, 0], [0, 0]]
    buffer["episode_return"][1:] = [[5, 0], [6, 0], [7, 8]]
    for _ in range(251):
        buffer["episode"][0] += [3, 1]
        add(counts, ALONE, buffer, 3)
    writer = TelemetryWriter(describe(ALONE, **FACTS), 2, 1, tmp_path)
    counts.table.write(writer)
    found = take_snapshot(TelemetryReader(tmp_path), ViewRequest(episodes=True)).episodes
    assert found is not None
    assert len(found) == MAX_EPISODES
    assert found["number"].tolist() == list(range(5, 4 * 251 + 1))
    rows = found[["env", "episode", "ret", "end"]][-4:].tolist()
    assert rows == [(0, 749, 5.0, 1), (0, 750, 6.0, 2), (0, 751, 7.0, 1), (1, 249, 8.0, 1)]
