"""The compiled rules against the twin, cell by cell and frame by frame."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pac.envs.drmario import layout as at
from pac.envs.drmario.plan import survey

from ...examples import one_in
from .bottles import State, cells
from .brute import placements
from .play import Game, buttons, legal
from .twin import CHOICES, Bottle, action_of

NAMES = {at.HOLD_LEFT: "left", at.HOLD_RIGHT: "right", at.HOLD_DOWN: "down", at.PRESS_A: "A", at.PRESS_B: "B"}
SEEDS = st.integers(0, 2**64 - 1)
OUTCOMES = ("", "cleared", "topped out", "out of time")


def names(held: int) -> frozenset[str]:
    """The buttons of a bit set."""
    return frozenset(name for bit, name in NAMES.items() if held & bit)


def agree(bottle: Bottle, state: State) -> None:
    """Everything that the twin knows is the same in the state."""
    game = state.game
    assert cells(state.board) == bottle.cells
    assert (game[at.CLOCK], game[at.SCORE], game[at.SPEED_UPS]) == (bottle.clock, bottle.score, bottle.speed_ups)
    assert (game[at.STAGE] == at.FALLING) == (bottle.hand is not None)
    if bottle.hand:
        assert (game[at.ROW], game[at.COLUMN], game[at.TURN]) == bottle.hand.place


def legal_in(bottle: Bottle) -> set[int]:
    """The twin's mask, as the set of its actions."""
    return {action for place in bottle.placements() if (action := action_of(place)) is not None}


def play_frames(level: int, speed: str, seed: int, frames: int) -> None:
    """Hold random buttons, each choice for some frames, and compare after every frame."""
    game = Game(f"drmario-frames:level={level},speed={speed}", seed=seed)
    bottle = Bottle.new(level, speed, seed, 0, 0)
    random = np.random.default_rng(seed)
    action, episode = 0, 0
    agree(bottle, game.state())
    for _ in range(frames):
        if random.random() < 0.3:
            action = int(random.choice(len(CHOICES)))
        viruses = bottle.viruses
        game.step([action])
        bottle.frame(CHOICES[action])
        assert_step(game, bottle, viruses, 1)
        if bottle.outcome:
            episode += 1
            bottle = Bottle.new(level, speed, seed, 0, episode)
        agree(bottle, game.state())


def assert_step(game: Game, bottle: Bottle, viruses: int, frames: int) -> None:
    """The buffers say of a step what the twin saw."""
    start = 4 * (bottle.level + 1)
    terms = [
        0.5 * (viruses - bottle.viruses) / start,
        0.5 * (bottle.outcome == "cleared"),
        -1.0 * (bottle.outcome == "topped out"),
    ]
    buffers = game.buffers
    assert buffers["frames"][0, 0] == frames
    assert buffers["reward_terms"][0, 0] == pytest.approx(terms)
    assert buffers["reward"][0, 0] == pytest.approx(sum(terms))
    assert OUTCOMES[buffers["outcome"][0, 0]] == bottle.outcome
    assert buffers["terminated"][0, 0] == (bottle.outcome in {"cleared", "topped out"})
    assert buffers["truncated"][0, 0] == (bottle.outcome == "out of time")


def begun(level: int, speed: str, seed: int, speed_ups: int) -> tuple[Game, Bottle]:
    """The same game in both."""
    game, bottle = Game(f"drmario:level={level},speed={speed}", seed=seed), Bottle.new(level, speed, seed, 0, 0)
    hurry(game, bottle, speed_ups)
    return game, bottle


def play_placements(game: Game, bottle: Bottle, seed: int, steps: int, masks: int = 0) -> None:
    """Play random legal placements by their buttons in the twin, and compare; the first masks too, by brute force."""
    random = np.random.default_rng(seed)
    episode = 0
    for step in range(steps):
        state = game.state()
        if step < masks:
            assert legal_in(bottle) == set(np.flatnonzero(game.mask()[0]))
        action = int(legal(game.mask(), random)[0])
        path = buttons(state.board, action)
        viruses, clock = bottle.viruses, bottle.clock
        for held in path:
            assert bottle.hand
            last = bottle.hand.place
            bottle.frame(names(int(held)))
        assert bottle.hand is None
        assert action_of(last) == action
        while not (bottle.hand or bottle.outcome):
            bottle.frame(frozenset())
        game.step([action])
        assert_step(game, bottle, viruses, bottle.clock - clock)
        if bottle.outcome:
            episode += 1
            bottle = Bottle.new(bottle.level, bottle.speed, seed, 0, episode)
        agree(bottle, game.state())


