"""Which episodes are recorded without being asked for."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from pac.training.config import Config
from pac.training.episode_choice import EpisodeChoice


@pytest.mark.parametrize(
    ("text", "chosen", "record"),
    [("best", [[1], [], [0]], 7.0), ("worst", [[0], [1], []], -2.0), ("every:3", [[2], [2], []], math.nan)],
)
def test_episodes_are_chosen_as_they_end(text, chosen, record):
    """The best or worst so far, the first of equal ones; or one in so many, across calls. NaN is no return."""
    choice, ended, found = EpisodeChoice.parse(text), 0, []
    for returns in ([1.0, 5.0, 5.0], [5.0, -2.0, math.nan], [7.0, 1.0]):
        found.append(choice.chosen(np.array(returns), ended))
        ended += len(returns)
    assert found == chosen
    assert choice.record == record or (math.isnan(record) and math.isnan(choice.record))


@pytest.mark.parametrize("text", ["most", "best:2", "every", "every:0", "every:-1", "every:x"])
def test_another_text_is_refused(text):
    """By the class and by the configuration, which also accepts no choice."""
    with pytest.raises(ValueError, match="expected best, worst or every:NUMBER"):
        EpisodeChoice.parse(text)
    with pytest.raises(ValidationError, match="expected best, worst or every:NUMBER"):
        Config(record=text)
    assert not Config().record
