"""A column of panels fills its area and leaves out what does not fit."""

import pytest

from pac.tui.drawing.panels import Section, column, pages
from pac.tui.drawing.styles import fit_ends, styled, width_of


def lines(count):
    return lambda _width, _height: [(styled(f"row {index}"),) for index in range(count)]


def text(rows):
    return ["".join(segment.text for segment in row) for row in rows]


@pytest.mark.parametrize("height", range(3, 16))
def test_a_section_that_fills_makes_its_column_full(height):
    """At every height all lines are used, and each has the full width."""
    rows = column([Section("One", lines(3)), Section("Two", lines(2), fills=True)], 20, height)
    assert {width_of(row) for row in rows} == {20}
    assert len(rows) in {height, 5}


def test_a_section_that_is_too_high_for_any_page_is_cut():
    """Otherwise its page would be empty."""
    sections = [Section("High", lines(9), whole=True), Section("Low", lines(2), whole=True)]
    shown = ["\n".join(text(column(page, 20, 8))) for page in pages(sections, 20, 8)]
    assert ["High" in page and "row 5" in page for page in shown] == [True, False]
    assert ["Low" in page for page in shown] == [False, True]


@pytest.mark.parametrize("height", [3, 8, 12, 40])
def test_pages_show_every_section_once_and_uncut(height):
    """In order as far as they fit; a section larger than any page has its own."""
    sections = [
        Section("One", lines(5)),
        Section("Two", lines(9), whole=True),
        Section("Three", lines(9), fills=True, least=4),
        Section("Four", lines(1)),
    ]
    found = pages(sections, 20, height)
    assert sorted(section.title for page in found for section in page) == ["Four", "One", "Three", "Two"]
    assert found[0][0].title == "One"
    if height == 12:
        assert [[section.title for section in page] for page in found] == [["One", "Four"], ["Two"], ["Three"]]
    assert len(found) == (1 if height == 40 else len(found))


@pytest.mark.parametrize(
    ("width", "shown"), [(24, "drmario-ppo-1123-093328 "), (17, "drmari…123-093328"), (10, "drm…093328"), (0, "")]
)
def test_the_time_at_the_end_of_a_name_remains(width, shown):
    """The middle is left out."""
    assert fit_ends("drmario-ppo-1123-093328", width) == shown
