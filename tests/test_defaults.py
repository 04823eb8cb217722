"""docs/settings.md has every setting, option, key, parameter and limit of the code; other pages agree with it.

`UPDATE_SNAPSHOTS=1` writes its tables, except that of the limits; review the difference.
"""

import inspect
import os
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pac.backends import make
from pac.envs import families, find
from pac.envs.check import check
from pac.envs.files import MIB, read_yaml
from pac.envs.recommended import FAMILIES, TABLE
from pac.training.config import Config
from pac.training.dqn.settings import DqnSettings, IqnSettings
from pac.training.independent.settings import IndependentSettings
from pac.training.mccfr.playing.resolving import ResolverSettings
from pac.training.mccfr.settings import MccfrSettings
from pac.training.ppo.settings import PpoSettings
from pac.training.sac.settings import SacSettings
from pac.training.settings import expected
from pac.tui.cli.commands import app
from pac.tui.keys import KEYS
from pac.tui.preferences import Preferences, Rates, RunLists, Tolerances

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "settings.md"
UNITS = {"": 1, "s": 1, "min": 60, "Hz": 1, "%": 0.01, "KiB": 2**10, "MiB": 2**20, "ms": 0.001}
PREFERENCES = ((Preferences, ""), (Rates, "rates."), (Tolerances, "findings."), (RunLists, "runs."))
INTERNAL = {
    "learn",
    "greedy",
    "settings",
    "rates",
    "findings",
    "runs",
    "keys",
}  # set by commands, or in tables of their own
FLAGS = {"--break", *(f"--{name.replace('_', '-')}" for name in Config.model_fields)}


def shown(value):
    """Return a value as the page shows it."""
    if value is None or value in ((), {}, ""):
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"`{','.join(f'{at}:{number:g}' for at, number in value)}`"
    return f"{value:,.10g}" if isinstance(value, int | float) else f"`{value}`"


def fields(model, prefix=""):
    """Return name, default, accepted values and meaning of each setting."""
    return [
        [f"`{prefix}{name}`", shown(field.get_default()), expected(model, name), field.description.rstrip(".")]
        for name, field in model.model_fields.items()
        if name not in INTERNAL
    ]


def own(model, *bases):
    """Return the settings that differ from those of the bases."""
    known = [row for base in bases for row in fields(base)]
    return [row for row in fields(model) if row not in known]


def options(commands=app, name="", rows=None):
    """Return commands by their options with defaults."""
    rows = defaultdict(list) if rows is None else rows
    for part in commands:
        command = commands[part]
        if not part.startswith("-"):
            options(command, f"{name}{part} ", rows)
        if command.default_command and not part.startswith("-"):
            given = command.assemble_argument_collection()
            flags = FLAGS if "--config" in [argument.name for argument in given] else set()
            texts = [
                f"`{argument.name}{'' if default is False or default in (None, (), '') else f' {default}'}`"
                for argument in given
                if argument.name.startswith("--") and argument.name not in flags
                for default in [argument.field_info.default]
                if default is not inspect.Parameter.empty
            ]
            rows[", ".join(texts)].append(f"`{name}{part}`")
    return rows


def keywords(function):
    """Return the arguments of a function that have a default."""
    found = inspect.signature(function).parameters.values()
    where = f"`{function.__module__}.{function.__name__}`"
    return [[where, f"`{each.name}`", shown(each.default)] for each in found if each.default is not each.empty]


def recommended():
    """Return what tasks recommend: built-in ones, and Gymnasium environments by id or kind."""
    found: dict[tuple[str, str], Any] = {}
    for name in families():
        task = find(name if name != "gameboy" else "gameboy:game=catch")
        found |= {(f"{name}, for {task.trainer}", trainer): values for trainer, values in task.settings.items()}
        found.setdefault((f"{name}, for {task.trainer}", task.trainer), {})
    table = read_yaml(TABLE, MIB)
    table.pop("wrappers")
    titles = {known.preset: known.title for known in FAMILIES.values()}
    for trainer, entries in table.items():
        kinds = {titles.get(kind, f"{kind} observations"): values for kind, values in entries["kinds"].items()}
        continuous = {"continuous actions": entries["continuous"]} if "continuous" in entries else {}
        found |= {
            (name, trainer): values
            for name, values in (kinds | continuous | entries["environments"]).items()
            if values.keys() != {"note"}
        }
    return [
        [
            f"`{name.replace(', for ', '` with `')}`",
            f"`{trainer}`",
            ", ".join(f"{key} {shown(value)}" for key, value in values.items() if key != "note"),
        ]
        for (name, trainer), values in found.items()
    ]


def parameters():
    """Return the parameters of the built-in tasks."""
    rows = []
    for family in families().values():
        for each in family.parameters:
            values = f"{each.low:,g} to {each.high:,g}" if each.high < float("inf") else ", ".join(each.choices)
            rows.append([f"`{family.name}`", f"`{each.name}`", shown(each.default), values, each.help])
    return rows


