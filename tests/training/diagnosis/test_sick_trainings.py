"""Real trainings with an illness built in, each of which is named, and a healthy one, of which nothing bad is said."""

import pytest

from .illnesses import ILLNESSES, watched

ADVISED = [name for name, illness in ILLNESSES.items() if illness.advised]


@pytest.mark.slow
@pytest.mark.parametrize("illness", ILLNESSES)
def test_an_illness_is_named(tmp_path, illness):
    """Within a minute or so."""
    found = watched(tmp_path, illness).findings
    assert set(ILLNESSES[illness].rules) & set(found), found


@pytest.mark.slow
@pytest.mark.parametrize("illness", ADVISED)
def test_what_is_recommended_helps(tmp_path, illness):
    """The findings are absent, and so is every other one that is not only a note."""
    found = watched(tmp_path, illness, advised=True).findings
    assert set(ILLNESSES[illness].rules).isdisjoint(found), found
    assert {"warning", "fault"}.isdisjoint(one["severity"] for one in found.values()), found


@pytest.mark.slow
def test_a_healthy_training_has_no_warning(tmp_path):
    """Notes are allowed."""
    found = watched(tmp_path, "healthy").findings
    assert {"warning", "fault"}.isdisjoint(one["severity"] for one in found.values())
