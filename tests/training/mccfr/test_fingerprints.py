"""Tables of another betting tree, other buckets or another method are refused."""

import json
from typing import Any

import numpy as np
import pytest

from pac.envs import BadParameter
from pac.envs.poker.cards.store import cached_arrays, checksum_of
from pac.envs.poker.holdem import holdem
from pac.envs.poker.sizes import PRESETS, sizes_of
from pac.training.mccfr.fingerprints import BETTING, CARDS, NUMBERS, betting_fingerprint, check_fingerprints
from pac.training.mccfr.playing.trained import trained
from pac.training.runs.checkpoint import load_newest, save

from .solved import solved
from .test_trainer import solving


def menu(path, **changes):
    """Write the standard menu of bets with some changes; return its game with few chips and buckets."""
    path.write_text(json.dumps({**PRESETS["standard"], **changes}))
    return holdem(sizes_of(str(path)), 20, (2, 2, 2))


@pytest.mark.thorough
def test_an_edited_menu_of_bets_is_another_betting(tmp_path):
    """Even with as many decisions and actions as before; a menu that is written again without changes is the same."""
    path = tmp_path / "mine.json"
    before, again = menu(path), menu(path)
    template = {**PRESETS["standard"]["preflop_templates"], "bb_after_call": (3.1, 5.0)}
    edited = menu(path, blinds=(10, 20), preflop_templates=template)
    whole = menu(path, blinds=(10, 20))
    assert (whole.rows, whole.entries) == (edited.rows, edited.entries)
    assert betting_fingerprint(before) == betting_fingerprint(again)
    assert betting_fingerprint(whole) != betting_fingerprint(edited)


def test_other_buckets_have_another_checksum(tmp_path):
    """The checksum of the file differs; buckets that are made again in the same way have the same checksum."""

    def checksum(name: str, *numbers: int) -> str:
        cached_arrays(tmp_path / name, {}, lambda: {"numbers": np.array(numbers, np.uint8)})
        return checksum_of(tmp_path / name)

    assert checksum("one", 1, 2) == checksum("same", 1, 2) != checksum("other", 1, 3)


@pytest.mark.parametrize(
    ("mark", "sentence"), [(BETTING, "other bet sizes"), (CARDS, "other card buckets"), (NUMBERS, "another method")]
)
def test_the_error_names_what_differs(mark, sentence):
    """It names the task and what to do; fingerprints that only one side has are ignored."""
    ours = {BETTING: "1", CARDS: "2", NUMBERS: "3"}
    check_fingerprints({}, ours, "holdem")
    check_fingerprints(ours, {BETTING: "1"}, "holdem")
    with pytest.raises(BadParameter, match=f"holdem was trained with {sentence}.*start a new run"):
        check_fingerprints({**ours, mark: "4"}, ours, "holdem")


def test_a_solver_resumes_only_with_its_own_tables():
    """The state contains the fingerprints of its game."""
    with solving(batch=20) as (trainer, _):
        trainer.iterate()
        tensors, data = trainer.state()
        assert {BETTING, NUMBERS} == data["marks"].keys()
        with pytest.raises(BadParameter, match="other bet"):
            trainer.load_state(tensors, {**data, "marks": {**data["marks"], BETTING: "another"}})


def test_a_run_whose_menu_of_bets_has_changed_is_not_evaluated(tmp_path):
    """Its probabilities would be read from the wrong places."""
    run = solved(tmp_path)
    found = load_newest(run.checkpoints)
    facts: dict[str, Any] = {**found.data, "data": {**found.data["data"], "marks": {BETTING: "another"}}}
    save(run.checkpoints, found.step, dict(found.tensors), facts)
    with pytest.raises(BadParameter, match="kuhn was trained with other bet"):
        trained(run)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (np.zeros((4, 2)), r"kuhn needs a table of 24 x 2 numbers, the checkpoint has \(4, 2\)"),
        (np.zeros((24, 2), np.int64), "24 x 2 numbers"),
        (np.full((24, 2), np.nan), "NaN or infinite"),
    ],
)
def test_a_table_of_another_size_is_not_read(tmp_path, table, sentence):
    """Kernels would read beyond its end."""
    run = solved(tmp_path)
    found = load_newest(run.checkpoints)
    save(run.checkpoints, found.step, {**found.tensors, "table": table}, found.data)
    with pytest.raises(BadParameter, match=sentence):
        trained(run)
