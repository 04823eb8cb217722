"""How the inspector shows what the policy's choice depends on."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pac.training.telemetry.description import describe
from pac.training.trainer import Saliency
from pac.tui.views.saliency import COLOR, overlaid, salient, target

from ..toys import FACTS, toy


def text(rows):
    """Return what rows say."""
    return ["".join(segment.text for segment in row) for row in rows]


def shown(task, observation, gradient, *, of="logit", width=40, height=10):
    """Return the rows of a gradient of an action's logit."""
    about = describe(task, **FACTS)
    found = Saliency(np.array(gradient, np.float32), of, np.array(1), 7)
    moment: Any = SimpleNamespace(back=0, observation=np.array(observation))
    return salient(about, moment, found, width, height)


def test_the_numbers_that_count_most_come_first():
    """By size, with their names, sign and value; those that do not fit are counted, and all lines fit."""
    task = toy(shape=(4,), slices={"here": (0, 1), "speed": (1, 2), "angle": (2, 3), "spin": (3, 4)})
    lines = text(shown(task, [1.0, 2.0, 3.0, 4.0], [0.1, -2.0, float("nan"), 1.0], height=3, width=60))
    assert [line.split()[0] for line in lines] == ["speed", "spin", "2"]
    assert lines[0].endswith("-2 at        2")
    assert lines[2].strip() == "2 more numbers count less"
    assert {len(line) for line in lines[:2]} == {60}


def test_an_image_is_dimmed_where_the_choice_does_not_depend_on_it():
    """Where it depends on it most, the image has the color of saliency."""
    picture = np.full((1, 20, 20, 3), 200, np.uint8)
    sizes = np.zeros((20, 20))
    sizes[3, 4] = 7.0
    found = overlaid(picture, sizes)
    assert found[0, 3, 4].tolist() == COLOR.tolist()
    assert found[0, 0, 0].tolist() == [120, 120, 120]
    assert overlaid(picture, np.ones((20, 20, 3))).shape == picture.shape
    rows = shown(toy("uint8", (20, 20)), np.zeros((20, 20), np.uint8), sizes, height=10)
    assert 0 < len(rows) <= 10


@pytest.mark.parametrize("height", [4, 12])
def test_a_board_is_a_map_of_its_cells_and_its_planes(height):
    """Planes with one value for all cells are named and are no part of the map."""
    task = toy("uint8", (3, 4, 4), slices={"red": (0, 1), "blue": (1, 2), "turn": (2, 3)})
    task = replace(task, observation=replace(task.observation, uniform=(2, 3)))
    gradient = np.zeros((3, 4, 4))
    gradient[0, 1, 1], gradient[1, 2, 2], gradient[2, 0, 0] = 1.0, 3.0, 50.0
    lines = text(shown(task, np.zeros((3, 4, 4), np.uint8), gradient, height=height))
    assert len(lines) <= height
    assert next(line for line in lines if line.endswith(" 50")).startswith("turn")


def test_what_is_not_known_is_said():
    """A trainer that cannot say, a choice that depends on nothing, an earlier step."""
    task = toy(shape=(2,))
    assert "cannot say" in text(shown(task, [1.0, 2.0], [0.0, 0.0], of=""))[0]
    assert "depends on nothing" in text(shown(task, [1.0, 2.0], [0.0, 0.0]))[0]
    about = describe(toy(action_names=("a", "b", "c")), **FACTS)
    assert target(about, Saliency(np.zeros(2), "logit", np.array(1))) == "of the logit of b"
    assert target(about, Saliency(np.zeros(2), "value")) == "of the value"
    assert target(about, Saliency(np.zeros(2), "Q", np.zeros(6))) == "of the Q of the action"


@pytest.mark.parametrize("named", [True, False])
def test_of_a_script_the_numbers_are_those_that_its_first_layer_was_given(named):
    """With the names of those that are observed, if they are these; below them, of what it is, how old, and a note."""
    about = describe(toy(shape=(2,), slices={"here": (0, 1), "speed": (1, 2)}, watched=True), **FACTS)
    given, note = np.array([1.0, 2.0], np.float32), "this took 7.0 ms"
    found = Saliency(np.array([0.1, -2.0], np.float32), "output", None, 4, given, named, note)
    moment: Any = SimpleNamespace(back=0, now=7, observation=np.zeros(2))
    lines = text(salient(about, moment, found, 60, 10))
    assert [line.split()[0] for line in lines[:2]] == (["speed", "here"] if named else ["input", "input"])
    assert lines[0].endswith("-2 at        2")
    assert lines[2:] == ["of the output, 3 steps ago, this took 7.0 ms"]
    picture = np.zeros((4, 20, 20), np.float32)
    frames = Saliency(picture + 1, "logit", np.array(1), 7, picture)
    assert 2 < len(salient(about, moment, frames, 80, 12)) <= 12
    unknown = Saliency(np.zeros(0, np.float32), "", step=7, note="a layer GRU is not followed")
    assert text(salient(about, moment, unknown, 60, 10)) == ["unknown: a layer GRU is not followed"]
