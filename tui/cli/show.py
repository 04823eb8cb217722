"""Commands that show tasks, the configuration, preferences and the machine."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Mapping
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from rich.table import Table
from rich.text import Text

from ...envs import Task
from ...training.config import Config
from ...training.loading import Loaded
from ..terminal.console import PrintableConsole
from ..terminal.output import json_text

PIPED_WIDTH = 160
MIN_WORDS_WIDTH = 12
console = PrintableConsole(width=None if sys.stdout.isatty() else PIPED_WIDTH)


def show_json(data: Any) -> int:
    """Print `data` as one JSON object."""
    print(json_text(data, 2 if sys.stdout.isatty() else None))
    return 0


def plain_table(*columns: str) -> Table:
    """Return a table without lines, whose last column wraps."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns[:-1]:
        table.add_column(column, no_wrap=True)
    table.add_column(columns[-1], overflow="fold")
    return table


def listed(*columns: str) -> Table:
    """Return an empty table without lines and headings."""
    table = plain_table(*columns)
    table.show_header = False
    return table


def show_table(table: Table) -> None:
    """Print a table without trailing spaces."""
    with console.capture() as drawn:
        console.print(table, markup=False)
    console.file.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))


def show_beside(left: Text, words: str, mark: str = "") -> None:
    """Print words to the right of `left`, with a mark before each line; unwrapped if there is no room."""
    room = console.width - len(left) - len(mark)
    first, *more = wrap(words, room) if room >= MIN_WORDS_WIDTH else [words]
    for head, line in ((left, first), *((Text(" " * len(left)), line) for line in more)):
        console.print(Text.assemble(head, (mark + line, "dim")), soft_wrap=True)


def show_tasks(*, json: bool) -> int:
    """List the named tasks with their parameters."""
    from ...envs import PacError, families, find

    found = []
    for name, family in sorted(families().items()):
        try:
            found.append((family, find(name)))
        except PacError as error:  # the package of a task is broken
            print(error, file=sys.stderr)
    if json:
        return show_json(
            {
                "tasks": [
                    {
                        "name": family.name,
                        "title": family.title,
                        "actions": task.num_actions,
                        "masked": task.masked,
                        "players": task.players,
                        "native": task.native,
                        "parameters": [asdict(parameter) for parameter in family.parameters],
                    }
                    for family, task in found
                ]
            }
        )
    for family, task in found:
        console.print(
            Text.assemble(
                (family.name, "bold"), f"  {family.title}, {task.num_actions} actions{', masked' * task.masked}"
            )
        )
        for item in family.parameters:
            show_beside(Text(f"  {item.name}={item.default}".ljust(20)), item.help)
    console.print(
        "\nParameters follow a colon: --task drmario:level=5,speed=hi. A Gymnasium or PettingZoo parallel "
        "environment is a task, too. Use its id (CartPole-v1) or its import path (my_package.my_module:MyEnv).",
        markup=False,
    )
    return 0


def show_config(loaded: Loaded, *, json: bool) -> int:
    """Print the effective configuration as JSON, or as YAML with a comment per line."""
    from ...backends import usable_cores
    from ...training.loading import KEYS, effective_settings, num_envs_of, task_of, trainer_of

    config, trainer = loaded.config, trainer_of(loaded.config)
    task, settings = task_of(config), effective_settings(config)
    origins = {**dict.fromkeys(KEYS, "default"), **_setting_origins(task, trainer, settings)}
    origins |= {key: origin.label for key, origin in loaded.origins.items() if key in origins}
    if of_device := _settings_of_device(config, trainer, task, settings):
        settings |= of_device
        origins |= {f"{trainer}.{key}": f"device {config.device}" for key in of_device}
    config = config.model_copy(update={"num_envs": num_envs_of(config), "workers": config.workers or usable_cores()})
    values = {key: value for key, value in config.model_dump(mode="json").items() if key in KEYS}
    if task.wrappers and not config.wrap:
        values["wrap"], origins["wrap"] = list(task.wrappers), f"recommended for {task.name}"
    if json:
        return show_json({**values, trainer: settings, "origins": origins, "note": task.note})
    if task.note:
        show_beside(Text(), task.note, "# ")
    for key, value in values.items():
        _show_line(key, value, origins[key], type(config).model_fields[key].description)
    if settings:
        from ...training.trainers import trainer_kind

        console.print(f"{trainer}:", style="bold")
        fields = trainer_kind(trainer).settings_class.model_fields
        for key, value in settings.items():
            _show_line(f"  {key}", value, origins[f"{trainer}.{key}"], fields[key].description)
    return 0


