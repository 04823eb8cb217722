"""Weights that a learner publishes and others read, without locks."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pac.backends.system.arrays import NamedArrays
from pac.training.independent.mailbox import Mailbox, NeverWhole

from ..writing import writing
from . import publisher
from .publisher import LAYOUT, SPECS


def letter(number):
    """Return tensors, counts and metrics of a version."""
    return {name: torch.full_like(one, number) for name, one in LAYOUT.items()}, np.array([number]), np.array([0.5])


@pytest.fixture
def mailbox():
    """Return a mailbox of this process."""
    return Mailbox(NamedArrays(SPECS), LAYOUT)


def test_the_newest_version_is_read(mailbox):
    """Whole, or only some of its tensors."""
    for number in (1, 2, 3):
        mailbox.publish(*letter(number))
    into = {"second": torch.zeros(5_000), "third": torch.zeros(())}
    version, counts, metrics = mailbox.read(into)
    assert (version, counts.tolist(), metrics.tolist()) == (3, [3], [0.5])
    assert all((one == 3).all() for one in into.values())


def test_the_version_before_is_read_while_the_next_is_written(mailbox):
    """Also if its writer dies there; whoever replaces it publishes as before."""
    mailbox.publish(*letter(1))
    mailbox._sequence[0] |= 1
    mailbox._slots[0]["second"].fill_(2)
    assert mailbox.read({})[1] == [1]
    mailbox.publish(*letter(3))
    into = {"second": torch.zeros(5_000)}
    assert mailbox.read(into)[0] == 2
    assert (into["second"] == 3).all()


def test_a_slot_that_stays_half_written_is_an_error(mailbox):
    """Instead of an endless loop."""
    mailbox._sequence[0] = 1
    with pytest.raises(NeverWhole, match="publish_interval"):
        mailbox.read({})


@pytest.fixture
def busy(tmp_path):
    """Return a mailbox into which another process publishes at full speed."""
    with writing(publisher, tmp_path) as path:
        yield Mailbox(NamedArrays.attach(SPECS, Path(path), writable=True), LAYOUT)


@pytest.mark.parametrize(
    "reads", [pytest.param(2_000, marks=pytest.mark.session), pytest.param(1_000_000, marks=pytest.mark.slow)]
)
def test_no_read_has_tensors_of_two_versions(busy, reads):
    """While a writer publishes as fast as it can."""
    into = {name: torch.zeros_like(one) for name, one in LAYOUT.items()}
    versions = set()
    for _ in range(reads):
        _, counts, metrics = busy.read(into)
        number = int(counts[0])
        assert metrics[0] == number / 2
        assert all(float(one.min()) == float(one.max()) == number % 2**20 for one in into.values())
        versions.add(number)
    assert len(versions) > 5
