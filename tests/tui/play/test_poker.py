"""Playing cards: the match, the table as text, the keys."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from pac.envs import BadParameter, find
from pac.envs.poker.live import uniform
from pac.envs.poker.tree import FOLD
from pac.tui.drawing.widgets import TextLines
from pac.tui.play.match import Match
from pac.tui.play.play import ButtonGame
from pac.tui.play.poker import CardsApp, play_against, play_against_run
from pac.tui.play.poker_table import money, table
from pac.tui.terminal.modes import NoTerminal

from ..fake_session import run

TASKS = ("kuhn", "leduc", "liars_dice", "holdem:betting=fcpa")


def text(match: Match, *, advice: bool = False) -> str:
    return "\n".join("".join(piece.text for piece in row) for row in table(match, 80, advice=advice))


def to_the_end(match: Match) -> None:
    while not match.hand.over:
        match.act(match.hand.actions[-1])


@pytest.mark.parametrize("name", TASKS)
def test_a_match_counts_winnings(name):
    """The user changes seats after each hand, and the winnings add up."""
    match, won, seats = Match(find(name), 3, uniform), 0.0, []
    for _ in range(4):
        seats.append(match.seat)
        to_the_end(match)
        won += match.won
        assert match.total == pytest.approx(won)
        match.begin()
    assert (match.hands, seats) == (5, [0, 1] * 2)


@pytest.mark.parametrize("name", TASKS)
def test_it_is_always_the_users_turn(name):
    """The opponent acts immediately, also if it acts first."""
    match = Match(find(name), 5, uniform)
    for _ in range(6):
        while not match.hand.over:
            assert match.hand.status.player == match.seat
            match.act(match.hand.actions[0])
        match.begin()


@pytest.mark.parametrize("name", TASKS)
def test_cards_stay_face_down_until_they_are_compared(name):
    """The opponent's are shown only at a showdown, the user's always."""
    match = Match(find(name), 2, uniform)
    for _ in range(12):
        while not match.hand.over:
            assert text(match).count("▒▒") == len(match.hand.hands[0])
            match.act(match.hand.actions[-1])
        folded = match.hand.status.kind == FOLD
        assert ("▒▒" in text(match)) == folded
        match.begin()


def test_who_plays_both_seats_sees_the_cards_of_the_one_to_act():
    """The other seat's cards are face down."""
    match = Match(find("leduc"), 1, None)
    while not match.hand.over:
        assert match.seat == match.hand.status.player
        assert text(match).count("▒▒") == 1
        match.act(match.hand.actions[-1])
    assert "▒▒" not in text(match)
    assert match.total == match.hand.won


@pytest.mark.thorough
@pytest.mark.parametrize("name", TASKS)
def test_a_table_fits_into_80x24(name):
    """No line is wider, and there is room for table, prompt and keys at every point of a hand."""
    match = Match(find(name), 7, uniform)
    for _ in range(10):
        while not match.hand.over:
            lines = text(match, advice=True).split("\n")
            assert max(map(cell_len, lines)) <= 80
            assert len(lines) <= 24 - 3
            match.act(match.hand.actions[:2][-1])
        assert len(text(match, advice=True).split("\n")) <= 24 - 3
        match.begin()


def test_actions_are_shown_with_their_price():
    """A call with its chips, a raise with the total on this street."""
    match = Match(find("holdem:betting=fcpa"), 1, None)
    assert "1 fold   2 call 1   3 raise to 6   4 all-in 200" in text(match)
    match.act(match.hand.actions[1])
    match.act(match.hand.actions[0])
    assert "1 check   2 bet 4   3 all-in 198" in text(match)


def test_a_hint_shows_the_opponents_policy():
    """Beside every action is the probability with which the opponent would take it."""
    match = Match(find("leduc"), 1, uniform)
    assert re.search(r"1 check \(50 %\) +2 bet 2 \(50 %\)", text(match, advice=True))
    assert "%" not in text(match)


def test_after_a_hand_the_opponents_decisions_are_shown():
    """With the hint on: each decision, its action, and the probabilities of all actions."""
    match = Match(find("leduc"), 1, uniform)
    to_the_end(match)
    assert match.opponent_decisions
    for thought in match.opponent_decisions:
        assert thought.done in thought.actions
        assert sum(thought.chances) == pytest.approx(1)
        assert re.search(rf"{thought.done} +{thought.actions[0]} \d+ %", text(match, advice=True))
    assert "%" not in text(match)


def test_winnings_are_in_blinds_if_there_are_blinds():
    """Two chips are a big blind of hold'em; small games have chips."""
    assert money(Match(find("holdem:betting=fcpa"), 1, None), -5) == "-2.5 bb"
    assert money(Match(find("kuhn"), 1, None), 2) == "+2 chips"


async def test_keys_play():
    """Numbers act, r types a raise, Esc leaves it, h shows a hint, Enter deals the next hand, q leaves."""
    app = CardsApp(Match(find("holdem:betting=fcpa"), 4, uniform), "against random")

    def shown(name: str) -> str:
        return app.query_one(f"#{name}", TextLines).text

    async with run(app, (80, 24)) as pilot:
        await pilot.press("r", "3", "escape")
        assert app.match.hand.history == []
        await pilot.press("r", "3", "enter")
        assert "raise to 4 to 200 chips on this street, not to 3" in shown("prompt")
        await pilot.press("h")
        assert "(25 %)" in shown("table")
        await pilot.press("r", "9", "0", "backspace", "0")
        assert "raise to 90" in shown("prompt")
        await pilot.press("enter")
        assert app.match.hand.history[0].action.name == "raise 90"
        while not app.match.hand.over:
            await pilot.press("1")
        assert "Enter next hand" in shown("foot")
        assert f"hand 1 · you {money(app.match, app.match.total)}" in shown("head")
        await pilot.press("9", "enter")
        assert app.match.hands == 2
        assert all(len(line) <= 80 for name in ("head", "foot") for line in shown(name).split("\n"))
        await pilot.press("q")
    assert app.return_code == 0


def test_a_trained_opponent_needs_a_terminal_too(tmp_path):
    """This is checked before anything is loaded."""
    with pytest.raises(NoTerminal):
        play_against_run("leduc", 0, "latest", tmp_path)


def test_an_unknown_opponent_is_refused():
    """The error lists the opponents; without a terminal there is no game."""
    with pytest.raises(BadParameter, match="random, myself"):
        play_against("leduc", 0, "nobody")
    with pytest.raises(NoTerminal):
        play_against("leduc", 0, "random")


def test_a_task_that_cannot_be_played_by_hand_is_refused():
    """The error lists the games with buttons and those with cards."""
    with pytest.raises(BadParameter, match=r"drmario, holdem, kuhn, leduc, liars_dice"):
        ButtonGame("noop", seed=0)