def _setting_origins(task: Task, trainer: str, settings: Mapping[str, Any]) -> dict[str, str]:
    recommended = task.settings.get(trainer, {})
    source = f"recommended for {task.settings_for.get(trainer, task.spec)}"
    return {f"{trainer}.{key}": source if key in recommended else "default" for key in settings}


def _settings_of_device(config: Config, trainer: str, task: Task, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that follow from the device, where it has the environments, too; none without that device."""
    from ...training.device import NoSuchDevice, TrainingPlace, envs_device, resolve_device
    from ...training.loading import num_envs_of
    from ...training.trainers import device_settings

    if config.backend != "device":  # else PyTorch need not be loaded
        return {}
    try:
        device = resolve_device(config.device)
    except NoSuchDevice:
        return {}
    place = TrainingPlace(device, num_envs_of(config) * task.players, envs_device(config.backend, device) != "cpu")
    return device_settings(trainer, task, settings, config.settings, place)


def _show_line(key: str, value: Any, origin: str, description: str | None) -> None:
    """Print a line of YAML with a comment: the source and the meaning of the value."""
    import yaml

    shown = yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()
    line = Text(f"{key}: {shown}".ljust(36), style="" if origin == "default" else "bold")
    show_beside(line, f"{origin}; {description}", " # ")


def show_preferences(*, schema: bool, json: bool) -> int:
    """Print the preferences in the format of their file, with a comment per key."""
    from .. import preferences

    if schema:
        return show_json(preferences.schema())
    from ..keys import table

    found, file = preferences.preferences(), preferences.path()
    if json:
        keys = {key.id: key.keys for key in table().values()}
        return show_json({"file": str(file), **found.model_dump(), "keys": keys})
    console.print(Text(f"# {file}{'' if file.exists() else ' (does not exist; these are the defaults)'}", style="dim"))
    for name in ("theme", "characters", "color", "signal"):
        _show_toml(name, getattr(found, name), type(found).model_fields[name].description or "")
    console.print("\n[rates]", markup=False)
    for name, field in type(found.rates).model_fields.items():
        _show_toml(name, getattr(found.rates, name), f"Hz. {field.description}")
    console.print("\n[findings]", markup=False)
    for name, field in type(found.findings).model_fields.items():
        _show_toml(name, getattr(found.findings, name), field.description or "")
    console.print("\n[runs]", markup=False)
    for name, field in type(found.runs).model_fields.items():
        _show_toml(name, getattr(found.runs, name), field.description or "")
    console.print("\n[keys]", markup=False)
    for key in table().values():
        _show_toml(f'"{key.id}"', key.keys, key.title, bold=key.id in found.keys)
    return 0


def _show_toml(name: str, value: Any, comment: str, *, bold: bool = False) -> None:
    show_beside(Text(f"{name} = {json_module.dumps(value)}".ljust(44), style="bold" if bold else ""), comment, " # ")


def show_doctor(*, json: bool) -> int:
    """Check the machine."""
    from ...training.doctor import examine

    findings = examine()
    if json:
        return show_json({"ok": all(item.ok for item in findings), "findings": [asdict(item) for item in findings]})
    table = listed("", "", "")
    for item in findings:
        sign = Text("ok", style="green") if item.ok else Text("warning", style="bold yellow")
        value = Text(item.value)
        if item.advice:
            value.append(f"\n{item.advice}", style="italic")
        table.add_row(sign, item.name, value)
    show_table(table)
    return 0
