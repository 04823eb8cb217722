"""Recommended settings of Gymnasium environments fit the algorithms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pac.envs.files import MIB, read_yaml
from pac.envs.recommended import TABLE
from pac.training.trainers import trainer_kind


def entries() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield trainer, name and settings of each entry."""
    for trainer, table in read_yaml(TABLE, MIB).items():
        if trainer == "wrappers":
            continue
        found = {**table["kinds"], **table["environments"]}
        for name, entry in (found | {"continuous": table.get("continuous", {})}).items():
            yield trainer, name, entry


@pytest.mark.parametrize(("trainer", "name", "entry"), list(entries()))
def test_entries_fit(trainer: str, name: str, entry: Mapping[str, Any]) -> None:
    """Every entry is valid, and numbers are numbers: YAML reads 1e-3 as text."""
    settings = {key: value for key, value in entry.items() if key != "note"}
    trainer_kind(trainer).settings_class.read(trainer, settings)
    assert all(":" in value for value in settings.values() if isinstance(value, str)), name
