"""Manual play: key presses become buttons of frames."""

import pytest

from pac.envs import BadParameter
from pac.tui.play.play import DOWN_FRAMES, ButtonGame, Gamepad, PlayApp

from ..fake_session import until

NOTHING: frozenset[str] = frozenset()


def frames(pad: Gamepad, count: int) -> list[frozenset[str]]:
    return [pad.frame() for _ in range(count)]


def test_a_press_is_a_tap():
    """A button is held for a frame and released for one, so that two presses are two moves."""
    pad = Gamepad()
    for key in ("left", "left", "up"):
        pad.press(key)
    assert frames(pad, 6) == [{"left"}, NOTHING, {"left"}, NOTHING, {"A"}, NOTHING]


def test_down_is_held_from_one_repeat_to_the_next():
    """A terminal's repeats of the down key join into one long press."""
    pad = Gamepad()
    pad.press("down")
    assert frames(pad, 2) == [{"down"}] * 2
    pad.press("down")
    assert frames(pad, DOWN_FRAMES + 1) == [{"down"}] * DOWN_FRAMES + [NOTHING]


def test_taps_go_with_a_drop():
    """A drop holds down until the piece has locked, and can still be steered."""
    pad = Gamepad()
    pad.press("space")
    pad.press("right")
    assert frames(pad, 3) == [{"down", "right"}, {"down"}, {"down"}]
    pad.locked()
    assert pad.frame() == NOTHING


def test_presses_end_with_the_piece():
    """Presses left over when a piece locks are not given to the next."""
    pad = Gamepad()
    for _ in range(4):
        pad.press("left")
    pad.frame()
    pad.locked()
    assert frames(pad, 3) == [NOTHING] * 3


def test_a_game_by_placements_is_played_by_frames():
    """`play drmario:level=2` plays the same game frame by frame, and a dropped pill locks."""
    game = ButtonGame("drmario:level=2", seed=1)
    assert game.task.name == "drmario-frames"
    assert game.info["viruses"] == 12
    pills = game.info["pills"]
    while game.info["pills"] == pills and game.frames < 2000:
        game.step(frozenset({"down"}))
    assert game.info["pills"] == pills + 1


def test_a_game_that_ends_keeps_its_last_board():
    """When the bottle is full, the game shows the outcome and the bottle until the next game."""
    game = ButtonGame("drmario", seed=1)
    while game.ended is None and game.frames < 100_000:
        game.step(frozenset({"down"}))
    assert game.ended is not None
    assert game.ended.name == "topped out"
    filled = int((game.shown["bottle"] > 0).sum())
    game.begin()
    assert game.ended is None
    assert int((game.shown["bottle"] > 0).sum()) < filled


def test_a_task_without_buttons_is_refused():
    """A task without buttons is refused with a list of playable tasks."""
    with pytest.raises(BadParameter, match="drmario"):
        ButtonGame("CartPole-v1", seed=0)


@pytest.mark.thorough
async def test_keys_play():
    """In the app, space drops the pill, p pauses and q quits."""
    app = PlayApp(ButtonGame("drmario", seed=1))

    async with app.run_test(size=(100, 40)) as pilot:
        pills = app.game.info["pills"]
        await pilot.press("left", "up", "space")
        await until(lambda: app.game.info["pills"] > pills)
        await pilot.press("p")
        assert app.paused
        frame = app.game.frames
        await pilot.pause(0.05)
        assert app.game.frames == frame
        await pilot.press("q")
    assert app.return_code == 0
