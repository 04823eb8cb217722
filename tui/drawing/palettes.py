"""The palettes: for dark terminals, for light ones, and one that shows good and bad in blue and orange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Palette:
    """The colors of the app, as `#rrggbb`.

    Attributes:
        dark: Whether the background is darker than the text.
        ground: The background.
        raised: The background of the footer and of toasts.
        line: Borders and the empty part of bars.
        faint: Hints and headings.
        soft: Labels.
        bright: Important values.
        accent: Selection and curves.
        green: Good.
        red: Bad.
        yellow: Neutral, or temporary.
        stepping: The border of a board that is stepping.
        magenta: Hung workers, and the learner's part of the time.
        cyan: Measurements.
        orange: Python's part of the time.
    """

    dark: bool
    ground: str
    raised: str
    line: str
    faint: str
    soft: str
    text: str
    bright: str
    accent: str
    green: str
    red: str
    yellow: str
    stepping: str
    magenta: str
    cyan: str
    orange: str


DARK = Palette(
    dark=True,
    ground="#10141b",
    raised="#1a212c",
    line="#2c3644",
    faint="#6a778a",
    soft="#8793a5",
    text="#c9d1dc",
    bright="#f2f5f9",
    accent="#7cb0f5",
    green="#86c58b",
    red="#ee7d81",
    yellow="#d9bd74",
    stepping="#46566b",
    magenta="#d08be0",
    cyan="#6cc6cf",
    orange="#e2a06a",
)
LIGHT = Palette(
    dark=False,
    ground="#f7f8fa",
    raised="#e6eaf0",
    line="#c3cbd6",
    faint="#7d8897",
    soft="#596577",
    text="#2b3440",
    bright="#0d1219",
    accent="#1d63c4",
    green="#2b7d36",
    red="#c02f39",
    yellow="#8f6a00",
    stepping="#9fabbb",
    magenta="#8d3ba3",
    cyan="#137a86",
    orange="#b05a14",
)
# Okabe and Ito's set of colors can be distinguished with all common kinds of color blindness.
COLORBLIND = replace(
    DARK,
    accent="#b5c7e3",
    green="#56b4e9",
    red="#e69f00",
    yellow="#f0e442",
    magenta="#cc79a7",
    cyan="#9fd6c4",
    orange="#d5703a",
)
PALETTES: Mapping[str, Palette] = {"dark": DARK, "light": LIGHT, "colorblind": COLORBLIND}

# The sixteen colors themselves. The muted colors above would nearly all become white or gray.
DARK_16 = Palette(
    dark=True,
    ground="#000000",
    raised="#000000",
    line="#555555",
    faint="#555555",
    soft="#aaaaaa",
    text="#aaaaaa",
    bright="#ffffff",
    accent="#55ffff",
    green="#55ff55",
    red="#ff5555",
    yellow="#ffff55",
    stepping="#aaaaaa",
    magenta="#ff55ff",
    cyan="#00aaaa",
    orange="#aa5500",
)
LIGHT_16 = Palette(
    dark=False,
    ground="#ffffff",
    raised="#ffffff",
    line="#aaaaaa",
    faint="#555555",
    soft="#555555",
    text="#000000",
    bright="#000000",
    accent="#0000aa",
    green="#00aa00",
    red="#aa0000",
    yellow="#aa5500",
    stepping="#555555",
    magenta="#aa00aa",
    cyan="#00aaaa",
    orange="#aa5500",
)
COLORBLIND_16 = replace(DARK_16, accent="#ffffff", green="#55ffff", red="#aa5500")
PALETTES_16: Mapping[str, Palette] = {"dark": DARK_16, "light": LIGHT_16, "colorblind": COLORBLIND_16}
