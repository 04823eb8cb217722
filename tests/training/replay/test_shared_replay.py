"""A replay that one process writes and another one samples, without locks."""

import json

import numpy as np
import pytest

from ..writing import writing
from . import writer
from .writer import EPISODE, attached, observed


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Start a process that writes a ring as fast as it can; return where its arrays are."""
    with writing(writer, tmp_path_factory.mktemp("ring")) as text:
        yield json.loads(text)


def check(batch):
    """Check every number of a batch: that it belongs to its position and row, and is not half of another one."""
    position, row = batch.places.T
    age = position % EPISODE
    for back in range(3):
        wanted = observed(position - np.minimum(back, age), row)
        assert (batch.observations[:, 2 - back] == wanted[:, None]).all()
    end = np.minimum(position + 2, position - age + EPISODE)
    last = end == position - age + EPISODE
    assert (batch.following[:, 2] == observed(end, row, last=False)[:, None] + (last * 4)[:, None]).all()
    assert (batch.rewards == np.where(end == position + 2, (position + 1) % 100, 0) + end % 100).all()


def sampled(paths, batches, seat=None):
    """Return a replay after checking some batches of 64."""
    replay = attached(paths, seat=seat)
    for _ in range(batches):
        check(replay.sample(64))
    return replay


@pytest.mark.session
def test_nothing_half_written_is_sampled(paths):
    """While the writer laps the ring again and again; what it overwrote is drawn again."""
    before = attached(paths).head
    replay = sampled(paths, 2_000)
    assert replay.head - before > 100 * writer.SLOTS
    assert replay.overwritten > 0


@pytest.mark.slow
def test_nothing_half_written_is_sampled_a_million_times(paths):
    """The same with a million samples for each of two seats."""
    for seat in range(2):
        assert sampled(paths, 16_000, seat).overwritten > 0


@pytest.mark.session
def test_a_seat_samples_only_its_own_decisions(paths):
    """Of every environment."""
    batch = attached(paths, seat=1).sample(64)
    assert set(batch.places[:, 1].tolist()) == {1, 3}
