"""What boards show of the state that ended an episode: the same as rules that are stepped without a reset."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from pac.envs import Task, find
from pac.envs.check import NotConforming, TrialRun, check
from pac.envs.fields import Array

Boards = Mapping[str, Array]


def bottle(task: Task, state: Array, actions: Array) -> Boards:
    """Play the last pill, or the last frame, of a bottle."""
    from pac.envs.drmario.kernels import FRAME_BUTTONS, draw_bottle, draw_next, draw_pill, place
    from pac.envs.drmario.layout import LONGEST_FALL, SCRATCH
    from pac.envs.drmario.rules import frame

    board, game = state.view(np.uint64), state.view(np.int64)
    if task.masked:
        place(board, game, int(actions[0]), np.zeros(SCRATCH, np.uint64), np.zeros(LONGEST_FALL, np.uint8))
    else:
        frame(board, game, int(FRAME_BUTTONS[actions[0]]))
    cells, preview = np.zeros(16, np.uint64), np.zeros(2, np.uint8)
    draw_bottle(board, cells)
    draw_pill(game, cells.view(np.uint8))
    draw_next(game, preview)
    return {"bottle": cells.view(np.uint8).reshape(16, 8), "preview": preview.reshape(1, 2)}


def fight(task: Task, state: Array, actions: Array) -> Boards:
    """Play the last action of every seat of an auto-chess game."""
    from pac.envs.autochess.display import draw_film
    from pac.envs.autochess.kernels import play_step
    from pac.envs.autochess.layout import PRESETS
    from pac.envs.autochess.view import draw, draw_numbers
    from pac.envs.autochess.views import new_work

    preset, values = PRESETS.index(task.values["reward"]), task.values
    play_step(state, actions, preset, values["bots"], values["turn_actions"], new_work())
    boards = {item.name: np.zeros(item.shape, item.dtype) for item in task.boards}
    flat = {name: board if name == "seats" else board.reshape(-1) for name, board in boards.items()}
    draw(state, flat["creatures"], flat["stars"], flat["gear"], flat["shop"])
    draw_numbers(state, flat["kinds"], flat["seats"])
    draw_film(state, flat["fight"], flat["fight_life"], flat["fight_power"])
    return boards


def hand(task: Task, state: Array, actions: Array) -> Boards:
    """Play the last action of a hand."""
    from pac.envs.poker.kernels import act, draw, won
    from pac.envs.poker.layout import LAST, NODE
    from pac.envs.poker.views import game_arrays

    rules, numbers = game_arrays(task)
    act(rules, state, int(actions[rules.player[state[NODE]]]))
    state[LAST] = int(won(rules, numbers, state))
    picture = np.zeros(task.boards[0].shape, np.uint32)
    draw(rules, numbers, state, picture)
    return {"hand": picture}


GAMES: dict[str, Callable[[Task, Array, Array], Boards]] = {
    "drmario:level=0": bottle,
    "drmario:level=20": bottle,
    "autochess": fight,
    "autochess:players=8": fight,
    "kuhn": hand,
    "leduc": hand,
    "liars_dice": hand,
    "holdem:betting=fcpa,stack=8": hand,
}


REPEATS = {"drmario:level=0", "autochess", "drmario-frames:level=0"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, marks=pytest.mark.thorough if spec in REPEATS else ())
        for spec in [*GAMES, *sorted(REPEATS - GAMES.keys())]
    ],
)
def test_they_are_those_of_rules_without_a_reset(spec):
    """Of every episode that ends, whatever it ends by; the boards beside them are the next episode's first."""
    task = find(spec)
    play, reference, ends = TrialRun(task, (0, 3), 5), GAMES.get(spec, bottle), 0
    play.begin()
    while ends < 6:
        states, actions = play.buffers["state"][0].copy(), play.choose()
        play.step(actions)
        for env in np.flatnonzero(play.field("outcome")).tolist():
            ends += 1
            seats = slice(env * task.players, (env + 1) * task.players)
            expected = reference(task, states[env], actions[seats])
            assert play.buffers["final_drawn"][0, env] == play.buffers["episode"][0, env]
            for name, board in expected.items():
                assert np.array_equal(play.field(f"final_{name}")[env], board.reshape(play.field(name)[env].shape)), (
                    name
                )
            assert any(not np.array_equal(play.field(name)[env], play.field(f"final_{name}")[env]) for name in expected)
    play.close()


def test_a_task_that_does_not_write_them_does_not_conform(monkeypatch):
    """Else a debugger would show the next episode under the caption of the last one."""
    from pac.envs.noop.driver import NoopEnvironments

    def end(self, index, slot):
        self._part["truncated"][slot, index] = self._part["outcome"][slot, index] = 1
        self._part["final_observation"][slot, index] = self._part["observation"][slot, index]
        self._begin(index, self._slots[slot])

    monkeypatch.setattr(NoopEnvironments, "_end", end)
    with pytest.raises(NotConforming, match="last boards"):
        check(find("noop:length=5"), steps=10)
