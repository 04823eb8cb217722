"""What is in the records of telemetry."""

import pytest

from pac.training.telemetry.declared import encode_clipped


@pytest.mark.parametrize(
    ("text", "size", "kept"), [("größe", 7, "größe"), ("größe!", 6, "gr…"), ("größe!", 7, "grö…"), ("plain", 3, "…")]
)
def test_a_text_is_cut_between_letters_and_says_so(text, size, kept):
    """A message that is longer than its room ends in an ellipsis, and in no half of a letter."""
    assert encode_clipped(text, size) == kept.encode()
    assert len(kept.encode()) <= size
