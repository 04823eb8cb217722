"""What all native games share: their Python side, buffers, actions, episodes' numbers and whole states."""

from __future__ import annotations

import numpy as np
import pytest
from rich.cells import cell_len

from pac.envs import allocate, find
from pac.envs.errors import IllegalAction, ImpossibleState
from pac.envs.frames.layout import COLUMN, COLUMNS
from pac.envs.native import ALL_LEGAL

from .begun import begun, legal_actions, step_by_phases

SPECS = (
    *("drmario", "drmario-frames", "autochess", "autochess:players=8,reward=v3", "treasure:turns=20"),
    *("staghunt:turns=20", "frames:steps=12", "gameboy:game=walk", "leduc"),
)
native = pytest.mark.parametrize("spec", SPECS)
COUNT = 2


@native
def test_a_rollouts_slots_hold_what_stepping_in_place_gives(spec: str):
    """Slot k + 1 of a rollout is what the k-th step in place wrote, and the actions stay in slot k."""
    steps, random = 60, np.random.default_rng(2)
    (task, rollout, one), (_, place, other) = begun(spec, COUNT, steps + 1), begun(spec, COUNT)
    for step in range(steps):
        rollout["action"][step] = place["action"][0] = chosen = legal_actions(task, place, 0, random)
        one.step(step)
        other.step(0)
        assert (rollout["action"][step] == chosen).all()
        for field in task.fields:
            if field.timed and field.name not in {"action", "final_observation"}:
                assert (rollout[field.name][step + 1] == place[field.name][0]).all(), field.name


@pytest.mark.thorough
@native
def test_an_episodes_numbers_add_up(spec: str):
    """Return and length are those of the running episode, on its last step those of the ended one; others count on."""
    random = np.random.default_rng(4)
    task, buffers, environments = begun(spec, COUNT)
    now = {name: array[0] for name, array in buffers.items()}
    returns, lengths, ends = np.zeros(COUNT * task.players, np.float32), np.zeros(COUNT, np.int32), 0
    steps = 3_000 if spec == "drmario-frames" else 300
    for _ in range(steps):
        begun_before = now["episode"].copy()
        buffers["action"][0] = legal_actions(task, buffers, 0, random)
        environments.step(0)
        returns += now["reward"]
        lengths += 1
        assert np.allclose(now["episode_return"], returns, rtol=1e-4 if "gameboy" in spec else 0)
        assert (now["episode_length"] == lengths).all()
        ended = now["outcome"] > 0
        assert (np.repeat(ended, task.players) == (now["terminated"] | now["truncated"])).all()
        assert (now["episode"] == begun_before + ended).all()
        returns[np.repeat(ended, task.players)], lengths[ended] = 0, 0
        ends += ended.sum()
    assert now["heartbeat"].tolist() == [steps] * COUNT
    assert ends


@native
def test_boards_hold_codes_with_a_glyph(spec: str):
    """Throughout a play; a wide glyph takes two columns of a terminal, a narrow one a column."""
    task, buffers, environments = begun(spec, 4, seed=1)
    random = np.random.default_rng(1)
    drawn = [panel for panel in task.panels if panel.kind in {"cells", "list"}]
    assert {(cell_len(glyph.wide), cell_len(glyph.narrow)) for panel in drawn for glyph in panel.glyphs} <= {(2, 1)}
    for _ in range(120 if drawn else 0):
        assert all(buffers[panel.field].max() < len(panel.glyphs) for panel in drawn)
        buffers["action"][0] = legal_actions(task, buffers, 0, random)
        environments.step(0)


@pytest.mark.thorough
@native
def test_a_restored_state_goes_on_under_another_seed(spec: str):
    """The state's bytes, put into other buffers, are the same game to its end and beyond; else the seed matters."""
    random = np.random.default_rng(1)
    (task, one, first), (_, other, second) = begun(spec, COUNT, seed=11), begun(spec, COUNT, seed=12)
    assert one["state"].tobytes() != other["state"].tobytes()
    for step in range(400):
        if step == 40:
            other["state"][:] = one["state"]
            second.restore(0)
        one["action"][0] = other["action"][0] = legal_actions(task, one, 0, random)
        first.step(0)
        if step >= 40:
            second.step(0)
            for field in task.fields:
                if field.name not in {"heartbeat", "final_observation", "final_drawn"}:
                    assert (one[field.name] == other[field.name]).all(), (field.name, step)


