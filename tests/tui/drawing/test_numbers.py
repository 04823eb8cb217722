"""Numbers as text."""

import math

import pytest

from pac.tui.drawing import numbers


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (numbers.whole, 1234567.2, "1,234,567"),
        (numbers.whole, math.nan, "N/A"),
        (numbers.whole, None, "N/A"),
        (numbers.decimal, -0.0001, "0.00"),
        (numbers.decimal, 12345.678, "12,346"),
        (numbers.figure, 0.0003, "0.00030"),
        (numbers.figure, 12.0, "12"),
        (numbers.figure, 0.00000321, "3.2e-06"),
        (numbers.figure, 9_978_308.4, "9,978,308"),
        (numbers.figure, 11_900_000.0, "11.90M"),
        (numbers.figure, -2.5e10, "-25.00G"),
        (numbers.figure, 1e15, "1.00e+15"),
        (numbers.short, 1_500_000, "1.5M"),
        (numbers.short, 1_030, "1.03k"),
        (numbers.short, -12_345, "-12.3k"),
        (numbers.short, 123_456, "123.5k"),
        (numbers.short, 2_000, "2k"),
        (numbers.short, 999_960, "1M"),
        (numbers.short, -999.7, "-1k"),
        (numbers.short, 20, "20"),
        (numbers.headline, -0.8902, "-0.890"),
        (numbers.headline, 0.01731, "0.0173"),
        (numbers.headline, 317.75, "317.8"),
        (numbers.headline, 12_345.0, "12.3k"),
        (numbers.percent, 39.6, "40 %"),
        (numbers.times, 3.2, "3.20x"),
        (numbers.clock, 3723, "1:02:03"),
        (numbers.clock, math.nan, "0:00:00"),
        (numbers.duration, 0.00123, "1.23 ms"),
        (numbers.duration, 2e-6, "2.0 us"),
    ],
)
def test_numbers_are_formatted(function, value, text):
    """Thousands are separated, units are given, unknown values are N/A, and zero has no sign."""
    assert function(value) == text
