"""Numbers of options that a file can set: each has an upper limit, or says why it needs none."""

import math
import re

import pytest

from pac.envs import BadParameter, families
from pac.training.config import Config, StrictModel
from pac.training.loading import load
from pac.training.trainers import trainer_kind, trainer_names


def numbers():
    """Yield all options that are numbers: of sessions, and whole ones of trainers, whose others are only factors."""
    models: dict[str, tuple[type[StrictModel], set[str]]] = {"run": (Config, {"integer", "number"})}
    models |= {name: (trainer_kind(name).settings_class, {"integer"}) for name in trainer_names()}
    for owner, (model, kinds) in models.items():
        for name, schema in model.model_json_schema()["properties"].items():
            for part in (schema, *schema.get("anyOf", ())):
                if part.get("type") in kinds:
                    yield pytest.param({**schema, **part}, id=f"{owner}.{name}")


@pytest.mark.parametrize("schema", list(numbers()))
def test_numbers_have_limits(schema):
    """What is only compared with a count declares that."""
    assert "maximum" in schema or schema.get("unlimited")


def test_numbers_of_named_tasks_have_limits():
    """All parameters of all families do."""
    parameters = [item for family in families().values() for item in family.parameters]
    assert all(math.isfinite(item.high) for item in parameters if type(item.default) is int)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("workers: 5000", "from 1 to 4,096"),
        ("hang_timeout: 1.0e+300", "of at most 100000"),
        ("ppo: {hidden: 1000000000}", "from 1 to 4,096"),
        ("ppo: {layers: 1000000}", "from 1 to 32"),
        ("dqn: {replay_size: 1000000000000000}", "from 1 to 4,294,967,296"),
    ],
)
def test_a_file_that_asks_for_too_much_is_refused_in_a_sentence(tmp_path, line, text):
    """It says what is expected, and what the file has."""
    file = tmp_path / "run.yaml"
    trainer = "dqn" if line.startswith("dqn") else "ppo"
    file.write_text(f"task: CartPole-v1\ntrainer: {trainer}\n{line}\n")
    with pytest.raises(BadParameter, match=re.escape(text)):
        load(file=file, environ={}, vouch=lambda _named, _file: True)
