"""Numbers as text."""

import math

import pytest

from pac.envs.unknown import UNKNOWN
from pac.tui.drawing import numbers, styles

FUNCTIONS = (
    *(numbers.whole, numbers.decimal, numbers.readable, numbers.short, numbers.headline, numbers.percent),
    *(numbers.times, numbers.duration),
)


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (numbers.whole, 1234567.2, "1,234,567"),
        *((function, UNKNOWN, "N/A") for function in FUNCTIONS),
        *((function, math.nan, "NaN") for function in FUNCTIONS),
        *((function, -math.inf, "-inf") for function in FUNCTIONS),
        (numbers.whole, None, "N/A"),
        (numbers.decimal, -0.0001, "0.00"),
        (numbers.decimal, 123.456, "123.46"),
        (numbers.decimal, 1234.5, "1,234"),
        (numbers.readable, 0.0003, "0.00030"),
        (numbers.readable, 12.0, "12"),
        (numbers.readable, 0.00000321, "3.2e-06"),
        (numbers.readable, 9_978_308.4, "9,978,308"),
        (numbers.readable, 11_900_000.0, "11.90M"),
        (numbers.readable, -2.5e10, "-25.00G"),
        (numbers.readable, 1e15, "1.00e+15"),
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


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([-1.0, -0.875], ["-1.000", "-0.875"]),
        ([9.0, 110.0], ["9", "110"]),
        ([9.0, 110.25, math.nan, UNKNOWN], ["9.00", "110.25", "NaN", "N/A"]),
        ([-1500.5, 2.25], ["-1,500", "2"]),
        ([0.0125, 0.0], ["0.01250", "0"]),
        ([], []),
    ],
)
def test_the_numbers_of_a_column_have_the_same_digits(values, texts):
    """As many as the largest needs; integers have none."""
    assert list(map(numbers.alike(values), values)) == texts


@pytest.mark.parametrize("text", ["NaN", " inf ", "reward -inf"])
def test_a_number_that_is_not_finite_is_red(text):
    """Whatever the color of other numbers there."""
    assert styles.styled(text, styles.GREEN) == styles.styled(text, styles.RED, bold=True)
    assert styles.styled("N/A", styles.GREEN) != styles.styled("N/A", styles.RED, bold=True)
