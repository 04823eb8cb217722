"""The flame view: widths by samples, zoom and cursor; drawn from stacks without an app."""

from pac.tui.views.flame import at_path, flame_of, moved, place, render

STACKS = [
    (["main", "step", "hot"], "environment", 60),
    (["main", "step", "rest"], "environment", 20),
    (["main", "learn"], "learner", 19),
    (["main", "log"], "other", 1),
]


def drawn(zoom=(), cursor=()):
    """The view at 40 columns and 6 rows."""
    return ["".join(cell.text for cell in row) for row in render(flame_of(STACKS), (40, 6), zoom, cursor)]


def test_functions_are_as_wide_as_their_share():
    """Callees stand below their caller, the widest first; what is too narrow is left out."""
    rows = drawn(cursor=(0, 0))
    assert [row.rstrip() for row in rows[:4]] == [
        "▏all",
        "▏main",
        "▶step                           ▏learn",
        "▏hot                    ▏rest",
    ]
    assert {len(row) for row in rows} == {40}
    assert rows[5].split() == ["80.0", "%", "of", "all,", "0.0", "%", "itself", "environmen…"]


def test_the_zoom_shows_one_function_in_the_whole_width():
    """Its share is said of all samples and of the zoom; a path that is gone ends where it can."""
    assert drawn(zoom=(0, 0), cursor=(0, 0, 1))[1].rstrip() == "▏hot                          ▶rest"
    assert at_path(flame_of(STACKS), (0, 9, 9))[1] == (0, 2)
    assert drawn(zoom=(5, 5, 5, 5))[0].startswith("▏log")
    assert render(flame_of([]), (10, 3), (), ())


def test_arrows_go_to_callees_callers_and_neighbours():
    """At an end, they stay."""
    placed = place(flame_of(STACKS), 40, 5)
    path: tuple[int, ...] = ()
    for (across, down), there in (
        ((0, 1), (0,)),
        ((0, 1), (0, 0)),
        ((1, 0), (0, 1)),
        ((1, 0), (0, 1)),
        ((0, 1), (0, 1)),
        ((0, -1), (0,)),
        ((-1, 0), (0,)),
    ):
        path = moved(placed, path, across, down)
        assert path == there