def hurry(game: Game, bottle: Bottle, speed_ups: int) -> None:
    """Begin with some speed-ups, as after many pills."""
    bottle.speed_ups = game.state().game[at.SPEED_UPS] = speed_ups
    survey_again(game)


def survey_again(game: Game) -> None:
    """Write the mask of a state that was changed by hand."""
    state = game.state()
    survey(state.board, state.game, np.zeros(at.SCRATCH, np.uint64))
    game.envs.show(0)


def maze(seed: int, speed_ups: int) -> tuple[Game, Bottle]:
    """A fast pill over a random pile of singles, in both."""
    game = Game("drmario:speed=hi", seed=seed)
    random = np.random.default_rng(seed)
    board = game.state().board
    rows = int(random.integers(1, 5))
    piled = random.random((16, 8)) < random.choice([0.3, 0.5])
    piled[:rows] = False
    piled[rows + 4 :] = True
    colors = random.integers(0, 3, (16, 8))
    board[:16] = 0
    for color in range(3):
        bits = np.packbits(piled & (colors == color), axis=1, bitorder="little")
        board[2 * color : 2 * color + 2] = bits.reshape(-1).view(np.uint64)
    bottle = Bottle.new(0, "hi", seed, 0, 0)
    bottle.cells = cells(board)
    hurry(game, bottle, speed_ups)
    return game, bottle


@pytest.mark.thorough
@one_in(4)
@given(level=st.integers(0, 20), speed=st.sampled_from(at.SPEEDS), seed=SEEDS)
def test_frames(level: int, speed: str, seed: int):
    """Every frame under random buttons gives the twin's cells, reward, score and outcome."""
    play_frames(level, speed, seed, 250)


@pytest.mark.slow
@pytest.mark.timeout(600)
@one_in(8)
@given(level=st.integers(0, 20), speed=st.sampled_from(at.SPEEDS), seed=SEEDS)
def test_many_frames(level: int, speed: str, seed: int):
    """The same for whole episodes."""
    play_frames(level, speed, seed, 4_000)


@pytest.mark.thorough
@one_in(2)
@given(level=st.integers(0, 20), speed=st.sampled_from(at.SPEEDS), seed=SEEDS, speed_ups=st.integers(0, 49))
@example(level=0, speed="low", seed=1, speed_ups=0)
def test_placements(level: int, speed: str, seed: int, speed_ups: int):
    """A placement's buttons lock it in its cells, in the step's frames, with the twin's cells and reward after it."""
    play_placements(*begun(level, speed, seed, speed_ups), seed, 25)


@pytest.mark.slow
@pytest.mark.timeout(600)
@one_in(8)
@given(level=st.integers(0, 20), speed=st.sampled_from(at.SPEEDS), seed=SEEDS, speed_ups=st.integers(0, 49))
def test_many_placements(level: int, speed: str, seed: int, speed_ups: int):
    """The same for whole episodes."""
    play_placements(*begun(level, speed, seed, speed_ups), seed, 250)


def test_masks():
    """The mask allows what brute force in the twin reaches, and nothing else."""
    game, bottle = maze(3, 49)
    assert legal_in(bottle) == set(np.flatnonzero(game.mask()[0]))


@pytest.mark.slow
@pytest.mark.timeout(600)
@one_in(50)
@given(level=st.integers(0, 20), seed=SEEDS, speed_ups=st.integers(20, 49))
def test_many_masks(level: int, seed: int, speed_ups: int):
    """The same over the course of games."""
    play_placements(*begun(level, "hi", seed, speed_ups), seed, 6, masks=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
@one_in(2)
@given(seed=SEEDS, speed_ups=st.integers(10, 49))
def test_masks_by_the_compiled_rules(seed: int, speed_ups: int):
    """The mask allows what brute force over the compiled rules reaches, and nothing else."""
    game, _ = maze(seed, speed_ups)
    assert (placements(game.state().board) == game.mask()[0]).all()


@given(seed=SEEDS, speed_ups=st.integers(10, 49))
def test_every_legal_placement_can_be_played(seed: int, speed_ups: int):
    """Every placement of a mask has buttons that lock it there, however it is reached."""
    game, bottle = maze(seed, speed_ups)
    for action in np.flatnonzero(game.mask()[0]):
        hand = bottle.hand
        assert hand
        last = hand.place
        path = buttons(game.state().board, int(action))
        for held in path:
            last, (hand, locked) = hand.place, bottle.move(hand, names(int(held)))
        assert locked
        assert action_of(last) == action