@pytest.mark.parametrize(
    ("spec", "row", "action", "complaint"),
    [
        *(("drmario", 1, action, f"1 expects an action .*, got {action}\\b") for action in (-1, 0, 512, 10**12)),
        ("drmario-frames", 1, 18, "1 expects an action from 0 to 17, got 18"),
        ("autochess:players=8", 11, 6, r"1, seat 3 expects an action that .*, got 6 \(refresh\)"),
        ("treasure", 5, 4, "1, seat 2 expects an action from 0 to 3, got 4"),
        ("staghunt:agents=2", 3, 5, "1, seat 1 expects an action from 0 to 4, got 5"),
        ("frames", 1, 5, "1 expects an action from 0 to 4, got 5"),
        ("gameboy", 1, 3, "1 expects an action from 0 to 2, got 3"),
        ("leduc", 0, 0, r"0, seat 0 expects an action that .*, got 0 \(fold\)"),
        ("leduc", 0, 99, "0, seat 0 expects an action from 0 to 2, got 99"),
    ],
)
def test_an_illegal_action_changes_nothing(spec: str, row: int, action: int, complaint: str):
    """The error names the environment, the seat and the action, and no environment was stepped."""
    task, buffers, environments = begun(spec, COUNT)
    buffers["action"][0] = legal_actions(task, buffers, 0, np.random.default_rng(0))
    buffers["action"][0, row] = action
    before = {name: array.copy() for name, array in buffers.items()}
    with pytest.raises(IllegalAction, match=f"^environment {complaint}"):
        environments.step(0)
    assert [name for name, array in buffers.items() if array.tobytes() != before[name].tobytes()] == []


@pytest.mark.thorough
@pytest.mark.parametrize("spec", ["autochess:players=8,combat=device", "gameboy"])
def test_phases_leave_a_game_with_an_illegal_action_as_it_is(spec: str):
    """The first one returns the row, and the others do nothing with that game."""
    task, buffers, environments = begun(spec, 3, 2)
    before, row = buffers["state"][0, 1].copy(), 2 * task.players - 1
    buffers["action"][0] = legal_actions(task, buffers, 0, np.random.default_rng(0))
    buffers["action"][0, row] = task.num_actions
    assert [found for found in step_by_phases(environments, 0) if found != ALL_LEGAL] == [row]
    assert np.array_equal(buffers["state"][0, 1], before)
    assert buffers["episode_length"][1].tolist() == [1, 0, 1]


@native
def test_new_environments_go_on_with_the_episodes(spec: str):
    """Before the first one the count is -1; over used buffers it goes on: a new worker deals no episode again."""
    task = find(spec)
    buffers = allocate(task, COUNT)
    environments = task.make(0, COUNT, buffers, 0)
    assert buffers["episode"][0].tolist() == [-1] * COUNT
    environments.reset(np.ones(COUNT, np.bool_), 0)
    again = task.make(0, COUNT, buffers, 0)
    assert buffers["episode"][0].tolist() == [0] * COUNT
    again.reset(np.array([True, False]), 0)
    assert buffers["episode"][0].tolist() == [1, 0]


@native
def test_scattered_buffers_are_refused(spec: str):
    """Kernels write to addresses, so a field that is not one block is an error and not a wrong write."""
    task = find(spec)
    buffers = allocate(task, COUNT)
    buffers["reward"] = np.zeros((1, 2 * COUNT * task.players), np.float32)[:, ::2]
    with pytest.raises(ValueError, match="reward must be one contiguous block"):
        task.make(0, COUNT, buffers, 0)


@pytest.mark.parametrize("slot", [-1, 3])
def test_slots_masks_and_environments_outside_of_the_buffer_are_refused(slot: int):
    """They would make kernels write elsewhere."""
    task, buffers, environments = begun("treasure", COUNT, 3)
    for call in (environments.step, environments.show, lambda slot: environments.reset(np.ones(COUNT, np.bool_), slot)):
        with pytest.raises(IndexError, match="from 0 to 2"):
            call(slot)
    with pytest.raises(ValueError, match=r"mask of shape \(2,\), got \(3,\)"):
        environments.reset(np.ones(3, np.bool_), 0)
    for bounds in ((0, 3), (-1, 1), (1, 1)):
        with pytest.raises(ValueError, match="0 <= lo < hi <= 2"):
            task.make(*bounds, buffers, 0)


def test_an_impossible_state_is_refused():
    """The error names the environment whose state kernels cannot run."""
    _, buffers, environments = begun("frames", COUNT)
    buffers["state"][0, 1, COLUMN] = COLUMNS
    with pytest.raises(ImpossibleState, match="given for environment 1:"):
        environments.restore(0)