SETTING = ("setting", "default", "value", "meaning")
TABLES = {
    "Configuration": (SETTING, lambda: fields(Config)),
    "PPO": (SETTING, lambda: fields(PpoSettings, "ppo.")),
    "DQN": (SETTING, lambda: fields(DqnSettings, "dqn.")),
    "IQN": (SETTING, lambda: own(IqnSettings, DqnSettings)),
    "SAC": (SETTING, lambda: fields(SacSettings, "sac.")),
    "Independent learners": (SETTING, lambda: own(IndependentSettings, IqnSettings, DqnSettings)),
    "Poker solver": (SETTING, lambda: fields(MccfrSettings, "mccfr.")),
    "Resolver": (SETTING, lambda: fields(ResolverSettings, "resolver.")),
    "Preferences": (SETTING, lambda: [row for model, prefix in PREFERENCES for row in fields(model, prefix)]),
    "Keys": (("command", "keys", "meaning"), lambda: [[f"`{key.id}`", f"`{key.keys}`", key.title] for key in KEYS]),
    "Tasks": (("task", "parameter", "default", "value", "meaning"), parameters),
    "Recommended settings": (("task", "trainer", "settings"), recommended),
    "Options of commands": (
        ("commands", "options"),
        lambda: [[", ".join(names), each] for each, names in options().items()],
    ),
    "Arguments in Python": (("function", "argument", "default"), lambda: keywords(make) + keywords(check)),
}


def section(title):
    """Return the text of a section of the page, and the lines of its table."""
    text = PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return text, [line for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("title", TABLES)
def test_the_page_has_the_values_of_the_code(title):
    """Names, defaults, accepted values and meanings are equal, and none is missing on either side."""
    head, rows = TABLES[title]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows()]
    lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (head, *cells)]
    lines.insert(1, "|" + "---|" * len(head))
    text, found = section(title)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        words = "\n".join(line for line in text.splitlines() if not line.startswith("|")).strip()
        new = "\n".join(["", *([words, ""] if words else []), *lines, ""])
        PAGE.write_text(PAGE.read_text().replace(f"\n## {title}\n{text}", f"\n## {title}\n{new}"))
    else:
        assert found == lines


def number(text):
    """Return a number with a unit, without the unit."""
    value, _, unit = text.partition(" ")
    return float(value.replace(",", "")) * UNITS[unit]


@pytest.mark.parametrize("line", section("Limits")[1][2:])
def test_limits(line):
    """A limit is what its constant says."""
    _, value, constant = (cell.strip() for cell in line.strip("|").split(" | "))
    name, file = re.findall(r"`(\w+)(?:\.py)?`", constant.replace("/", "__"))
    assert getattr(import_module(f"pac.{file.replace('__', '.')}"), name) == pytest.approx(number(value))


def test_the_page_of_the_configuration_has_every_key():
    """It explains the keys of the configuration, each with its default."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", (DOCS / "configuration.md").read_text(), re.MULTILINE)
    keys = {name: field.get_default() for name, field in Config.model_fields.items() if name not in INTERNAL}
    assert {name for name, _ in rows} == set(keys)
    for name, default in rows:
        first = re.split(r"[:;,] ", default)[0]
        unset = re.match(r"not set|no limit|empty|number of|\d per|the task|task, ", default)
        assert unset if keys[name] in (None, ()) else shown(keys[name]) in (first, f"`{first}`".replace("``", "`")), (
            name
        )


def stated(page):
    """Yield name and default of each row of a page's tables that states a default, in a column or in brackets."""
    columns: list[str] = []
    for line in (DOCS / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        columns = cells and (columns or cells)
        names = (
            [name.rpartition(".")[2].replace("-", "_") for name in re.findall(r"`([^`]+)`", cells[0])] if cells else []
        )
        if "default" in columns and names:
            text = cells[columns.index("default")]
            yield from zip(names, text.split(", ") if len(names) > 1 else [text], strict=False)
        elif found := re.search(r"\(default (\S+)\)", line):
            yield names[0], found[1]


@pytest.mark.parametrize("page", ["gameboy.md", "independent.md", "poker.md", "tasks.md"])
def test_other_pages_state_the_same(page):
    """What a page says of a default is what the page of all settings says."""
    known: dict[str, set[str]] = {}
    for name, default in re.findall(r"`(?:\w+\.)?(\w+)` \| ([^|]*) \|", PAGE.read_text().partition("\n## Keys")[0]):
        known.setdefault(name, set()).add(default)
    for _, name, default, *_ in parameters():
        known.setdefault(name.strip("`"), set()).add(default)
    found = [(name, default) for name, default in stated(page) if re.match(r"[`\d]|true|false", default)]
    assert found
    assert not [
        (name, default)
        for name, default in found
        if re.split(r";", default.replace("4096", "4,096"))[0] not in known[name]
    ]


@pytest.mark.parametrize(("name", "model"), [("ppo", PpoSettings), ("dqn`, `iqn", DqnSettings), ("sac", SacSettings)])
def test_the_page_of_runs_names_all_settings_that_can_be_changed_live(name, model):
    """They are settings of the trainer, in one row of a table."""
    assert model.model_fields.keys() >= model.LIVE
    row = next(line for line in (DOCS / "runs.md").read_text().splitlines() if line.startswith(f"| `{name}` |"))
    assert {*re.findall(r"`(\w+)`", row.split("|")[2])} == model.LIVE
