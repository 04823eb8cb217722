"""Sweeps in the app: what is requested, its progress and its result."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Input

from pac.training.telemetry.records import Phase
from pac.training.telemetry.snapshot import Scaling
from pac.tui.dialogs.sweep import SweepDialog, knee_sentence, table

from ..fake_session import seen, until


async def test_the_usual_numbers_are_offered_and_sent(fake, open_app):
    """Up to twice the present N; others can be typed."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("v")
        await until(lambda: isinstance(app.screen, SweepDialog))
        await seen(app, "no measurements yet", "1 2 4 8 16")
        await pilot.press("enter")
        await until(lambda: fake.commands == [("sweep", {"counts": [1, 2, 4, 8, 16]})])
        app.screen.query_one(Input).value = ""
        await pilot.press(*"3, x5", "enter")
        await until(lambda: fake.commands[1:] == [("sweep", {"counts": [3, 5]})])


@pytest.mark.thorough
async def test_a_sweep_shows_its_progress_and_can_be_canceled(fake, open_app):
    """Esc cancels a running sweep, and otherwise closes the dialog."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("v")
        fake.say(phase=Phase.BASELINE, message=b"measuring num_envs=4 (3 of 5)", progress=0.5)
        await seen(app, "measuring num_envs=4 (3 of 5)", "Esc cancels")
        await pilot.press("escape")
        await until(lambda: fake.commands == [("cancel_sweep", {})])
        fake.say(phase=Phase.RUNNING, message=b"")
        await seen(app, "Esc closes")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, SweepDialog))


@pytest.mark.parametrize("width", [20, 36, 46, 80])
def test_no_column_is_cut(width):
    """A column is shown whole or left out."""
    points = [Scaling(1, 900.0, 900.0, 900.0, 2, 4.0), Scaling(4, 2000.0, 2000.0, 2000.0, 2, 4.0)]
    head, *rows = ["".join(part.text for part in row) for row in table(points, "fps", width)]
    assert len(head) <= width
    named = re.split(r" {2,}", head.strip())
    assert named == ["N", "fps", "speedup", "efficiency", "marginal"][: len(named)]
    assert [len(row.split("●")[0].rstrip()) for row in rows] == [len(head)] * len(rows)


@given(st.lists(st.tuples(st.integers(1, 30), st.floats(1, 3000), st.floats(0, 300)), min_size=2, max_size=9))
def test_the_sentence_is_true_of_the_table(rows):
    """It agrees with the rounded numbers of the table and with the marked row."""
    counts = [1]
    for step, *_ in rows[1:]:
        counts.append(counts[-1] + step)
    points = [
        Scaling(count, fps, max(0.0, fps - spread), fps + spread, 2, 4.0)
        for count, (_, fps, spread) in zip(counts, rows, strict=True)
    ]
    texts = ["".join(part.text for part in row) for row in table(points, "fps", 90)][1:]
    brings = {int(text.split()[0].replace(",", "")): int(text.split("%")[1]) for text in texts}
    (marked,) = [count for count, text in zip(counts, texts, strict=True) if "knee" in text]
    sentence = knee_sentence(points)
    assert all(brings[count] >= 50 for count in counts if 1 < count <= marked)
    assert [brings[count] < 50 for count in counts if count > marked][:1] in ([], [True])
    if "at least half" in sentence:
        assert f"up to N = {marked}," in sentence
    else:
        assert marked == 1
        assert f"at N = {counts[1]}, an added environment brings less than half" in sentence
