"""Unknown numbers are not NaN, and survive what is done with the telemetry."""

import json
import math

import numpy as np

from pac.envs.unknown import UNKNOWN, is_unknown, unknown_in
from pac.training.json_data import NOT_FINITE, jsonable


def test_an_unknown_number_survives_copies_and_conversions():
    """Between float32 and float64, arrays and Python; other NaNs, infinities and numbers are known."""
    narrow = np.array([UNKNOWN, math.nan, -math.nan, math.inf, 0.0, -UNKNOWN], "f4")
    for values in (narrow, narrow.astype("f8"), narrow.astype("f8").astype("f4")[::-1][::-1].copy()):
        assert unknown_in(values).tolist() == [True, False, False, False, False, True]
        assert [is_unknown(value) for value in values.tolist()] == unknown_in(values).tolist()
    assert is_unknown(None)
    assert unknown_in(np.full((2, 3), UNKNOWN)[:, 1:]).all()


def test_json_tells_unknown_numbers_from_those_that_are_not_finite():
    """Null is unknown, and text is NaN or infinite; both are strict JSON."""
    text = json.dumps(jsonable({"a": UNKNOWN, "b": [math.nan, math.inf, -math.inf, 1.5]}), allow_nan=False)
    assert json.loads(text) == {"a": None, "b": [*NOT_FINITE, 1.5]}
